"""Planned again, what rules filled is no source and gives way to what is asked; and they fill in only what can run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from confbag import Bag, get_exec, load, override, publish
from confbag.backends import Platform, make_plan
from confbag.process.context import unpublish

GPU = "cuda:sm90"


@pytest.fixture
def planned() -> Iterator[Bag]:
    yield make_plan(load(env={}), GPU).bag
    unpublish()


def test_a_planned_bag_is_planned_to_the_same(planned: Bag) -> None:
    again = make_plan(planned, GPU)
    assert again.bag == planned
    assert again.bag.chain("exec.attention.decode") == planned.chain("exec.attention.decode")


@pytest.mark.parametrize(
    "changes",
    [
        {"exec.attention.backend": "triton"},
        {"exec.attention.decode": "triton"},
        {"exec.kernels.pin": {"attention": "triton"}},
        {"exec.kernels.prefer": ["triton"]},
    ],
)
def test_what_an_override_asks_for_is_planned(planned: Bag, changes: Mapping[str, Any]) -> None:
    assert planned.exec.attention.decode == "fa3"
    plan = make_plan(planned.override("test", changes), GPU)
    assert plan["attention@decode"].provider == "triton"
    assert plan.bag.exec.attention.decode == "triton"
    assert (plan.faults, plan.notes) == ((), ())


def test_an_override_that_rules_would_answer_otherwise_has_no_fault(planned: Bag) -> None:
    plan = make_plan(planned.override("test", {"exec.deterministic": True}), GPU)
    assert plan.faults == ()
    assert plan.bag.values() == make_plan(load({"exec.deterministic": True}, env={}), GPU).bag.values()


def test_a_general_key_covers_what_rules_filled_while_it_is_overridden(planned: Bag) -> None:
    publish(planned, role="test")
    with override("test", {"exec.attention.backend": "triton"}):
        assert (get_exec().attention.prefill, get_exec().attention.decode) == ("triton", "triton")
    assert get_exec().attention.decode == "fa3"


@pytest.mark.parametrize(("cubin", "chosen"), [("0.6.13", "pytorch"), ("0.6.14", "flashinfer")])
def test_a_rule_fills_in_only_what_can_run(cubin: str, chosen: str) -> None:
    packages = {"torch": "2.14.0", "triton": "3.6.0", "flashinfer-python": "0.6.14", "flashinfer-cubin": cubin}
    machine = Platform(device="cuda", arch="sm80", toolkit={"cuda": "13.0"}, packages=packages)
    plan = make_plan(load(env={}), machine)
    assert plan.faults == ()
    assert plan.bag.exec.sampling_backend == chosen
    told = [note for note in plan.notes if note.startswith("exec.sampling_backend: not flashinfer (rule sampling-")]
    assert len(told) == (chosen == "pytorch")
    asked = make_plan(load({"exec.sampling_backend": "flashinfer"}, env={}), machine)
    assert [fault.provider for fault in asked.faults] == ["exec.sampling_backend flashinfer"] * len(told)


@pytest.mark.parametrize(("pinned", "general"), [("attention", "triton"), ("attention@decode", "fa3")])
def test_a_general_key_says_what_runs_where_all_of_it_gave_way(pinned: str, general: str) -> None:
    bag = load({"exec.attention.backend": "fa3"}, env={}, argv=["--set", f"exec.kernels.pin={{{pinned}: triton}}"])
    plan = make_plan(bag, GPU)
    assert (plan.bag.exec.attention.decode, plan.bag.exec.attention.backend) == ("triton", general)
    assert [note for note in plan.notes if "gives way to the pin" in note]
