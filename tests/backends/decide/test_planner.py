"""How a plan is made: the six steps, what each rejection says, what is filled, and what no order changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from confbag import Bag, ConfigError, UnresolvedError, publish
from confbag.backends import (
    ALWAYS,
    BATCH_INVARIANT,
    RUN_TO_RUN,
    NativeOp,
    Need,
    Op,
    Plan,
    Platform,
    Registry,
    Requires,
    make_plan,
)
from confbag.backends.declare.rules import Fill
from confbag.errors import PlanError

MakeBag = Callable[..., Bag]
MakeMachine = Callable[..., Platform]


def scale(x: int, factor: int) -> int:
    """x times factor."""
    return x * factor


def registry_of(*rows: tuple[str, dict[str, Any]], **op: Any) -> Registry:
    """A registry with one op `demo.scale` and these rows, each with a target of its own."""
    made = Registry()
    demo = Op("demo.scale", scale, **op)
    for provider, fields in rows:
        demo.implement(
            provider, f"demo.{provider}:scale", **{"graph": ALWAYS, "determinism": BATCH_INVARIANT, **fields}
        )
    made.add(demo)
    cpu = {"name": "cpu", "when": {"platform.device": "cpu"}, "set": {"exec.kernels.fallback": "allow"}}
    made.fills.append(Fill.of(cpu, "test"))
    return made


CPU = Platform(device="cpu", arch="x86_64", packages={"torch": "2.13.0"})
CUDA = Platform(device="cuda", arch="sm90", toolkit={"cuda": "12.8"}, packages={"torch": "2.13.0"})


def plan_of(bag: Bag, platform: Platform, registry: Registry) -> Plan:
    return make_plan(bag, platform, registry=registry)


# The steps


def test_a_pin_wins_over_priority(bag_of: MakeBag) -> None:
    registry = registry_of(("reference", {}), ("slow", {"priority": 1}), ("fast", {"priority": 9}))
    plan = plan_of(bag_of(**{"exec.kernels.pin": {"demo.scale": "slow"}}), CUDA, registry)
    assert (plan["demo.scale"].provider, plan["demo.scale"].rule) == ("slow", "pin")
    assert {r.provider: r.code for r in plan["demo.scale"].rejected} == {
        "fast": "pinned-away",
        "reference": "pinned-away",
    }


def test_a_pin_that_cannot_run_fails_and_names_who_wrote_it(bag_of: MakeBag) -> None:
    registry = registry_of(
        ("reference", {}), ("hopper", {"priority": 1, "requires": Requires(device="cuda", arch="sm90")})
    )
    plan = plan_of(bag_of(**{"exec.kernels.pin": {"demo.scale": "hopper"}}), CPU, registry)
    assert [(f.code, f.field, f.required, f.actual) for f in plan.faults] == [
        ("device", "platform.device", ["cuda"], "cpu")
    ]
    assert plan.faults[0].origin is not None
    assert "override" in plan.faults[0].origin
    assert plan["demo.scale"].provider is None
    with pytest.raises(PlanError, match=r"hopper: device: platform\.device must be cuda, is cpu"):
        _ = plan.bag


def test_reference_only(bag_of: MakeBag) -> None:
    registry = registry_of(("reference", {}), ("fast", {"priority": 9}))
    plan = plan_of(bag_of(**{"exec.kernels.reference_only": True, "exec.kernels.prefer": ["fast"]}), CUDA, registry)
    assert (plan["demo.scale"].provider, plan["demo.scale"].rule) == ("reference", "exec.kernels.reference_only")
    assert not plan.warnings


def test_prefer_takes_the_first_that_can_run(bag_of: MakeBag) -> None:
    rows = (("reference", {}), ("a", {"requires": Requires(device="cpu")}), ("b", {}), ("c", {"priority": 9}))
    plan = plan_of(bag_of(**{"exec.kernels.prefer": ["a", "b"]}), CUDA, registry_of(*rows))
    assert (plan["demo.scale"].provider, plan["demo.scale"].rule) == ("b", "prefer")


def test_rules_go_before_priority_and_fall_through(bag_of: MakeBag) -> None:
    rows = (("reference", {}), ("a", {"requires": Requires(device="cpu")}), ("b", {}), ("c", {"priority": 9}))
    registry = registry_of(*rows)
    registry.rule("first-a", "demo.scale", propose="a", why="a is best")
    registry.rule("then-b", "demo.scale", when={"platform.device": "cuda"}, propose="b", why="b is next")
    assert plan_of(bag_of(), CUDA, registry)["demo.scale"].rule == "then-b"
    assert plan_of(bag_of(), CPU, registry)["demo.scale"].rule == "first-a"
    assert plan_of(bag_of(), Platform(device="hip", packages={}), registry)["demo.scale"].rule == "priority"


def test_highest_priority_that_can_run(bag_of: MakeBag) -> None:
    rows = (
        ("reference", {}),
        ("a", {"priority": 9, "requires": Requires(device="cpu")}),
        ("b", {"priority": 5}),
        ("c", {"priority": 3}),
    )
    binding = plan_of(bag_of(), CUDA, registry_of(*rows))["demo.scale"]
    assert (binding.provider, binding.rule) == ("b", "priority")
    assert {r.provider: r.code for r in binding.rejected} == {
        "a": "device",
        "c": "lower-priority",
        "reference": "lower-priority",
    }


@pytest.mark.parametrize(
    ("platform", "policy", "provider", "warns", "fault"),
    [
        (CPU, "auto", "reference", False, None),
        (CUDA, "auto", "reference", True, None),
        (CUDA, "allow", "reference", False, None),
        (CUDA, "warn", "reference", True, None),
        (CPU, "error", None, False, "disabled"),
        (CUDA, "error", None, False, "device"),
    ],
)
def test_fallback_policy(
    bag_of: MakeBag, platform: Platform, policy: str, provider: str | None, warns: bool, fault: str | None
) -> None:
    registry = registry_of(("reference", {}), ("fast", {"priority": 1, "requires": Requires(device="hip")}))
    plan = plan_of(bag_of(**{"exec.kernels.fallback": policy}), platform, registry)
    assert plan["demo.scale"].provider == provider
    assert any("falls back to reference" in warning for warning in plan.warnings) is warns
    assert bool(plan.faults) is (fault is not None)
    if policy == "error":
        assert {f.code for f in plan.faults} == {"device", "disabled"}
        assert next(f for f in plan.faults if f.code == "disabled").field == "exec.kernels.fallback"


def test_a_first_class_reference_is_a_choice(bag_of: MakeBag) -> None:
    registry = registry_of(
        ("reference", {}), ("fast", {"priority": 1, "requires": Requires(device="hip")}), reference_on=("cuda",)
    )
    plan = plan_of(bag_of(**{"exec.kernels.fallback": "error"}), CUDA, registry)
    assert (plan["demo.scale"].provider, plan["demo.scale"].rule) == ("reference", "first-class-reference")
    assert not plan.warnings
    assert not plan.faults


def test_an_op_that_does_not_apply_can_neither_warn_nor_fail(bag_of: MakeBag) -> None:
    registry = registry_of(("npu_only", {"requires": Requires(device="npu")}), applies={"model.kind": "dsv4"})
    plan = plan_of(bag_of(**{"exec.kernels.fallback": "error"}), CUDA, registry)
    binding = plan["demo.scale"]
    assert not binding.used
    assert binding.skipped_because == "model.kind is mha, not dsv4"
    assert not plan.faults
    assert not plan.warnings


def test_providers_that_nothing_decides_between_are_a_fault(bag_of: MakeBag) -> None:
    plan = plan_of(bag_of(), CUDA, registry_of(("a", {}), ("b", {})))
    (fault,) = plan.faults
    assert (fault.op, fault.field, fault.actual) == ("demo.scale", "choice", "none")
    assert fault.hint == "pin one: exec.kernels.pin: {demo.scale: a or b}"


def test_two_rules_that_want_different_environments_are_a_fault(bag_of: MakeBag) -> None:
    registry = registry_of(("reference", {}))
    for name, value in (("one", "1"), ("two", "2")):
        registry.fills.append(Fill.of({"name": name, "environment": {"DEMO_MODE": value}}, name))
    (fault,) = plan_of(bag_of(), CPU, registry).faults
    assert (fault.code, fault.field, fault.required, fault.actual) == ("environment", "DEMO_MODE", "2", "1")


def test_checks_of_bounds_turn_the_graph_off(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    plan = plan_of(bag_of(**{"exec.debug.bounds": True}), machine("cuda", "sm90"), registry)
    assert plan.bag["exec.graph"] is False
    plan = plan_of(bag_of(**{"exec.debug.bounds": True, "exec.graph": True}), machine("cuda", "sm90"), registry)
    assert [(fault.code, fault.field) for fault in plan.faults] == [("graph", "exec.graph")]


def test_a_bag_that_asks_for_the_cpu_is_planned_for_the_cpu(registry: Registry, bag_of: MakeBag) -> None:
    plan = make_plan(bag_of(**{"device.kind": "cpu"}), registry=registry)
    assert plan.platform.device == "cpu"
    assert not [fault for fault in plan.faults if fault.field == "device.kind"]


# Requirements, each with what is needed and what is there


@pytest.mark.parametrize(
    ("requires", "platform", "code", "says"),
    [
        (
            Requires(device="cuda", arch=["sm_100", "sm_103"]),
            Platform(device="cuda", arch="sm_120"),
            "arch",
            "sm100 or sm103, is sm120",
        ),
        (Requires(arch="sm90a"), Platform(device="cuda", arch=None), "arch", "must be sm90, is unknown"),
        (Requires(toolkit="cuda>=12.9"), CUDA, "toolchain", "cuda>=12.9, is cuda 12.8"),
        (Requires(toolkit="nvcc>=12.9"), CUDA, "toolchain", "nvcc>=12.9, is unknown"),
        (
            Requires(components="torch-npu>=2.5.1"),
            Platform(device="npu", packages={"torch-npu": "2.4.0"}),
            "package-version",
            ">=2.5.1, is torch-npu 2.4.0",
        ),
        (Requires(components="triton"), CUDA, "package-missing", "package-missing: triton is not installed"),
        (Requires(device_features="xmx"), Platform(device="xpu", arch="pvc"), "feature", "must be xmx, is none of it"),
        (
            Requires(known_issue="NaN on sm90, example.org/issues/1"),
            CUDA,
            "known-issue",
            "NaN on sm90, example.org/issues/1",
        ),
        (Requires(dtypes="bfloat16"), CUDA, "dtype", "must be bfloat16, is float16"),
        (Requires(head_sizes=[64, 128]), CUDA, "head-size", "must be 64 or 128, is 80"),
        (Requires(page_sizes=[64, 32]), CUDA, "page-size", "must be 64 or 32, is 7"),
        (
            Requires(needs=[Need("parallel.tp_size", {"max": 2}, "topology")]),
            CUDA,
            "topology",
            "must be at most 2, is 4",
        ),
        (
            Requires(native_ops=[NativeOp("npu::scale(Tensor x) -> Tensor")]),
            Platform(device="npu", packages={}, native_ops=("npu::other(Tensor x) -> Tensor",)),
            "op-missing",
            "npu::scale(Tensor x) -> Tensor, is not there",
        ),
    ],
)
def test_requirement(bag_of: MakeBag, requires: Requires, platform: Platform, code: str, says: str) -> None:
    registry = registry_of(("picky", {"requires": requires}))
    facts = {"model.dtype": "float16", "model.head_dim": 80, "memory.page_size": 7, "parallel.tp_size": 4}
    plan = plan_of(bag_of(**facts, **{"exec.kernels.pin": {"demo.scale": "picky"}}), platform, registry)
    assert [fault.code for fault in plan.faults] == [code]
    assert says in str(plan.faults[0])


def test_what_nobody_knows_is_assumed_and_said(bag_of: MakeBag) -> None:
    requires = Requires(
        components="triton>=3", head_sizes=[64], dtypes="bfloat16", native_ops=[NativeOp("npu::x(Tensor y) -> Tensor")]
    )
    registry = registry_of(("picky", {"priority": 1, "requires": requires}))
    plan = plan_of(bag_of(), Platform(device="cuda", arch="sm90"), registry)
    assert plan["demo.scale"].assumed == ("package triton>=3", "model.head_dim", "model.dtype", "native op npu::x")
    assert plan.assumed == plan["demo.scale"].assumed


def test_one_reason_a_provider_and_the_device_first(bag_of: MakeBag) -> None:
    requires = Requires(device="hip", arch="gfx942", toolkit="hip>=7", components="aiter")
    registry = registry_of(("reference", {}), ("amd", {"priority": 1, "requires": requires}))
    binding = plan_of(bag_of(), CUDA, registry)["demo.scale"]
    assert [r.code for r in binding.rejected] == ["device", "arch", "package-missing", "toolchain"]
    assert [(r.provider, r.code) for r in binding.first_rejections()] == [("amd", "device")]


def test_variants_of_one_provider_are_judged_by_the_one_that_was_meant(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    plan = plan_of(bag_of(**{"model.kind": "mla", "exec.attention.backend": "fa4"}), machine("cuda", "sm90"), registry)
    assert [(f.code, f.required) for f in plan.faults] == [("arch", ["sm100", "sm103"])]
    plan = plan_of(bag_of(**{"model.kind": "dsv4", "exec.attention.backend": "dsv4"}), machine("xpu", "pvc"), registry)
    assert [(f.code, f.required) for f in plan.faults] == [("device", ["cuda", "hip", "npu"])]


# Determinism


@pytest.mark.parametrize(
    ("asked", "provider"),
    [("batch_invariant", "invariant"), ("run_to_run", "repeatable")],
    ids=["batch_invariant", "run_to_run"],
)
def test_determinism_filters_before_priority(bag_of: MakeBag, asked: str, provider: str) -> None:
    rows = (
        ("undeclared", {"priority": 9, "determinism": "none"}),
        ("repeatable", {"priority": 5, "determinism": RUN_TO_RUN}),
        ("invariant", {"priority": 3}),
    )
    plan = plan_of(bag_of(**{"exec.deterministic": True, "exec.determinism": asked}), CUDA, registry_of(*rows))
    assert plan["demo.scale"].provider == provider
    undeclared = next(r for r in plan["demo.scale"].rejected if r.provider == "undeclared")
    assert (undeclared.code, undeclared.required, undeclared.actual) == ("determinism", asked, "none")
    assert plan_of(bag_of(), CUDA, registry_of(*rows))["demo.scale"].provider == "undeclared"


def test_nothing_deterministic_is_a_fault_that_names_who_asked(bag_of: MakeBag) -> None:
    plan = plan_of(
        bag_of(**{"exec.deterministic": True}), CUDA, registry_of(("only", {"priority": 1, "determinism": "none"}))
    )
    assert [(f.code, f.provider) for f in plan.faults] == [("determinism", "only")]
    assert plan.faults[0].origin == plan.asked.origin("exec.deterministic")


# Attention


def test_phases_resolve_by_themselves(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    plan = plan_of(bag_of(**{"exec.attention.decode": "triton"}), machine("cuda", "sm90"), registry)
    assert (plan["attention@prefill"].provider, plan["attention@prefill"].rule) == ("fa3", "mha-hopper")
    assert (plan["attention@decode"].provider, plan["attention@decode"].rule) == ("triton", "setting")
    assert (plan.bag["exec.attention.prefill"], plan.bag["exec.attention.decode"]) == ("fa3", "triton")


def test_a_pin_of_a_phase(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    bag = bag_of(**{"exec.kernels.pin": {"attention@decode": "triton"}})
    plan = plan_of(bag, machine("cuda", "sm90"), registry)
    assert (plan["attention@prefill"].provider, plan["attention@decode"].provider) == ("fa3", "triton")
    assert plan["attention@decode"].rule == "pin"
    assert plan.bag["exec.attention.decode"] == "triton"


def test_names_that_nobody_answers_to_are_all_reported(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    pins = {
        "kvcache.lastloc": "triton",
        "attention@verify": "fa3",
        "kvcache.last_loc": "tritn",
        "kvcache.last_loc@decode": "triton",
    }
    bag = bag_of(
        **{"exec.kernels.pin": pins, "exec.kernels.prefer": ["refrence"], "exec.attention.decode": "flashinfre"}
    )
    with pytest.raises(ConfigError) as raised:
        plan_of(bag, machine("cuda", "sm90"), registry)
    messages = [fault.message for fault in raised.value.faults]
    assert messages == [
        "unknown attention backend 'flashinfre'; did you mean flashinfer?",
        "unknown phase of attention 'verify'; write one of decode, draft, prefill",
        "unknown provider of kvcache.last_loc 'tritn'; did you mean triton?",
        "kvcache.last_loc has no phases; write 'kvcache.last_loc' without @decode",
        "unknown op 'kvcache.lastloc'; did you mean kvcache.last_loc?",
        "unknown provider 'refrence'; did you mean reference?",
    ]


def test_a_pin_that_contradicts_a_setting(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    bag = bag_of(**{"exec.kernels.pin": {"attention@decode": "triton"}, "exec.attention.decode": "fa3"})
    with pytest.raises(
        ConfigError, match=r"attention@decode is pinned to triton, but exec\.attention\.decode says fa3"
    ):
        plan_of(bag, machine("cuda", "sm90"), registry)


def test_an_old_name_works_and_says_the_new_one(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    plan = plan_of(bag_of(**{"model.kind": "dsa", "exec.attention.backend": "nsa"}), machine("cuda", "sm90"), registry)
    assert plan["attention@decode"].provider == "dsa"
    assert plan.warnings == ("exec.attention.backend: nsa is an old name; write dsa",)
    assert plan.bag["exec.attention.backend"] == plan.bag["exec.attention.decode"] == "dsa"
    assert plan.bag.setting("exec.attention.backend").why == "nsa is an old name of it"


def test_a_backend_for_one_phase_brings_its_companion(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    bag = bag_of(
        **{"model.kind": "mla", "exec.attention.backend": "cutedsl_mla", "spec.algorithm": "EAGLE", "spec.topk": 1}
    )
    plan = plan_of(bag, machine("cuda", "sm100"), registry)
    assert [plan[f"attention@{phase}"].provider for phase in ("prefill", "decode", "draft")] == [
        "trtllm_mla",
        "cutedsl_mla",
        "trtllm_mla",
    ]
    assert plan.bag["memory.page_size"] == 64


@pytest.mark.parametrize(("mode", "draft"), [("prefill", "fa3"), ("decode", "flashinfer")])
def test_draft_follows_what_speculation_runs_on(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine, mode: str, draft: str
) -> None:
    settings = {"exec.attention.prefill": "fa3", "exec.attention.decode": "flashinfer", "spec.attention_mode": mode}
    plan = plan_of(bag_of(**settings, **{"spec.algorithm": "EAGLE", "spec.topk": 1}), machine("cuda", "sm90"), registry)
    assert (plan["attention@draft"].provider, plan["attention@draft"].rule) == (draft, f"draft-follows-{mode}")
    assert plan.bag["exec.attention.draft"] == draft
    unused = plan_of(bag_of(**settings), machine("cuda", "sm90"), registry)
    assert not unused["attention@draft"].used
    assert unused.bag["exec.attention.draft"] == draft


def test_page_sizes_that_no_phase_shares_are_a_fault_that_names_both(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    settings = {"model.kind": "mla", "exec.attention.prefill": "flashinfer", "exec.attention.decode": "trtllm_mla"}
    plan = plan_of(bag_of(**settings), machine("cuda", "sm100"), registry)
    assert [fault.code for fault in plan.faults] == ["page-size"]
    assert "flashinfer" in str(plan.faults[0])
    assert "trtllm_mla takes 64, 32" in str(plan.faults[0])


def test_a_page_size_that_somebody_set_is_never_changed(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    plan = plan_of(
        bag_of(**{"model.kind": "mla", "exec.attention.backend": "trtllm_mla", "memory.page_size": 40}),
        machine("cuda", "sm100"),
        registry,
    )
    (fault,) = plan.faults
    assert (fault.code, fault.required, fault.actual, fault.hint) == (
        "page-size",
        [64, 32],
        40,
        "32 is the nearest that works",
    )


@pytest.mark.parametrize(
    ("settings", "key", "code"),
    [
        (
            {"exec.deterministic": True, "memory.radix_cache": True, "exec.attention.backend": "flashinfer"},
            "memory.radix_cache",
            "determinism",
        ),
        (
            {"exec.deterministic": True, "parallel.tp_size": 4, "parallel.custom_all_reduce": True},
            "parallel.custom_all_reduce",
            "determinism",
        ),
        ({"exec.deterministic": True, "exec.sampling_backend": "flashinfer"}, "exec.sampling_backend", "determinism"),
    ],
)
def test_what_a_rule_would_change_but_somebody_set_is_a_fault(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine, settings: dict[str, Any], key: str, code: str
) -> None:
    bag = bag_of(**settings)
    plan = plan_of(bag, machine("cuda", "sm90"), registry)
    (fault,) = plan.faults
    assert (fault.code, fault.field, fault.actual, fault.origin) == (code, key, bag[key], bag.origin(key))
    assert "rule " in str(fault)


def test_what_a_rule_filled_says_so(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    plan = plan_of(bag_of(**{"exec.deterministic": True, "parallel.tp_size": 4}), machine("cuda", "sm90"), registry)
    assert plan.bag.origin("parallel.custom_all_reduce") == "rule deterministic-all-reduce"
    assert plan.bag.setting("exec.attention.decode").why == "batch invariant on sm80 to sm90"
    assert plan.bag["parallel.custom_all_reduce"] is False
    assert plan.environment == {"NCCL_ALGO": "allreduce:tree", "NCCL_MAX_NCHANNELS": "8", "NCCL_MIN_NCHANNELS": "8"}


def test_a_bag_is_published_only_through_its_plan(registry: Registry, bag_of: MakeBag) -> None:
    bag = bag_of()
    with pytest.raises(UnresolvedError, match=r"exec.attention.backend"):
        publish(bag, role="test")
    assert not plan_of(bag, CPU, registry).bag.unresolved()


@pytest.mark.parametrize(
    ("settings", "code", "key"),
    [
        ({"device.kind": "npu"}, "device", "device.kind"),
        ({"device.kind": "cuda", "device.arch": "sm100"}, "arch", "device.arch"),
        ({"device.index": 8}, "device", "device.index"),
    ],
)
def test_a_device_that_is_not_the_platforms(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine, settings: dict[str, Any], code: str, key: str
) -> None:
    plan = plan_of(bag_of(**settings), machine("cuda", "sm90", count=8), registry)
    assert [(fault.code, fault.field) for fault in plan.faults] == [(code, key)]
    plan = plan_of(
        bag_of(**{"device.kind": "cuda", "device.arch": "sm_90a", "device.index": 7}),
        machine("cuda", "sm90", count=8),
        registry,
    )
    assert not plan.faults


# Sameness


def test_the_order_of_registration_never_matters(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    bag = bag_of(**{"spec.algorithm": "EAGLE", "spec.topk": 1})
    platform = machine("cuda", "sm90")
    expected = plan_of(bag, platform, registry)
    shuffler = random.Random(7)
    for _ in range(5):
        for rows in registry._rows.values():
            shuffler.shuffle(rows)
        plan = plan_of(bag, platform, registry)
        assert plan.fingerprint() == expected.fingerprint()
        assert [b.rejected for b in plan.bindings] == [b.rejected for b in expected.bindings]


CHANGES: Sequence[tuple[str, Any]] = (
    ("exec.deterministic", True),
    ("exec.determinism", "run_to_run"),
    ("exec.attention.decode", "triton"),
    ("exec.attention.num_splits", 3),
    ("exec.graph", False),
    ("exec.compile", True),
    ("exec.kernels.reference_only", True),
    ("exec.kernels.prefer", ["triton"]),
    ("exec.debug.bounds", True),
    ("model.path", "a/b"),
    ("model.dtype", "float16"),
    ("model.num_heads", 64),
    ("parallel.tp_size", 2),
    ("spec.algorithm", "EAGLE"),
    ("memory.page_size", 16),
    ("memory.fraction_static", 0.5),
    ("disagg.mode", "decode"),
)


def test_any_one_field_changes_the_fingerprint(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    platform = machine("cuda", "sm80", packages=None)
    prints = [plan_of(bag_of(), platform, registry).fingerprint()]
    for key, value in CHANGES:
        plan = plan_of(bag_of(**{key: value}), platform, registry)
        assert not plan.faults, (key, plan.faults)
        prints.append(plan.fingerprint())
    assert len(set(prints)) == len(prints)
    assert plan_of(bag_of(**{"parallel.num_nodes": 2}), platform, registry).fingerprint() == (
        plan_of(bag_of(**{"parallel.num_nodes": 2, "parallel.node_rank": 1}), platform, registry).fingerprint()
    )
