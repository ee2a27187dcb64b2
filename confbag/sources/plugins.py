"""Settings of plug-ins: default values and variable names, data under the entry-point group confbag.settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from confbag.sources import Found
from confbag.sources.entry_points import EntryPoint, entry_points
from confbag.sources.env import OWN, known_key, near_miss
from confbag.sources.keys import Keys
from confbag.sources.plugin_trial import LOADING, aside, lock, named, refusals, said
from confbag.words.provenance import Layer

GROUP = "confbag.settings"
_PARTS = ("defaults", "environment", "schema")


class Declared(NamedTuple):
    """What one plug-in's settings say, with the faults of its keys; or `problem`, why nothing of it can be read."""

    point: EntryPoint
    found: Found = Found()
    problem: str | None = None


def read_plugins(keys: Keys) -> tuple[Declared, ...]:
    """What every installed plug-in declares, by name: {"defaults": {dotted: value}, "environment":
    ["CONFBAG__ACME__X"], "schema": "package.module:Class"}.

    With a schema it speaks only where that one, or one made from it, is what is read. With CONFBAG_PLUGINS only those
    that it names are read.
    """
    return tuple(
        Declared(point, problem=problem) if problem is not None else _read(point, declared, keys)
        for point, declared, problem in _loaded()
    )


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


def _read(point: EntryPoint, declared: Any, keys: Keys) -> Declared:
    origin = f"plugin {point.name}"

    def wrong(problem: str) -> Declared:
        return Declared(point, problem=problem)

    if not isinstance(declared, Mapping):
        return wrong(f"{point.value} must be a mapping with {' and '.join(_PARTS)}, not {type(declared).__name__}")
    if any(part not in _PARTS for part in declared):
        return wrong(f"{point.value} has a part that is none of {', '.join(_PARTS)}; remove it")
    defaults, variables = declared.get("defaults", {}), declared.get("environment", ())
    schema = declared.get("schema")
    if not isinstance(defaults, Mapping):
        return wrong(f"defaults of {point.value} must be a mapping of keys to values")
    if not isinstance(variables, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in variables):
        return wrong(f"environment of {point.value} must be a list of variable names")
    if schema is not None and not isinstance(schema, str):
        return wrong(f"schema of {point.value} must be the text package.module:Class")
    if schema is not None and schema not in keys.schemas:
        return Declared(point)
    taken = sorted(name for name in variables if name in OWN or known_key(name, keys))
    if taken:
        return wrong(f"environment of {point.value} names {taken[0]}, which is confbag's own; leave it out")
    for name in sorted(variables):
        if (meant := near_miss(name, keys)) is not None:
            return wrong(f"environment of {point.value} names {name}, which would hide a slip for {meant}; rename it")
    found = keys.flatten(defaults, lambda path: origin, layer=Layer.PLUGIN)
    return Declared(point, Found(found.settings, found.faults, environment=tuple(sorted(variables))))
