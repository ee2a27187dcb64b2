"""What somebody asked for at one place: a provider by setting or pin, the reference, providers to take first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confbag.backends.decide.check import Situation
from confbag.backends.declare.op import Op
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import Slot
from confbag.words.provenance import AUTO

PIN = "exec.kernels.pin"
PREFER = "exec.kernels.prefer"
REFERENCE_ONLY = "exec.kernels.reference_only"


@dataclass(frozen=True, slots=True)
class Named:
    """A provider that somebody named, the key that names it, and whether the key names it for every phase."""

    provider: str
    key: str
    shared: bool


def named(op: Op, phase: str | None, situation: Situation, registry: Registry) -> Named | None:
    """The provider that a setting or a pin names for this op and phase; None when nobody named one."""
    pins: Sequence[tuple[str, str]] = situation.facts[PIN]
    if pins and situation.layer is not None:
        found = _pinned(op, phase, situation, registry, pins, layered=True)
        if found is not None:
            return found
    keys = op.settings.get(phase, ())
    for place, key in enumerate(keys):
        value = situation.facts[key]
        if value not in (AUTO, None):
            shared = place > 0 and len(op.phases) > 1
            return Named(registry.aliases(op.name).get(value, value), key, shared)
    return _pinned(op, phase, situation, registry, pins, layered=False) if pins else None


def _pinned(
    op: Op,
    phase: str | None,
    situation: Situation,
    registry: Registry,
    pins: Sequence[tuple[str, str]],
    *,
    layered: bool,
) -> Named | None:
    """The pin that says most: of those that name layers, or of those that do not, one of the phase before another."""
    best: tuple[Slot, str] | None = None
    for text, provider in pins:
        slot = Slot.parse(text)
        if (slot.layers is not None) is layered and _covers(slot, op, phase, situation):
            best = (slot, provider) if best is None or slot.weight > best[0].weight else best
    if best is None:
        return None
    slot, provider = best
    return Named(registry.aliases(op.name).get(provider, provider), PIN, slot.phase is None and bool(op.phases))


def _covers(slot: Slot, op: Op, phase: str | None, situation: Situation) -> bool:
    return slot.covers(op.name, phase, situation.layer, counted=situation.counted)


def reference_asked(op: Op, phase: str | None, situation: Situation) -> bool:
    asked = situation.facts[REFERENCE_ONLY]
    if isinstance(asked, bool):
        return asked
    return any(_covers(Slot.parse(text), op, phase, situation) for text in asked)


def preferred(op: Op, phase: str | None, situation: Situation, registry: Registry) -> Iterator[str]:
    """The providers to take first here, best first."""
    for entry in situation.facts[PREFER]:
        if isinstance(entry, str):
            yield entry
        elif _covers(Slot.parse(entry[0]), op, phase, situation):
            yield registry.aliases(op.name).get(entry[1], entry[1])


def asked(op: Op, phase: str | None, situation: Situation, registry: Registry) -> tuple[Any, ...]:
    """All that somebody asked for this place; two places of one op and phase that ask alike are decided alike."""
    return (
        named(op, phase, situation, registry),
        reference_asked(op, phase, situation),
        tuple(preferred(op, phase, situation, registry)),
    )
