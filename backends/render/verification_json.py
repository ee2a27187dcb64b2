"""What `confbag verify` found, as JSON: an object for each implementation, in the registry's order, and the count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from confbag.backends.bind.verification import Count, Outcome
from confbag.backends.render.json import rejection_dict

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan

SCHEMA_VERSION = 1


def render(plan: Plan, outcomes: Sequence[Outcome]) -> str:
    """One JSON document."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "platform": plan.platform.name,
        "results": [_result(outcome) for outcome in outcomes],
        "count": asdict(Count.of(outcomes)),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _result(outcome: Outcome) -> dict[str, Any]:
    task = outcome.task
    row, rejection = task.implementation, task.rejection
    return {
        "op": row.op,
        "provider": row.provider,
        "variant": row.variant,
        "target": row.target_name,
        "bound": list(task.bound),
        "reference": None if task.reference is None else task.reference.target_name,
        "status": outcome.status,
        "cases": outcome.cases,
        "said": outcome.said,
        "rejection": None if rejection is None else rejection_dict(rejection),
        "native_ops": [{"name": name, "verified": verified} for name, verified in outcome.schemas],
        "notes": list(outcome.notes),
    }
