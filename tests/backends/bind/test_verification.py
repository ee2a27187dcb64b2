"""What is verified, against which reference, and what counts as this machine's reason: decided without torch."""

from __future__ import annotations

from typing import Any

import pytest

from confbag import load
from confbag.backends import Op, Platform, Requires, make_plan
from confbag.backends.bind.verification import AGREES, DISAGREES, FAILED, NOT_RUN, Count, Outcome, Task, tasks
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.requires import NativeOp, Need
from confbag.errors import RegistrationError


def doubled(number: int) -> int:
    """Twice the number."""
    raise NotImplementedError


def planned(op: Op, **settings: Any) -> dict[str, Task]:
    """The tasks of one op on a CPU with torch, by the implementation's name."""
    registry = Registry()
    registry.add(op)
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    plan = make_plan(load(env={}, overrides=overrides), Platform("cpu", "x86_64", packages={}), registry=registry)
    return {task.implementation.name: task for task in tasks(plan)}


def test_what_a_configuration_asks_is_no_reason_of_the_machine() -> None:
    op = Op("acme.doubled", doubled, applies={"model.kind": "dsv4"}, cases="acme.cases:cases")
    op.implement("reference", "acme.reference:doubled")
    needs = (Need("model.num_heads", 64, "topology"), Need("memory.kv_cache", "fp8_e4m3", "dtype"))
    op.implement("fast", "acme.fast:doubled", requires=Requires(dtypes=("bfloat16",), head_sizes=(512,), needs=needs))
    op.implement("elsewhere", "acme.fast:doubled", requires=Requires(device=("npu",), needs=needs))
    found = planned(op, model__num_heads=8, model__head_dim=64, model__dtype="float32")
    assert found["fast"].rejection is None
    assert found["fast"].reference is found["reference"].implementation
    assert found["elsewhere"].rejection is not None
    assert found["elsewhere"].rejection.code == "device"


def test_each_kind_of_model_is_compared_with_the_reference_of_its_kind() -> None:
    op = Op("acme.doubled", doubled, reference=("plain", "compressed"), cases="acme.cases:cases")
    kinds = {"plain": ["mha"], "compressed": ["dsv4"], "fast": ["mha", "mla"], "sparse": ["dsv4"]}
    for name, kind in kinds.items():
        row = Requires(needs=(Need("model.kind", kind, "feature"),))
        op.implement(name, f"acme.{name}:doubled", requires=row, cases=f"acme.{name}:cases")
    op.implement("lost", "acme.lost:doubled", requires=Requires(needs=(Need("model.kind", ["dsa"], "feature"),)))
    found = planned(op)
    references = {name: task.reference and task.reference.provider for name, task in found.items()}
    assert references == {
        "plain": "plain",
        "compressed": "compressed",
        "fast": "plain",
        "sparse": "compressed",
        "lost": None,
    }
    assert found["sparse"].cases == "acme.sparse:cases"
    assert found["lost"].reason == "no reference of acme.doubled can run here (plain or compressed)"


def test_what_the_plan_binds_is_marked() -> None:
    op = Op("acme.doubled", doubled, phases=("prefill", "decode"), cases="acme.cases:cases")
    op.implement("reference", "acme.reference:doubled")
    op.implement("fast", "acme.fast:doubled", phases=("decode",), priority=1)
    found = planned(op)
    assert found["fast"].bound == ("acme.doubled@decode",)
    assert found["reference"].bound == ("acme.doubled@prefill",)


@pytest.mark.parametrize("place", ["cases", "acme.cases", "acme.cases:", "acme cases:cases", ":cases"])
def test_cases_are_named_as_a_target_is(place: str) -> None:
    with pytest.raises(RegistrationError, match=r"cases .*; write 'package.module:callable'"):
        Op("acme.doubled", doubled, cases=place)
    with pytest.raises(RegistrationError, match=r"cases .*; write 'package.module:callable'"):
        Op("acme.doubled", doubled).implement("fast", "acme.fast:doubled", cases=place)


def test_the_count_says_what_was_not_run_and_not_looked_at() -> None:
    op = Op("acme.doubled", doubled)
    native = Requires(native_ops=(NativeOp("acme::one(int x) -> int"), NativeOp("acme::two(int x) -> int")))
    task = Task(op.implement("fast", "acme.fast:doubled", requires=native), ())
    outcomes = [
        Outcome(task, AGREES, schemas=(("acme::one", True), ("acme::two", False))),
        Outcome(task, DISAGREES, schemas=(("acme::one", True), ("acme::two", True))),
        Outcome(task, FAILED),
        Outcome(task, NOT_RUN),
    ]
    count = Count.of(outcomes)
    assert (count.agree, count.disagree, count.failed, count.not_run, count.run) == (1, 1, 1, 1, 3)
    assert (count.verified, count.unverified, count.not_looked_at) == (3, 1, 4)
