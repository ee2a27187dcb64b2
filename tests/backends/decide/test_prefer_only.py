"""exec.kernels.prefer_only: what is outside the list does not run, and a plan says that it is the cause."""

from __future__ import annotations

from typing import Any

import pytest

from confbag import load
from confbag.backends import ALWAYS, Op, Plan, Registry, Requires, make_plan

ONLY = "exec.kernels.prefer_only"


def scale(x: Any) -> Any:
    """Twice x. Raises nothing."""


def planned(prefer: Any, **settings: Any) -> Plan:
    """Two references, of which the first cannot run here; a kernel for other devices; and one that anyone may list."""
    registry = Registry()
    op = Op("demo.scale", scale, reference=("slow", "reference"))
    op.implement("slow", "demo:slow", graph=ALWAYS, requires=Requires(device="npu"))
    op.implement("reference", "demo:reference", graph=ALWAYS)
    op.implement("elsewhere", "demo:elsewhere", graph=ALWAYS, priority=9, requires=Requires(device="hip"))
    op.implement("fine", "demo:fine", graph=ALWAYS)
    registry.add(op)
    given = {"exec.kernels.prefer": prefer, ONLY: True, **settings}
    return make_plan(load(given, env={}), "cuda:sm90", registry=registry)


def test_what_is_listed_and_can_run_is_silent() -> None:
    plan = planned(["fine"])
    assert (plan["demo.scale"].provider, plan.faults, plan.warnings) == ("fine", (), ())
    against = {one.provider: (one.code, one.field) for one in plan["demo.scale"].rejected}
    assert against == {
        "slow": ("device", "platform.device"),
        "reference": ("disabled", ONLY),
        "elsewhere": ("device", "platform.device"),
    }


@pytest.mark.parametrize("prefer", [{"demo.scale": ["elsewhere"]}, ["elsewhere"]])
def test_what_is_listed_and_cannot_run_is_the_fault(prefer: Any) -> None:
    [fault] = planned(prefer).faults
    assert (fault.provider, fault.code, fault.field) == ("elsewhere", "device", "platform.device")


def test_a_list_without_one_of_the_op_is_the_fault() -> None:
    [fault] = planned([]).faults
    assert (fault.provider, fault.code, fault.field) == (None, "disabled", ONLY)


def test_references_only_and_none_of_them_listed_is_a_fault() -> None:
    [fault] = planned(["slow"], **{"exec.kernels.reference_only": True}).faults
    assert (fault.provider, fault.code) == ("slow", "device")
    [fault] = planned(["fine"], **{"exec.kernels.reference_only": True}).faults
    assert (fault.code, fault.field) == ("disabled", ONLY)
