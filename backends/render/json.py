"""A plan as plain data after plan.schema.json, and as JSON text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from confbag.backends.decide.library_needs import library_needs
from confbag.backends.declare.slots import PHASES
from confbag.errors import PlanError
from confbag.schema.identity import digest_of, name_of
from confbag.schema.leaves import leaves
from confbag.words.plain import finite

if TYPE_CHECKING:
    from confbag.backends.decide.deciders import Decider
    from confbag.backends.decide.plan import Binding, Member, Plan
    from confbag.backends.words.rejection import Rejection

SCHEMA_VERSION = 2


def render(plan: Plan, *, all: bool = False) -> str:
    """The plan as JSON, in ASCII, keys in the schema's order."""
    return json.dumps(plan_dict(plan, all=all), indent=2, allow_nan=False) + "\n"


def plan_dict(plan: Plan, all: bool = False) -> dict[str, Any]:
    """The plan as plain data; with `all` one entry for each reason against a provider, else one for each provider."""
    return {
        "schema_version": SCHEMA_VERSION,
        "schema": {"name": name_of(plan.asked.schema), "digest": digest_of(plan.asked.schema)},
        "fingerprint": plan.fingerprint(),
        "platform": {**finite(plan.platform.to_dict()), "name": plan.platform.name},
        "config": _config(plan),
        "bindings": [_binding(binding, all) for binding in plan.bindings],
        "faults": [fault_dict(fault) for fault in plan.faults],
        "environment": dict(sorted(plan.environment.items())),
        "libraries": libraries(plan),
        "warnings": list(plan.warnings),
        "notes": list(plan.notes),
        "not_arranged": [{"name": name, "why": why} for name, why in plan.not_arranged],
        "ignored": [{"name": name, "why": why} for name, why in plan.asked.ignored.items()],
        "not_covered": list(plan.not_covered),
    }


def libraries(plan: Plan) -> list[dict[str, Any]]:
    """The native libraries that bind loads, each with its version and the ops it must carry, and for whom."""
    return [
        {
            "name": need.library.name,
            "ops": sorted({one.native.name for one in need.needed}),
            "namespace": need.library.namespace,
            "needs": need.library.component,
            "installed": need.installed,
            "assumed": need.assumed,
            "environment": need.library.environment,
            "package": need.library.package,
            "needed_by": [
                {
                    "op": one.op,
                    "provider": one.provider,
                    "native_op": one.native.name,
                    "schema": one.native.schema,
                    "dispatch_key": one.key,
                }
                for one in need.needed
            ],
        }
        for need in library_needs(plan)
    ]


def _config(plan: Plan) -> dict[str, Any]:
    try:
        bag = plan.bag
    except PlanError:
        bag = plan.asked
    known = leaves(bag.schema)
    return {key: {"value": known[key].written(value), "origin": bag.origin(key)} for key, value in bag.values().items()}


def _binding(binding: Binding, all: bool) -> dict[str, Any]:
    rejections = binding.rejected if all else binding.first_rejections()
    return {
        "op": binding.op,
        "site": binding.site,
        "regime": binding.regime,
        "phase": binding.phase,
        "sites": None if binding.sites is None else list(binding.sites),
        "used": binding.used,
        "provider": binding.provider,
        "variant": binding.variant,
        "target": binding.target,
        "rule": binding.rule,
        "why": binding.why,
        "skipped_because": binding.skipped_because,
        "assumed": list(binding.assumed),
        "members": [_member(member) for member in binding.members],
        "rejected": [rejection_dict(rejection) for rejection in rejections],
    }


def _member(member: Member) -> dict[str, Any]:
    row = member.implementation
    return {
        "most": member.most,
        "provider": row.provider,
        "variant": row.variant,
        "target": row.target_name,
        "engine": row.engine if row.target is None else None,
        "decided_by": decided_by(member.decider),
        "why": member.why,
        "graph": row.graph,
        "assumed": list(member.assumed),
    }


def decided_by(decider: Decider) -> dict[str, str]:
    """`{"rule": name}` or `{"step": name}`."""
    return {"rule" if decider.rule else "step": decider.name}


def fault_dict(fault: Rejection) -> dict[str, Any]:
    """A fault of a plan: a rejection and the slot that it is about."""
    phase = fault.regime if fault.regime in PHASES else None
    slot = {"op": fault.op, "site": fault.site, "regime": fault.regime, "phase": phase}
    return {**rejection_dict(fault), **slot}


def rejection_dict(rejection: Rejection) -> dict[str, Any]:
    """One reason against one provider."""
    return {
        "provider": rejection.provider,
        "code": rejection.code,
        "field": rejection.field,
        "required": finite(rejection.required),
        "actual": finite(rejection.actual),
        "origin": rejection.origin,
        "hint": rejection.hint,
    }
