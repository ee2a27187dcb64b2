"""dsv4.compressor in a plan: which binding each Ascend takes, what it needs, and what is said when it cannot run."""

import pytest

from confbag import load
from confbag.backends import BATCH_INVARIANT, Platform, make_plan
from confbag.kernels.dsv4.compressor.contract import A5_SCHEMA, COMPRESSOR, NPU_SCHEMA
from confbag.testing import check_implementation

DSV4 = {
    "model.kind": "dsv4",
    "model.dtype": "bfloat16",
    "model.num_heads": 64,
    "model.num_kv_heads": 1,
    "model.head_dim": 512,
    "model.v_head_dim": 512,
    "model.sliding_window": 128,
}


def binding(where, **settings):
    platform = Platform.known(where) if isinstance(where, str) else where
    bag = load(env={}, overrides={**DSV4, **{name.replace("__", "."): value for name, value in settings.items()}})
    plan = make_plan(bag, platform)
    return plan, plan["dsv4.compressor"]


def first_rejections(found):
    return {rejection.provider: rejection for rejection in found.first_rejections()}


@pytest.mark.parametrize("arch", ["ascend910b", "ascend910_93"])
def test_before_a5_it_is_the_op_of_sgl_kernel_npu(arch):
    _, found = binding(f"npu:{arch}")
    assert (found.provider, found.rule) == ("torch_npu", "compressor-npu")
    row = found.implementation
    assert row.requires.library == "sgl-kernel-npu"
    assert "sgl-kernel-npu>=2026.8.0" in row.requires.components
    assert [op.schema for op in row.requires.native_ops] == [NPU_SCHEMA]
    assert first_rejections(found)["torch_npu_a5"].code == "arch"


def test_a5_takes_the_other_op():
    _, found = binding("npu:ascend950")
    assert (found.provider, found.rule) == ("torch_npu_a5", "compressor-a5")
    assert found.implementation.requires.library == "ascend-custom-ops"
    assert [op.schema for op in found.implementation.requires.native_ops] == [A5_SCHEMA]
    assert first_rejections(found)["torch_npu"].code == "arch"


def npu(**changed):
    packages = {"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.8.0"}
    fields = {"device": "npu", "arch": "ascend910_93", "toolkit": {"cann": "9.0.0"}, "packages": packages}
    return Platform(**{**fields, **changed})


def test_an_old_library_is_named_with_the_version_that_is_needed():
    old = npu(packages={"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.5.1"})
    plan, found = binding(old)
    assert found.provider == "reference"
    said = first_rejections(found)["torch_npu"]
    assert (said.code, said.required) == ("package-version", "sgl-kernel-npu>=2026.8.0")
    assert "2026.5.1" in said.actual
    assert any("dsv4.compressor falls back to reference" in warning for warning in plan.warnings)


def test_a_library_built_without_the_op_is_seen_where_the_ops_are_listed():
    _, found = binding(npu(native_ops=("npu::lightning_indexer(Tensor query) -> Tensor",)))
    assert first_rejections(found)["torch_npu"].code == "op-missing"
    _, found = binding(npu(native_ops=(NPU_SCHEMA,)))
    assert found.provider == "torch_npu"


def test_a_bfloat16_state_is_refused_at_plan_time():
    for where in ("npu:ascend910_93", "npu:ascend950", "cpu"):
        plan, found = binding(
            where if where != "cpu" else Platform(device="cpu", arch="x86_64"), memory__state_dtype="bfloat16"
        )
        assert found.provider is None
        faults = [fault for fault in plan.faults if fault.op == "dsv4.compressor"]
        assert {
            (fault.code, fault.field, fault.required, fault.actual) for fault in faults if fault.code == "dtype"
        } == {("dtype", "memory.state_dtype", "float32", "bfloat16")}
        if where != "cpu":
            assert [fault.code for fault in faults] == ["dtype"]
        assert all("memory.state_dtype: float32" in fault.hint for fault in faults if fault.code == "dtype")


def test_a_float32_model_is_refused_at_plan_time():
    plan, found = binding(Platform(device="cpu", arch="x86_64"), model__dtype="float32")
    assert found.provider is None
    fault = next(fault for fault in plan.faults if fault.op == "dsv4.compressor" and fault.provider == "reference")
    assert (fault.code, fault.field, fault.actual) == ("dtype", "model.dtype", "float32")


def test_another_kind_of_model_does_not_use_it():
    _, found = binding("npu:ascend910_93", model__kind="mha", model__head_dim=128, model__sliding_window=None)
    assert not found.used


def test_the_reference_runs_anywhere_and_is_batch_invariant_on_a_cpu():
    _, found = binding(Platform(device="cpu", arch="x86_64", packages={"torch": "2.14.0"}))
    assert found.implementation.name == "reference (cpu)"
    assert found.implementation.determinism_in(None) == BATCH_INVARIANT
    _, found = binding("mps:apple")
    assert found.implementation.name == "reference (accelerator)"


def test_triton_where_it_runs():
    for where in ("cuda:sm90", "hip:gfx942", "xpu:pvc"):
        _, found = binding(where)
        assert (found.provider, found.rule) == ("triton", "compressor-triton")
        assert found.implementation.determinism_in(None) == BATCH_INVARIANT


@pytest.mark.parametrize("row", COMPRESSOR.implementations, ids=lambda row: row.name)
def test_every_provider_has_the_contracts_signature(row):
    check_implementation(COMPRESSOR, row)
