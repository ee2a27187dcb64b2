"""The shipped native libraries at bind: one set for every path, each op under its key, and what an old one is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import confbag.kernels
from confbag import load
from confbag.backends import Library, NativeOp, Platform, Registry, make_plan
from confbag.backends.bind import library_loading, native
from confbag.backends.bind.library_loading import ensure, find
from confbag.backends.words.rejection import Rejection
from confbag.errors import BindError

EXAMPLE = Path(__file__).parents[3] / "examples/configs/ascend-deepseek-v4.yaml"
HOST = "npu::sparse_attn_sharedkv_metadata_host"


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    confbag.kernels.register(made)
    made.check()
    return made


@pytest.fixture
def define(torch_namespace: Callable[[str], Any], registry: Registry) -> Callable[..., None]:
    """Register the ops of the sgl-kernel-npu set, each with a kernel under its key unless told otherwise."""

    def make(*, leave_out: tuple[str, ...] = (), keys: dict[str, str] | None = None, old: dict[str, str] | None = None):
        space = torch_namespace("npu")
        for op in registry.libraries["sgl-kernel-npu"].ops:
            if op.name in leave_out:
                continue
            space.define((old or {}).get(op.name, op.schema).partition("::")[2])
            key = (keys or {}).get(op.name, op.dispatch_key or "PrivateUse1")
            space.impl(op.name.partition("::")[2], lambda *args, **kwargs: None, key)

    return make


def bind(registry: Registry, *ops: str) -> Any:
    plan = make_plan(load(str(EXAMPLE), env={}), Platform.known("npu:ascend910_93"), registry=registry)
    return plan.bind(ops=ops or ["dsv4.compressor", "dsv4.sparse_attention", "dsv4.sparse_metadata"])


def faults(registry: Registry, *ops: str) -> list[Rejection]:
    with pytest.raises(BindError) as caught:
        bind(registry, *ops)
    return list(caught.value.faults)


def test_the_whole_set_binds_and_every_path_has_it(registry: Registry, define: Callable[..., None]) -> None:
    define()
    ops = bind(registry)
    assert ops.sparse_attention_prefill is ops.sparse_attention_decode is ops.sparse_attention_draft


def test_the_host_op_must_have_its_kernel_on_the_cpu(registry: Registry, define: Callable[..., None]) -> None:
    define(keys={HOST: "PrivateUse1"})
    (fault,) = faults(registry, "dsv4.sparse_metadata")
    assert (fault.code, fault.field, fault.required) == ("op-kernel", HOST, "registered with a CPU kernel")


def test_an_old_library_is_told_op_found_and_needed(registry: Registry, define: Callable[..., None]) -> None:
    """Loaded before, and without one of the ops: said at bind, with the library's name and what is there instead."""
    older = f"{HOST}(int num_heads_q, int num_heads_kv, int head_dim) -> Tensor"
    define(leave_out=("npu::compressor",), old={HOST: older})
    found = {fault.field: fault for fault in faults(registry, "dsv4.sparse_metadata")}
    assert found[HOST].code == "op-schema"
    assert found[HOST].actual == older
    assert "argument 'layout_q' is missing; install the version of the library sgl-kernel-npu" in str(found[HOST].hint)


def test_an_op_that_was_not_loaded_asks_for_the_library(
    registry: Registry, define: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prerequisites come first: without torch_npu nothing is loaded, whatever the variable names."""
    define(leave_out=("npu::compressor",))
    monkeypatch.setattr(
        library_loading, "import_fault", lambda module, field: Rejection(None, "package-missing", field, module, "none")
    )
    (fault,) = faults(registry, "dsv4.compressor")
    assert (fault.code, fault.field) == ("package-missing", "prerequisite of library sgl-kernel-npu")
    monkeypatch.setattr(library_loading, "import_fault", lambda module, field: None)
    monkeypatch.delenv("CONFBAG_SGL_KERNEL_NPU_SO", raising=False)
    (fault,) = faults(registry, "dsv4.compressor")
    assert (fault.code, fault.field) == ("library-not-found", "library sgl-kernel-npu")
    assert "CONFBAG_SGL_KERNEL_NPU_SO unset" in str(fault.actual)
    monkeypatch.setenv("CONFBAG_SGL_KERNEL_NPU_SO", "/nowhere/libsgl_kernel_npu.so")
    (fault,) = faults(registry, "dsv4.compressor")
    assert "no file (CONFBAG_SGL_KERNEL_NPU_SO=/nowhere/libsgl_kernel_npu.so)" in str(fault.actual)


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme.so").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find(Library("acme", "acme", "ACME_SO"), {"ACME_SO": "~/acme.so"}) == (tmp_path / "acme.so").resolve()


def test_a_library_that_nothing_is_needed_of_is_still_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No op to look for proves nothing: the peer's loader calls that `registered`."""
    monkeypatch.delenv("ACME_SO", raising=False)
    found = ensure(Library("acme", "confbag_t_nothing", "ACME_SO"), ())
    assert found is not None
    assert found.code == "library-not-found"


def test_no_path_comes_from_a_configuration(registry: Registry) -> None:
    from confbag.schema.config import Config
    from confbag.schema.leaves import leaves

    assert not [key for key in leaves(Config) if key.endswith(("_so", "library", "libraries"))]
    assert all(
        library.environment in {"CONFBAG_SGL_KERNEL_NPU_SO", "CONFBAG_ASCEND_CUSTOM_OPS_SO"}
        for library in registry.libraries.values()
    )
    assert not {"CONFBAG_SGL_KERNEL_NPU_SO", "CONFBAG_ASCEND_CUSTOM_OPS_SO"} & set(os.environ)


def test_a_namespace_without_the_op_is_no_op(torch_namespace: Callable[[str], Any]) -> None:
    """torch.ops makes a namespace on first use, so that it is there says nothing."""
    import torch

    assert torch.ops.confbag_t_lazy is not None
    found = native.verify(torch, NativeOp("confbag_t_lazy::op(Tensor x) -> Tensor"), "npu", "acme")
    assert found is not None
    assert (found.code, found.actual) == ("op-missing", "not there; nothing is registered in confbag_t_lazy")
