"""Settings of plug-ins: default values and variable names, data under the entry-point group confbag.settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.entry_points import EntryPoint, entry_points
from confbag.sources.keys import Keys, same, twice
from confbag.sources.plugin_trial import LOADING, aside, lock, named, refusals, said
from confbag.words.provenance import Layer

__all__ = ["GROUP", "EntryPoint", "entry_points", "failed", "read_plugins"]

GROUP = "confbag.settings"
_PARTS = ("defaults", "environment")


def read_plugins(keys: Keys) -> Found:
    """What every installed plug-in declares: {"defaults": {dotted: value}, "environment": ["CONFBAG__ACME__X"]}.

    Two plug-ins that give one key different defaults contradict each other, whichever is found first: a fault. With
    CONFBAG_PLUGINS only those that it names are read, and one that cannot be loaded is a fault; without it such a one
    is left out with a logged warning, and is a row of every plan.
    """
    settings: dict[str, Any] = {}
    faults: list[Fault] = []
    variables: list[str] = []
    for point, declared, problem in _loaded():
        if problem is not None:
            if named() is not None:
                faults.append(_wrong(point, f"{point.value} cannot be loaded: {problem}; repair or uninstall it"))
            elif (point, problem) not in _told:
                _told.add((point, problem))  # ratchet: allow CB121 -- a plug-in that fails is told of once a process
                _log(f"plug-in {point.name} ({point.distribution}): its settings are left out: {problem}")
            continue
        found = _read(point, declared, keys)
        faults += found.faults
        variables += found.environment
        for setting in found.settings:
            first = settings.setdefault(setting.key, setting)
            if not same(first.value, setting.value):
                faults.append(Fault(setting.origin, setting.key, twice(first.origin, setting.origin)))
    return Found(tuple(settings.values()), tuple(faults), environment=tuple(variables))


def failed() -> tuple[tuple[EntryPoint, str], ...]:
    """The plug-ins whose settings cannot be loaded, each with the reason."""
    return tuple((point, problem) for point, _, problem in _loaded() if problem is not None)


def _loaded() -> list[tuple[EntryPoint, Any, str | None]]:
    """Each plug-in's object, or why there is none."""
    with lock:
        return list(_load_each())


def _load_each() -> Iterator[tuple[EntryPoint, Any, str | None]]:
    points = [] if LOADING in os.environ else list(entry_points(GROUP))
    asked = named()
    if asked is not None:
        points = [point for point in points if point.name in asked]
    refused = refusals(points, afresh=asked is not None) if points else {}
    for point in points:
        if point in refused:
            yield point, None, refused[point]
            continue
        try:
            with aside():
                declared = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # other people's code: whatever it raises, the plug-in is what is broken
            yield point, None, said(error)
        else:
            yield point, declared, None


_told: set[tuple[EntryPoint, str]] = set()


def _log(message: str) -> None:
    import logging  # here: only a plug-in that fails needs it

    logging.getLogger("confbag").warning(message)


def _wrong(point: EntryPoint, message: str) -> Fault:
    return Fault(f"plugin {point.name}", None, f"{message} (distribution {point.distribution})")


def _read(point: EntryPoint, declared: Any, keys: Keys) -> Found:
    origin = f"plugin {point.name}"

    def wrong(message: str) -> Found:
        return Found(faults=(_wrong(point, message),))

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
