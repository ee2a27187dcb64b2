"""The names that only the registry knows: ops, phases and providers, wherever a setting holds one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confbag.backends.choose import PIN, PREFER
from confbag.backends.registry import Registry
from confbag.errors import Fault
from confbag.provenance import AUTO, Setting
from confbag.suggest import nearest


def check(values: Mapping[str, Any], setting: Callable[[str], Setting | None], registry: Registry) -> list[Fault]:
    """Every name that no op or provider answers to, and pins that contradict a setting, each where it was written.

    values: dotted key -> value, as far as they could be understood. setting: the winning setting of a key, None when
    there is none.
    """
    faults: list[Fault] = []

    def fault(key: str, message: str) -> None:
        found = setting(key)
        faults.append(Fault(None if found is None else found.origin, key, message))

    for op in registry.ops.values():
        known = {*registry.providers(op.name), *registry.aliases(op.name)}
        for key in dict.fromkeys(key for keys in op.settings.values() for key in keys):
            value = values.get(key, AUTO)
            if isinstance(value, str) and value != AUTO and value not in known:
                fault(key, unknown(f"{op.name} backend", value, known))
    for slot, provider in _pairs(values.get(PIN, ())):
        _pin(slot, provider, values, registry, lambda message: fault(PIN, message))
    everyone = {provider for op in registry.ops for provider in registry.providers(op)}
    for provider in values.get(PREFER, ()):
        if isinstance(provider, str) and provider not in everyone:
            fault(PREFER, unknown("provider", provider, everyone))
    return faults


def old(values: Mapping[str, Any], registry: Registry) -> list[str]:
    """A warning for each old name that is still accepted."""
    warnings = []
    for op in registry.ops.values():
        aliases = registry.aliases(op.name)
        for key in dict.fromkeys(key for keys in op.settings.values() for key in keys):
            if values.get(key) in aliases:
                warnings.append(f"{key}: {values[key]} is an old name; write {aliases[values[key]]}")
        for slot, provider in _pairs(values.get(PIN, ())):
            if slot.partition("@")[0] == op.name and provider in aliases:
                warnings.append(f"{PIN}: {provider} is an old name; write {aliases[provider]}")
    return warnings


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown WHAT 'name'; did you mean NEAREST?`, or the list where nothing is near."""
    ordered = sorted(known)
    hint = nearest(name, ordered)
    return f"unknown {what} {name!r}; " + (f"did you mean {hint}?" if hint else f"write one of {', '.join(ordered)}")


def _pairs(pins: Any) -> list[tuple[str, str]]:
    return [(str(slot), str(provider)) for slot, provider in (pins.items() if isinstance(pins, Mapping) else pins)]


def _pin(slot: str, provider: str, values: Mapping[str, Any], registry: Registry, fault: Callable[[str], None]) -> None:
    name, at, phase = slot.partition("@")
    op = registry.ops.get(name)
    if op is None:
        fault(unknown("op", name, registry.ops))
        return
    if at and phase not in op.phases:
        fault(
            unknown(f"phase of {name}", phase, op.phases)
            if op.phases
            else f"{name} has no phases; write {name!r} without @{phase}"
        )
        return
    aliases = registry.aliases(name)
    if provider not in registry.providers(name) and provider not in aliases:
        fault(unknown(f"provider of {name}", provider, {*registry.providers(name), *aliases}))
        return
    for one in (phase,) if at else op.phases:
        key, named = next(
            ((key, values.get(key, AUTO)) for key in op.settings.get(one, ()) if values.get(key, AUTO) != AUTO),
            (None, None),
        )
        if isinstance(named, str) and aliases.get(named, named) != aliases.get(provider, provider):
            fault(f"{slot} is pinned to {provider}, but {key} says {named}; write one of them")
            return
