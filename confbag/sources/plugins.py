"""Settings of plug-ins: default values and variable names, data under the entry-point group confbag.settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confbag.errors import Fault
from confbag.provenance import Layer
from confbag.sources import Found
from confbag.sources.entry_points import EntryPoint, entry_points
from confbag.sources.keys import Keys, same, twice

__all__ = ["GROUP", "EntryPoint", "entry_points", "read_plugins"]

GROUP = "confbag.settings"
_PARTS = ("defaults", "environment")


def read_plugins(keys: Keys) -> Found:
    """What every installed plug-in declares: {"defaults": {dotted: value}, "environment": ["CONFBAG__ACME__X"]}.

    Two plug-ins that give one key different defaults contradict each other, whichever is found first: a fault.
    """
    settings: dict[str, Any] = {}
    faults: list[Fault] = []
    variables: list[str] = []
    for point in entry_points(GROUP):
        found = _read(point, keys)
        faults += found.faults
        variables += found.environment
        for setting in found.settings:
            first = settings.setdefault(setting.key, setting)
            if not same(first.value, setting.value):
                faults.append(Fault(setting.origin, setting.key, twice(first.origin, setting.origin)))
    return Found(tuple(settings.values()), tuple(faults), environment=tuple(variables))


def _read(point: EntryPoint, keys: Keys) -> Found:
    origin = f"plugin {point.name}"

    def wrong(message: str) -> Found:
        return Found(faults=(Fault(origin, None, f"{message} (distribution {point.distribution})"),))

    try:
        declared = point.load()
    except (Exception, SystemExit) as error:  # other people's code: whatever it raises, the plug-in is what is broken
        return wrong(f"{point.value} cannot be loaded: {type(error).__name__}: {error}; repair or uninstall it")
    if not isinstance(declared, Mapping):
        return wrong(f"{point.value} must be a mapping with {' and '.join(_PARTS)}, not {type(declared).__name__}")
    if any(part not in _PARTS for part in declared):
        return wrong(f"{point.value} has a part that is neither {' nor '.join(_PARTS)}; remove it")
    defaults, variables = declared.get("defaults", {}), declared.get("environment", ())
    if not isinstance(defaults, Mapping):
        return wrong(f"defaults of {point.value} must be a mapping of keys to values")
    if not isinstance(variables, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in variables):
        return wrong(f"environment of {point.value} must be a list of variable names")
    found = keys.flatten(defaults, lambda path: origin, layer=Layer.PLUGIN)
    return Found(found.settings, found.faults, environment=tuple(sorted(variables)))
