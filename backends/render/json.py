"""A plan as plain data after plan.schema.json, and as JSON text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from confbag import fingerprint
from confbag.errors import PlanError

if TYPE_CHECKING:
    from confbag.backends.plan import Binding, Plan
    from confbag.backends.rejection import Rejection

SCHEMA_VERSION = 1
PIN = "exec.kernels.pin"


def render(plan: Plan, *, all: bool = False) -> str:
    """The plan as JSON, in ASCII, keys in the schema's order."""
    return json.dumps(plan_dict(plan, all=all), indent=2, allow_nan=False) + "\n"


def plan_dict(plan: Plan, all: bool = False) -> dict[str, Any]:
    """The plan as plain data; with `all` one entry for each reason against a provider, else one for each provider."""
    return {
        "schema_version": SCHEMA_VERSION,
        "fingerprint": plan.fingerprint(),
        "platform": {**plain(plan.platform.to_dict()), "name": plan.platform.name},
        "config": _config(plan),
        "bindings": [_binding(binding, all) for binding in plan.bindings],
        "faults": [{**_rejection(fault), "op": fault.op, "phase": fault.phase} for fault in plan.faults],
        "environment": dict(sorted(plan.environment.items())),
        "libraries": libraries(plan),
        "warnings": list(plan.warnings),
        "not_covered": list(plan.not_covered),
    }


def libraries(plan: Plan) -> list[dict[str, Any]]:
    """The native libraries that bind loads, each with the ops it must carry."""
    return [{"name": str(name), "ops": sorted(str(op) for op in ops)} for name, ops in plan.libraries]


def plain(value: Any) -> Any:
    """A value as JSON has it: tuples and sets as lists, a secret as ***, inf and nan as text."""
    return _finite(fingerprint.plain(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def setting_value(key: str, value: Any) -> Any:
    """A setting's value as a file would say it: a pin, which is held as pairs, is a mapping."""
    return plain(dict(value) if key == PIN and not isinstance(value, str) else value)


def _config(plan: Plan) -> dict[str, Any]:
    try:
        bag = plan.bag
    except PlanError:
        bag = plan.asked
    return {key: {"value": setting_value(key, value), "origin": bag.origin(key)} for key, value in bag.values().items()}


def _binding(binding: Binding, all: bool) -> dict[str, Any]:
    rejections = binding.rejected if all else binding.first_rejections()
    return {
        "op": binding.op,
        "phase": binding.phase,
        "used": binding.used,
        "provider": binding.provider,
        "variant": binding.variant,
        "target": binding.target,
        "rule": binding.rule,
        "why": binding.why,
        "skipped_because": binding.skipped_because,
        "assumed": list(binding.assumed),
        "rejected": [_rejection(rejection) for rejection in rejections],
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {
        "provider": rejection.provider,
        "code": rejection.code,
        "field": rejection.field,
        "required": plain(rejection.required),
        "actual": plain(rejection.actual),
        "origin": rejection.origin,
        "hint": rejection.hint,
    }
