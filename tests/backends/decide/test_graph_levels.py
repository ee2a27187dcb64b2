"""What a graph level decides: true takes any and notes it, full prefers and warns, a row that declares none says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from confbag import load
from confbag.backends import ALWAYS, NEVER, PIECEWISE, Op, Plan, Registry, Requires, make_plan

GPU = "cuda:sm90"


def scale(x: Any) -> Any:
    """Twice x. Raises nothing."""


def planned(graph: object, *rows: tuple[str, dict[str, Any]], prefer: Sequence[str] = ()) -> Plan:
    registry = Registry()
    op = Op("demo.scale", scale)
    for provider, fields in rows:
        op.implement(provider, f"vendor.kernels:{provider}", **fields)
    registry.add(op)
    return make_plan(load({"exec.graph": graph, "exec.kernels.prefer": list(prefer)}, env={}), GPU, registry=registry)


PIECES = ("pieces", {"priority": 9, "graph": PIECEWISE})
WHOLE = ("whole", {"priority": 1, "graph": ALWAYS})
REFERENCE = ("reference", {"graph": ALWAYS})


def test_true_takes_a_piecewise_row_and_notes_it() -> None:
    plan = planned(True, PIECES, WHOLE)
    assert plan["demo.scale"].provider == "pieces"
    assert [note for note in plan.notes if "captures pieces piecewise only" in note]
    assert plan.warnings == ()
    assert any("piecewise" in note for note in plan.to_dict()["notes"])


@pytest.mark.parametrize("prefer", [[], ["pieces"]])
def test_full_takes_what_is_captured_whole_and_why_says_so(prefer: list[str]) -> None:
    plan = planned("full", PIECES, WHOLE, prefer=prefer)
    assert plan["demo.scale"].provider == "whole"
    assert plan.warnings == ()
    assert plan.notes == (
        "demo.scale: whole and not pieces, which a graph captures piecewise only: exec.graph asks for full",
    )
    [against] = plan["demo.scale"].rejected
    assert (against.provider, against.code, against.required) == ("pieces", "graph", "piecewise")


def test_full_says_nothing_where_it_changes_nothing() -> None:
    plan = planned("full", ("pieces", {"priority": 1, "graph": PIECEWISE}), ("whole", {"priority": 9, "graph": ALWAYS}))
    assert plan["demo.scale"].provider == "whole"
    assert (plan.warnings, plan.notes) == ((), ())


def test_full_where_only_a_reference_is_captured_whole_is_a_downgrade_by_name() -> None:
    plan = planned("full", PIECES, REFERENCE)
    assert plan["demo.scale"].provider == "pieces"
    assert [
        warning for warning in plan.warnings if "exec.graph asks for full, and pieces is captured piecewise" in warning
    ]


@pytest.mark.parametrize("graph", ["piecewise", False])
def test_what_asks_for_no_more_than_is_there_is_silent(graph: object) -> None:
    plan = planned(graph, PIECES, WHOLE)
    assert plan["demo.scale"].provider == "pieces"
    assert (plan.warnings, [note for note in plan.notes if "piecewise" in note]) == ((), [])


def test_a_row_that_declares_no_level_is_refused_with_the_words_to_write() -> None:
    (bare,) = planned(True, ("bare", {"requires": Requires()})).faults
    assert bare.hint == "bare declares no graph level, which is never; declare graph=... where it is implemented"
    (said,) = planned(True, ("bare", {"graph": NEVER})).faults
    assert said.hint == "bare declares graph never"
    assert planned(False, ("bare", {"priority": 1})).faults == ()
