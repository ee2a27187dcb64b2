"""Loads the members of the entry-point group `confbag.backends` into a registry: ours first, then vendors' by name."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from functools import lru_cache

from confbag.backends.registry import PluginFailure, Registry
from confbag.errors import PluginError
from confbag.sources.entry_points import EntryPoint, entry_points

GROUP = "confbag.backends"
OURS = "confbag"
NAMED = "CONFBAG_PLUGINS"


def installed() -> Registry:
    """The registry of this installation, made once for each value of CONFBAG_PLUGINS.

    CONFBAG_PLUGINS names plug-ins, separated by commas: only those are loaded, and one that is missing or fails raises
    PluginError. Without it every installed plug-in is loaded, and one that fails is kept in `registry.failures`, which
    every plan shows.
    """
    named = os.environ.get(NAMED)
    return _installed(None if named is None else tuple(filter(None, (name.strip() for name in named.split(",")))))


@lru_cache(maxsize=4)
def _installed(named: tuple[str, ...] | None) -> Registry:
    return load(named)


def load(named: Sequence[str] | None = None) -> Registry:
    """A fresh registry from the installed entry points; `named` as in CONFBAG_PLUGINS."""
    ours, vendors, clashes = _sorted_out(entry_points(GROUP))
    missing = [name for name in named or () if name != OURS and name not in vendors]
    if missing:
        known = ", ".join(sorted({OURS, *vendors}))
        raise PluginError(f"{NAMED} names {', '.join(missing)}, which is not installed; installed are {known}")
    registry = Registry()
    _load_one(registry, ours, fatal=True)
    for name, point in vendors.items():
        if named is None or name in named:
            _load_one(registry, point, fatal=named is not None)
    for point in clashes:
        if named is not None and point.name in named:
            raise PluginError(f"{NAMED} names {point.name}, which two installed distributions declare; uninstall one")
        other = vendors[point.name].distribution if point.name in vendors else OURS
        registry.failures.append(
            PluginFailure(point.name, point.distribution, f"{other} declares a plug-in of this name too")
        )
    return registry


def _sorted_out(points: Sequence[EntryPoint]) -> tuple[EntryPoint, dict[str, EntryPoint], list[EntryPoint]]:
    """Our own member, the vendors' by name, and those whose name another distribution already has."""
    ours = next((point for point in points if point.name == OURS and point.distribution == OURS), None)
    if ours is None:
        raise PluginError(f"no entry point {OURS!r} in group {GROUP}: confbag is not installed; run 'pip install -e .'")
    vendors: dict[str, EntryPoint] = {}
    clashes: list[EntryPoint] = []
    for point in sorted(points, key=lambda point: (point.name, point.distribution)):
        if point is ours:
            continue
        if point.name == OURS or point.name in vendors:
            clashes.append(point)
        else:
            vendors[point.name] = point
    return ours, vendors, clashes


def _load_one(registry: Registry, point: EntryPoint, *, fatal: bool) -> None:
    before = _contents(registry)
    registry._plugin = None if point.name == OURS else point.name
    try:
        point.load()(registry)
        registry.check()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        if fatal:
            raise PluginError(f"plug-in {point.name} ({point.distribution}) cannot be loaded: {why}") from error
        _restore(registry, before)
        registry.failures.append(PluginFailure(point.name, point.distribution, why))
    finally:
        registry._plugin = None


def _contents(registry: Registry) -> dict[str, object]:
    """What a registry holds, so that a plug-in that fails half-way leaves nothing behind."""
    return {
        key: {op: list(rows) for op, rows in value.items()} if key == "_rows" else copy.copy(value)
        for key, value in vars(registry).items()
    }


def _restore(registry: Registry, contents: dict[str, object]) -> None:
    vars(registry).update(contents)
