"""What the plan says of disagg.send_kvcache, and that an argument too many is found before anything runs."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import confbag.kernels
from confbag import load
from confbag.backends import Platform, make_plan
from confbag.backends.declare.registry import Registry
from confbag.errors import BindError, ConfigError, SignatureError
from confbag.kernels.send_kvcache.contract import SEND_KVCACHE
from confbag.kernels.send_kvcache.reference import send_kvcache
from confbag.testing import check_implementation

OP = "disagg.send_kvcache"
WITHOUT_ENGINE = {"torch": "2.13.0"}


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    confbag.kernels.register(made)
    made.check()
    return made


def plan_of(registry: Registry, platform: str | Platform, **settings: Any) -> Any:
    machine = Platform.find(platform) if isinstance(platform, str) else platform
    return make_plan(load(env={}, overrides={"disagg.mode": "prefill", **settings}), machine, registry=registry)


@pytest.mark.parametrize("mode", ["prefill", "decode"])
@pytest.mark.parametrize(
    ("platform", "provider"),
    [
        ("cuda:sm90", "mooncake"),
        ("hip:gfx942", "mooncake"),
        ("npu:ascend910b", "ascend"),
        ("npu:ascend910_93", "ascend"),
        ("npu:ascend950", "ascend"),
    ],
)
def test_the_engine_of_the_device(registry: Registry, platform: str, provider: str, mode: str) -> None:
    plan = plan_of(registry, platform, **{"disagg.mode": mode})
    assert plan[OP].provider == provider
    assert not plan.faults
    assert plan.bag["disagg.transfer_backend"] == provider
    assert plan.bag.origin("disagg.transfer_backend") == f"rule {plan[OP].rule}"


def test_it_is_not_used_where_nothing_is_disaggregated(registry: Registry) -> None:
    plan = plan_of(registry, "cuda:sm90", **{"disagg.mode": "off", "disagg.transfer_backend": "ascend"})
    assert not plan[OP].used
    assert plan[OP].skipped_because == "disagg.mode is off"
    assert not plan.faults


@pytest.mark.parametrize("deterministic", [False, True])
def test_graphs_and_determinism_do_not_stand_in_its_way(registry: Registry, deterministic: bool) -> None:
    plan = plan_of(registry, "cuda:sm90", **{"exec.graph": True, "exec.deterministic": deterministic})
    assert plan[OP].provider == "mooncake"


@pytest.mark.parametrize(
    ("platform", "faults"),
    [
        (
            Platform("cpu", "x86_64", packages=WITHOUT_ENGINE),
            [("mooncake", "package-missing", "mooncake>=0.3.8")],
        ),
        (
            Platform("cuda", "sm90", toolkit={"cuda": "13.0"}, packages={"mooncake-transfer-engine": "0.3.7"}),
            [("mooncake", "package-version", "mooncake>=0.3.8")],
        ),
        (
            Platform("npu", "ascend910_93", toolkit={"cann": "9.0.0"}, packages={"torch": "2.13.0"}),
            [("ascend", "package-missing", "torch-npu")],
        ),
        (
            Platform(
                "npu",
                "ascend910_93",
                toolkit={"cann": "8.1"},
                packages={"torch-npu": "2.13.0", "mooncake-transfer-engine-npu": "0.3.13"},
            ),
            [("ascend", "toolchain", "cann>=8.3rc1")],
        ),
    ],
)
def test_without_its_engine_nothing_can_be_planned_and_the_reference_is_no_way_out(
    registry: Registry, platform: Platform, faults: list[tuple[str, str, str]]
) -> None:
    plan = plan_of(registry, platform, **{"exec.kernels.fallback": "allow"})
    found = [(fault.provider, fault.code, fault.required) for fault in plan.faults if fault.op == OP]
    assert found == faults


@pytest.mark.parametrize(
    "settings",
    [
        {"disagg.transfer_backend": "reference"},
        {"exec.kernels.pin": {OP: "reference"}},
        {"exec.kernels.reference_only": True},
    ],
)
def test_the_reference_runs_where_it_is_named(registry: Registry, settings: dict[str, Any]) -> None:
    plan = plan_of(registry, Platform("cpu", "x86_64", packages=WITHOUT_ENGINE), **settings)
    assert plan[OP].provider == "reference"
    assert not plan.faults
    assert plan.bind(ops=[OP]).send_kvcache is send_kvcache


def test_a_named_engine_that_cannot_run_is_a_fault_of_who_named_it(registry: Registry) -> None:
    plan = plan_of(registry, "cuda:sm90", **{"disagg.transfer_backend": "ascend"})
    (fault,) = plan.faults
    assert (fault.op, fault.provider, fault.code) == (OP, "ascend", "device")
    assert "override" in fault.origin


def test_an_unknown_engine_is_a_fault_of_the_configuration(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"disagg.transfer_backend: unknown .* 'moncake'; did you mean mooncake"):
        plan_of(registry, "cuda:sm90", **{"disagg.transfer_backend": "moncake"})


def test_an_engine_that_was_emptied_on_purpose_stays_empty(registry: Registry) -> None:
    plan = plan_of(registry, "cuda:sm90", **{"disagg.transfer_backend": None})
    assert plan[OP].provider == "mooncake"
    assert plan.bag["disagg.transfer_backend"] is None


# The signature


def test_the_reference_has_the_contracts_signature() -> None:
    check_implementation(SEND_KVCACHE, "reference")


def test_the_keyword_tail_and_its_defaults() -> None:
    parameters = list(inspect.signature(SEND_KVCACHE.contract).parameters.values())
    assert [each.name for each in parameters[6:]] == [
        "dst_layer_ids",
        "dst_device_kv_indices",
        "dst_kv_item_len",
        "dst_attn_tp_size",
    ]
    assert all(each.default is None for each in parameters[6:])
    assert all(each.default is inspect.Parameter.empty for each in parameters[:6])


def before_layer_ids(
    sender: Any,
    mooncake_session_id: str,
    prefill_kv_indices: Any,
    dst_kv_ptrs: Sequence[int],
    dst_kv_indices: Any,
    executor: Any,
) -> int:
    """An engine's method as it was before its caller learnt to pass dst_layer_ids."""
    return 0


def one_more(
    sender: Any,
    mooncake_session_id: str,
    prefill_kv_indices: Any,
    dst_kv_ptrs: Sequence[int],
    dst_kv_indices: Any,
    executor: Any,
    dst_layer_ids: Any = None,
    dst_device_kv_indices: Any = None,
    dst_kv_item_len: Any = None,
    dst_attn_tp_size: Any = None,
    dst_mem_kinds: Any = None,
) -> int:
    """One that takes what no contract names."""
    return 0


def test_a_caller_with_one_argument_more_than_an_implementation_takes(registry: Registry) -> None:
    def without_the_last(
        sender: Any,
        mooncake_session_id: str,
        prefill_kv_indices: Any,
        dst_kv_ptrs: Sequence[int],
        dst_kv_indices: Any,
        executor: Any,
        dst_layer_ids: Any = None,
        dst_device_kv_indices: Any = None,
        dst_kv_item_len: Any = None,
    ) -> int:
        return 0

    with pytest.raises(TypeError, match="takes 6 positional arguments but 7 were given"):
        before_layer_ids(None, "host:1", None, [], None, None, [0, 1])
    for function, lacks in ((before_layer_ids, "'dst_layer_ids'"), (without_the_last, "'dst_attn_tp_size'")):
        with pytest.raises(SignatureError, match=f"{OP}, acme: it lacks {lacks}") as caught:
            registry.implement(OP, "acme", function)
        assert "contract:       send_kvcache(sender, mooncake_session_id," in str(caught.value)
        assert f"{function.__name__}(sender, mooncake_session_id," in str(caught.value)
    assert "acme" not in registry.providers(OP)


def test_an_implementation_that_takes_more_than_the_contract(registry: Registry) -> None:
    with pytest.raises(SignatureError, match="it has 'dst_mem_kinds', which the contract has not"):
        registry.implement(OP, "acme", one_more)


def test_one_that_is_named_by_its_module_is_found_at_start_up(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, module_of: Callable[[Any], str]
) -> None:
    registry.implement(OP, "acme", module_of(before_layer_ids))
    plan = plan_of(registry, "cpu", **{"disagg.transfer_backend": "acme"})
    with pytest.raises(BindError) as caught:
        plan.bind(ops=[OP])
    (fault,) = caught.value.faults
    assert (fault.op, fault.provider, fault.code) == (OP, "acme", "op-schema")
    assert "it lacks 'dst_layer_ids'" in fault.hint


@pytest.fixture
def module_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], str]:
    """A target that names a function in a module that can be imported."""

    def make(function: Any) -> str:
        module = types.ModuleType("acme_transfer")
        module.send_kvcache = function
        monkeypatch.setitem(sys.modules, "acme_transfer", module)
        return "acme_transfer:send_kvcache"

    return make
