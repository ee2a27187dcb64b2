"""What a decision rests on: the settings, the facts of the platform and the other decisions that its rule reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from confbag.backends.compare.sides import Side
from confbag.backends.decide.asked import PIN, PREFER, REFERENCE_ONLY
from confbag.backends.decide.choose import FALLBACK
from confbag.backends.declare.derived import made_of
from confbag.backends.declare.registry import Registry
from confbag.backends.platforms.components import component
from confbag.backends.words.rejection import Rejection

_KEYS = {"pin": (PIN,), "prefer": (PREFER,), "fallback": (FALLBACK,), REFERENCE_ONLY: (REFERENCE_ONLY,)}
"""A step of the choice -> the keys that it reads."""


def deciding(side: Side, slot: str, registry: Registry) -> frozenset[str]:
    """The names of everything that decided a slot on this side. A lock knows its rules by name: registry holds them."""
    plan = side.plan
    known = registry if plan is None else plan.registry
    return frozenset(_underlying(known, _read(side, slot, known)))


def failing(rejection: Rejection) -> Iterator[str]:
    """The names of what failed in a rejection, as a diff calls it."""
    if rejection.code == "toolchain":
        yield f"platform.toolkit.{rejection.field}"
    elif rejection.code in ("package-missing", "package-version"):
        yield from _packages(rejection.field)
    elif rejection.code == "op-missing":
        yield "platform.native_ops"
    else:
        yield from made_of(rejection.field)


def _read(side: Side, slot: str, registry: Registry) -> Iterator[str]:
    """The facts that were read, some of them derived."""
    place = slot.partition("/")[0]
    name, _, phase = place.partition("@")
    op, rule = registry.ops.get(name), side.at(slot).rule
    yield PIN
    yield from _KEYS.get(rule or "", ())
    if op is not None:
        yield from op.settings.get(phase or None, ())
        yield from op.applies.facts_named()
    if phase == "draft":
        yield "spec.algorithm"
    for known in registry.rules:
        if known.op == name and known.name == rule:
            yield from known.when.facts_named()
            if known.same_as is not None:
                yield f"{name}@{known.same_as}"
    binding = side.binding(slot)
    if binding is not None and binding.implementation is not None:
        requires = binding.implementation.requires
        yield from (need.fact for need in requires.needs)
        if requires.device:
            yield "platform.device"
        if requires.arch:
            yield "platform.arch"


def _underlying(registry: Registry, facts: Iterable[str]) -> Iterator[str]:
    """What derived facts are derived from, down to settings, facts of the platform and decisions."""
    for fact in facts:
        if fact in registry.named:
            yield from _underlying(registry, registry.named[fact].facts_named())
        elif fact.startswith("component."):
            yield from _packages(fact.removeprefix("component."))
        else:
            yield from made_of(fact)


def _packages(name: str) -> Iterator[str]:
    return (f"platform.packages.{distribution}" for distribution in component(name).distributions)
