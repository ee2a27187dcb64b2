"""What a decision rests on: the settings, the facts of the platform and the other decisions that its rule reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from confbag.backends.compare.sides import Side
from confbag.backends.decide.asked import PIN
from confbag.backends.decide.deciders import Decider
from confbag.backends.declare.derived import made_of
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import Slot
from confbag.backends.platforms.components import component
from confbag.backends.words.rejection import Rejection


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
    where = Slot.parse(slot)
    op, deciders = registry.ops.get(where.op), {runs.decider for runs in side.at(slot).runs}
    yield PIN
    for decider in deciders:
        yield from decider.keys
    if op is not None:
        yield from op.settings.get(where.regime, ())
        yield from op.applies.facts_named()
        yield from (op.sites,) if op.sites is not None else ()
    if where.regime == "draft":
        yield "spec.algorithm"
    for known in registry.rules:
        if known.op == where.op and Decider(known.name, rule=True) in deciders:
            yield from known.when.facts_named()
            if known.same_as is not None:
                yield f"{where.op}@{known.same_as}"
    binding = side.binding(slot)
    for row in (member.implementation for member in binding.members) if binding is not None else ():
        yield from (need.fact for need in row.requires.needs)
        if row.requires.device:
            yield "platform.device"
        if row.requires.arch:
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
