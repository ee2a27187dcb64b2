"""The names that only the registry knows: ops, phases and providers, wherever a setting holds one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confbag.backends.decide.asked import PIN, PREFER, REFERENCE_ONLY
from confbag.backends.decide.places import clashes, unknown, wrong
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import Slot
from confbag.errors import Fault
from confbag.words.provenance import AUTO, Setting

RENAMED = "old-name"
"""The rule that writes a provider's new name where somebody wrote an old one."""


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
        known = registry.answering(op.name)
        for key in dict.fromkeys(key for keys in op.settings.values() for key in keys):
            value = values.get(key, AUTO)
            if isinstance(value, str) and value != AUTO and value not in known:
                fault(key, unknown(f"{op.name} backend", value, known))
    for slot, provider in _pairs(values.get(PIN, ())):
        _pin(slot, provider, values, registry, lambda message: fault(PIN, message))
    for told in clashes(_pairs(values.get(PIN, ())), values, registry):
        fault(PIN, told)
    for entry in values.get(PREFER, ()):
        if isinstance(entry, str):
            if entry not in registry.everyone():
                fault(PREFER, unknown("provider", entry, registry.everyone()))
        elif (why := wrong(entry[0], values, registry) or _stranger(entry[0], entry[1], registry)) is not None:
            fault(PREFER, why)
    places = values.get(REFERENCE_ONLY, False)
    for place in () if isinstance(places, bool) else places:
        if (why := wrong(place, values, registry)) is not None:
            fault(REFERENCE_ONLY, why)
    return faults


def renamed(values: Mapping[str, Any], registry: Registry) -> dict[str, str]:
    """The keys that name a provider by an old name -> the name that it has now."""
    found: dict[str, str] = {}
    for op in registry.ops.values():
        aliases = registry.aliases(op.name)
        for key in (key for keys in op.settings.values() for key in keys):
            if values.get(key) in aliases:
                found[key] = aliases[values[key]]
    return found


def old(values: Mapping[str, Any], registry: Registry) -> list[str]:
    """A warning for each old name that is still accepted."""
    warnings = [f"{key}: {values[key]} is an old name; write {new}" for key, new in renamed(values, registry).items()]
    for op in registry.ops.values():
        aliases = registry.aliases(op.name)
        for slot, provider in _pairs(values.get(PIN, ())):
            if Slot.parse(slot).op == op.name and provider in aliases:
                warnings.append(f"{PIN}: {provider} is an old name; write {aliases[provider]}")
    return warnings


def _pairs(pins: Any) -> list[tuple[str, str]]:
    return [(str(slot), str(provider)) for slot, provider in (pins.items() if isinstance(pins, Mapping) else pins)]


def _pin(slot: str, provider: str, values: Mapping[str, Any], registry: Registry, fault: Callable[[str], None]) -> None:
    told = wrong(slot, values, registry) or _stranger(slot, provider, registry)
    if told is not None:
        fault(told)
        return
    place = Slot.parse(slot)
    op, aliases = registry.ops[place.op], registry.aliases(place.op)
    if place.layers is not None:  # it is there to say something else of some layers than the settings say of all
        return
    for one in op.phases if place.phase is None else (place.phase,):
        key, named = next(
            ((key, values.get(key, AUTO)) for key in op.settings.get(one, ()) if values.get(key, AUTO) != AUTO),
            (None, None),
        )
        if isinstance(named, str) and aliases.get(named, named) != aliases.get(provider, provider):
            fault(f"{slot} is pinned to {provider}, but {key} says {named}; write one of them")
            return


def _stranger(slot: str, provider: str, registry: Registry) -> str | None:
    """What to say of a provider that the op of a place does not have."""
    op = Slot.parse(slot).op
    known = registry.answering(op)
    return None if provider in known else unknown(f"provider of {op}", provider, known)
