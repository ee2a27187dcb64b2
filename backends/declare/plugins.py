"""Loads the members of the entry-point group `confbag.backends` into a registry: ours first, then vendors' by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

from confbag.backends.declare.registry import PluginFailure, Registry
from confbag.bag.plugins import plugin_settings
from confbag.bag.schemas import find_schema
from confbag.errors import ConfigError, PluginError
from confbag.schema.config import Config
from confbag.schema.identity import OURS, name_of
from confbag.sources import plugins as settings
from confbag.sources.entry_points import EntryPoint, entry_points, hidden_points
from confbag.sources.plugin_trial import LOADING, NAMED, aside, lock, named, refusals, said
from confbag.words.text import listed

GROUP = "confbag.backends"


def installed(schema: type[Config] = Config) -> Registry:
    """`Registry.installed`: made once for each schema and value of CONFBAG_PLUGINS."""
    with lock:
        # Never kept while a plug-in is loaded: what it is told then is not what others are told afterwards.
        return load(named(), schema) if LOADING in os.environ else _installed(named(), schema)


@lru_cache(maxsize=8)
def _installed(named: tuple[str, ...] | None, schema: type[Config]) -> Registry:  # ratchet: allow CB121 -- its keys
    return load(named, schema)


def load(named: Sequence[str] | None = None, schema: type[Config] = Config) -> Registry:
    """A fresh registry from the installed entry points; `named` as in CONFBAG_PLUGINS."""
    ours, vendors, clashes = _sorted_out(entry_points(GROUP))
    with_settings = {point.name: point.distribution for point in entry_points(settings.GROUP)}
    hidden = {point.name for group in (GROUP, settings.GROUP) for point in hidden_points(group)}
    missing = [name for name in named or () if name not in {OURS, *vendors, *with_settings, *hidden}]
    if missing:
        known = listed(sorted({OURS, *vendors, *with_settings}))
        raise PluginError(f"{NAMED} names {', '.join(missing)}, which is not installed; installed are {known}")
    registry = Registry(schema)
    registry.discovered = with_settings if named is None else {}
    _load_one(registry, ours, None, fatal=True)
    if LOADING in os.environ:  # a plug-in asks for the registry while it is loaded: loading it for that would not end
        return registry
    chosen = [point for name, point in vendors.items() if named is None or name in named]
    refused = refusals(chosen, f"{__name__}:attempt", schema=name_of(schema), afresh=named is not None)
    for point in chosen:
        _load_one(registry, point, refused.get(point), fatal=named is not None)
    for failure in plugin_settings(schema).failures:
        _failed(registry, failure.point, f"its settings: {failure.problem}", fatal=named is not None)
    for point in (*hidden_points(GROUP), *hidden_points(settings.GROUP)):
        why = f"another {point.distribution} is found first ({point.hidden_by}) and has no such plug-in; uninstall it"
        _failed(registry, point, why, fatal=named is not None and point.name in named)
    for point in clashes:
        if named is not None and point.name in named:
            raise PluginError(f"{NAMED} names {point.name}, which two installed distributions declare; uninstall one")
        other = vendors[point.name].distribution if point.name in vendors else OURS
        _failed(registry, point, f"{other} declares a plug-in of this name too", fatal=False)
    return registry


def attempt(register: Callable[[Registry], Any], name: str, schema: str) -> None:
    """What a child does to try a plug-in: register it beside ours."""
    ours, _, _ = _sorted_out(entry_points(GROUP))
    registry = Registry(Config if schema == OURS else _schema(schema))
    _load_one(registry, ours, None, fatal=True)
    registry._plugin = name
    register(registry)
    registry.check()


def _schema(name: str) -> type[Config]:
    """The schema of that name; Config where only the parent's process has it."""
    try:
        return find_schema(name)
    except ConfigError:
        return Config


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


def _load_one(registry: Registry, point: EntryPoint, refused: str | None, *, fatal: bool) -> None:
    """Let one plug-in register; refused: why it must not even be loaded."""
    if refused is not None:
        _failed(registry, point, refused, fatal=fatal)
        return
    before = _contents(registry)
    rows = [(op, list(op.implementations)) for op in registry.ops.values()]
    registry._plugin = None if point.name == OURS else point.name
    try:
        with nullcontext() if registry._plugin is None else aside():
            point.load()(registry)
        registry.check(tested=registry._plugin is None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # other people's code: SystemExit too
        vars(registry).update(before)
        for op, declared in rows:  # an op is shared, by every registry that has it
            op.implementations[:] = declared
        _failed(registry, point, said(error), fatal=fatal, cause=error)
    finally:
        registry._plugin = None


def _failed(
    registry: Registry, point: EntryPoint, why: str, *, fatal: bool, cause: BaseException | None = None
) -> None:
    if fatal:
        raise PluginError(f"plug-in {point.name} ({point.distribution}) cannot be loaded: {why}") from cause
    registry.failures.append(PluginFailure(point.name, point.distribution, why))


def _contents(registry: Registry) -> dict[str, object]:
    """What a registry holds, so that a plug-in that fails half-way leaves nothing behind."""
    return {name: _copied(value) for name, value in vars(registry).items()}


def _copied(value: Any) -> Any:
    """Dictionaries and lists anew, all the way down to what they hold."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
