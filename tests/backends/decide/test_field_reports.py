"""Faults that users of other engines met in selection, each as an input of our own (the public thread is named)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from confbag import Bag
from confbag.backends import ALWAYS, BATCH_INVARIANT, Op, Platform, Registry, Requires, make_plan

MakeBag = Callable[..., Bag]
MakeMachine = Callable[..., Platform]
CUDA = Platform(device="cuda", arch="sm90", toolkit={"cuda": "12.8"}, packages={"torch": "2.13.0"})


def attend(query: int, mask: int) -> int:
    """Attend with a mask."""
    return query * mask


def test_a_failing_feature_is_named_for_each_candidate(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    """vllm#40153: forcing a backend failed with 'sink setting not supported' only at run time."""
    bag = bag_of(
        **{"model.architecture": "GptOssForCausalLM", "model.attention_sinks": True, "model.sliding_window": 128}
    )
    plan = make_plan(bag, machine("cuda", "sm120"), registry=registry)
    assert plan["attention@decode"].provider == "triton"
    flashinfer = next(r for r in plan["attention@decode"].rejected if r.provider == "flashinfer")
    assert (flashinfer.code, flashinfer.field) == ("feature", "model.attention_sinks")
    assert "flashinfer has no sinks" in str(flashinfer)
    named = make_plan(
        bag.override("test", {"exec.attention.backend": "flashinfer"}), machine("cuda", "sm120"), registry=registry
    )
    assert [(f.provider, f.code, f.field) for f in named.faults] == [("flashinfer", "feature", "model.attention_sinks")]


def test_the_same_name_in_both_phases_is_taken_as_written(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    """sglang#8989: prefill == decode == fa3 selected flashinfer."""
    bag = bag_of(**{"exec.attention.prefill": "fa3", "exec.attention.decode": "fa3"})
    plan = make_plan(bag, machine("cuda", "sm80"), registry=registry)
    assert {plan[f"attention@{phase}"].provider for phase in ("prefill", "decode")} == {"fa3"}


def test_a_draft_model_is_planned_under_its_own_shape(bag_of: MakeBag) -> None:
    """vllm#39126: a draft model inherited a backend that its head size cannot use."""
    registry = Registry()
    demo = Op("demo.attend", attend)
    demo.implement("wide", "demo.wide:attend", priority=9, requires=Requires(head_sizes=[128, 256]), graph=ALWAYS)
    demo.implement("reference", "demo.reference:attend", graph=ALWAYS)
    registry.add(demo)
    target = bag_of(**{"model.head_dim": 128})
    assert make_plan(target, CUDA, registry=registry)["demo.attend"].provider == "wide"
    draft = make_plan(target.override("draft model", {"model.head_dim": 64}), CUDA, registry=registry)
    assert draft["demo.attend"].provider == "reference"
    assert [(r.code, r.actual) for r in draft["demo.attend"].rejected] == [("head-size", 64)]


def test_prefill_and_decode_can_be_pinned_apart(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    """vllm#31787: there was no way to set prefill and decode separately."""
    npu = machine("npu", "ascend910_93", packages={"torch": "2.13.0", "torch-npu": "2.13.0"})
    bag = bag_of(**{"exec.kernels.pin": {"attention@decode": "ascend", "attention@prefill": "torch_native"}})
    plan = make_plan(bag, npu, registry=registry)
    assert (plan["attention@prefill"].provider, plan["attention@decode"].provider) == ("torch_native", "ascend")


def test_an_operand_that_is_ignored_must_be_declared(bag_of: MakeBag) -> None:
    """sglang#31948: an NPU default dropped its mask without a word."""
    registry = Registry()
    demo = Op("demo.attend", attend, asks={"mask": {"model.encoder_decoder": True}})
    demo.implement("deaf", "demo.deaf:attend", priority=9, graph=ALWAYS)
    demo.implement("reference", "demo.reference:attend", requires=Requires(features="mask"), graph=ALWAYS)
    registry.add(demo)
    assert make_plan(bag_of(), CUDA, registry=registry)["demo.attend"].provider == "deaf"
    plan = make_plan(bag_of(**{"model.encoder_decoder": True}), CUDA, registry=registry)
    assert plan["demo.attend"].provider == "reference"
    assert [(r.provider, r.code) for r in plan["demo.attend"].rejected] == [("deaf", "feature")]


@pytest.mark.parametrize(("policy", "faults"), [("warn", 0), ("error", 1)])
def test_the_reference_is_never_taken_silently(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine, policy: str, faults: int
) -> None:
    """pytorch#167754, transformers#31990: a slow path was taken silently; here with a warning, or a fault."""
    bag = bag_of(**{"exec.kernels.fallback": policy, "exec.attention.backend": "triton"})
    without_triton = machine("musa", "mp31", packages={"torch": "2.13.0", "triton": "3.6.0"})
    plan = make_plan(bag, without_triton, registry=registry)
    assert not plan.faults
    slow = make_plan(
        bag_of(**{"exec.kernels.fallback": policy}),
        machine("musa", "mp31", packages={"torch": "2.13.0"}),
        registry=registry,
    )
    assert bool(slow.faults) is bool(faults)
    if not faults:
        assert slow["attention@decode"].provider == "torch_native"
        assert any("falls back to torch_native" in warning for warning in slow.warnings)


def test_a_named_backend_and_determinism_that_exclude_each_other_name_both_who_asked(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    """vllm PR 25769: batch-invariant mode rewrote the backend that the user had named."""
    bag = bag_of(**{"exec.deterministic": True, "model.kind": "mla"}).override(
        "the operator", {"exec.attention.backend": "flashmla"}
    )
    (fault,) = make_plan(bag, machine("cuda", "sm90"), registry=registry).faults
    assert fault.code == "determinism"
    assert bag.origin("exec.deterministic") in str(fault.origin)
    assert "the operator" in str(fault.origin)


def test_a_backend_that_a_rule_set_is_never_blamed_on_a_user(
    registry: Registry, bag_of: MakeBag, machine: MakeMachine
) -> None:
    """sglang#34683: a default of a rule was reported as 'explicitly specified'."""
    bag = bag_of(**{"model.kind": "dsv4", "memory.state_dtype": "bfloat16"})
    npu = machine("npu", "ascend910_93", packages={"torch": "2.13.0", "torch-npu": "2.13.0"})
    faults = make_plan(bag, npu, registry=registry).faults
    assert {fault.op for fault in faults} == {"attention", "dsv4.compressor"}
    for fault in faults:
        assert fault.origin == bag.origin("memory.state_dtype")
        assert "named by" not in str(fault)


def test_deterministic_alone_is_enough(registry: Registry, bag_of: MakeBag, machine: MakeMachine) -> None:
    """sglang#11801: deterministic with no backend set crashed."""
    for device, arch in (
        ("cuda", "sm75"),
        ("cuda", "sm90"),
        ("cuda", "sm100"),
        ("hip", "gfx942"),
        ("xpu", "pvc"),
        ("cpu", "aarch64"),
    ):
        plan = make_plan(bag_of(**{"exec.deterministic": True}), machine(device, arch), registry=registry)
        assert not plan.faults, (device, arch, plan.faults)
        levels = {b.implementation.determinism_in(b.phase) for b in plan.bindings if b.implementation is not None}
        assert levels == {BATCH_INVARIANT}


def test_the_plan_names_what_it_does_not_cover(registry: Registry, bag_of: MakeBag) -> None:
    """pytorch#93537: Inductor ignored the deterministic flag, and nothing said so."""
    covered = " ".join(make_plan(bag_of(), CUDA, registry=registry).not_covered)
    assert "Inductor" in covered
    assert "collectives" in covered
