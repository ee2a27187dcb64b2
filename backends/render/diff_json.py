"""A diff as plain data and as JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from confbag.backends.declare.slots import PHASES, Slot
from confbag.backends.render.json import decided_by, fault_dict, rejection_dict
from confbag.words.plain import finite

if TYPE_CHECKING:
    from confbag.backends.compare.diff import BindingChange, Change, Diff
    from confbag.backends.compare.lock import Runs
    from confbag.backends.compare.sides import Decided, Fact, Side, Valued
    from confbag.backends.words.rejection import Rejection

T = TypeVar("T")

SCHEMA_VERSION = 2


def render(diff: Diff) -> str:
    """The diff as JSON, in ASCII."""
    return json.dumps(diff_dict(diff), indent=2, allow_nan=False) + "\n"


def diff_dict(diff: Diff) -> dict[str, Any]:
    """The diff as plain data; `a` and `b` of each entry are what the sides say, null where one says nothing."""
    return {
        "schema_version": SCHEMA_VERSION,
        "same": diff.same,
        "a": _side(diff.a),
        "b": _side(diff.b),
        "bindings": [_binding(change) for change in diff.bindings],
        "settings": [_change(change, _valued) for change in diff.settings],
        "environment": [_change(change, str) for change in diff.environment],
        "libraries": [_change(change, list) for change in diff.libraries],
        "platform": [_change(change, _fact) for change in diff.platform],
        "assumed": [_change(change, list) for change in diff.assumed],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "kind": side.kind,
        "schema": {"name": side.schema, "digest": side.digest or None},
        "platform": side.platform,
        "fingerprint": side.fingerprint,
        "faults": [fault_dict(fault) for fault in side.faults],
    }


def _binding(change: BindingChange) -> dict[str, Any]:
    slot = Slot.parse(change.slot)
    return {
        "op": slot.op,
        "site": slot.site,
        "regime": slot.regime,
        "phase": slot.regime if slot.regime in PHASES else None,
        "a": _decided(change.a),
        "b": _decided(change.b),
        "against_a": _against(change.against_a),
        "against_b": _against(change.against_b),
        "because": list(change.because),
    }


def _decided(decided: Decided) -> dict[str, Any]:
    return {
        "used": decided.used,
        "members": [_runs(runs) for runs in decided.runs],
        "why": decided.why,
        "skipped_because": decided.skipped_because,
        "assumed": sorted(decided.assumed),
    }


def _runs(runs: Runs) -> dict[str, Any]:
    return {
        "most": runs.most,
        "provider": runs.provider,
        "variant": runs.variant,
        "target": runs.target,
        "engine": runs.engine,
        "decided_by": decided_by(runs.decider),
    }


def _against(rejection: Rejection | None) -> dict[str, Any] | None:
    return None if rejection is None else rejection_dict(rejection)


def _valued(valued: Valued) -> dict[str, Any]:
    return {"value": finite(valued.value), "origin": valued.origin}


def _fact(fact: Fact) -> dict[str, Any]:
    return {"value": finite(fact.value), "assumed": fact.assumed}


def _change(change: Change[T], data: Callable[[T], Any]) -> dict[str, Any]:
    sides = {name: None if said is None else data(said) for name, said in (("a", change.a), ("b", change.b))}
    return {"name": change.name, **sides}
