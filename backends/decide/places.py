"""What is wrong with the places that settings name: ops, phases and layers that are not there, and pins that clash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import FORMS, Layers, Slot
from confbag.backends.words.rejection import say
from confbag.words.suggest import nearest


def wrong(text: str, values: Mapping[str, Any], registry: Registry) -> str | None:
    """What to say about a place that is none; None for one that is.

    values: dotted key -> value, as far as they could be understood.
    """
    slot = Slot.parse(text)
    op = registry.ops.get(slot.op)
    if op is None:
        return unknown("op", slot.op, registry.ops) if slot.op else f"{text!r} names no op; {FORMS}"
    if slot.phase is not None and slot.phase not in op.phases:
        if op.phases:
            return unknown(f"phase of {op.name}", slot.phase, op.phases)
        return f"{op.name} has no phases; write {op.name!r} without @{slot.phase}"
    if slot.layers is None:
        return None
    if op.layers is None:
        return f"{op.name} declares no layers; write {text.partition('/')[0]!r} without /{slot.layers}"
    layers = Layers.of(values.get(op.layers))
    if layers is None:
        held = say(values.get(op.layers))
        return f"{op.layers} is {held}, so no layer of {op.name} can be named; set it to their number or their names"
    missing = layers.missing(slot.layers)
    return f"{text} names no layer by {' and '.join(missing)}; {op.name} has {layers}" if missing else None


def clashes(pins: Sequence[tuple[str, str]], values: Mapping[str, Any], registry: Registry) -> Iterator[str]:
    """Two pins that name one layer and say as much of it as each other, to different providers."""
    layered = [(text, Slot.parse(text), provider) for text, provider in pins if "/" in text]
    for (one, mine, first), (other, theirs, second) in combinations(layered, 2):
        op = registry.ops.get(mine.op)
        if op is None or first == second or (mine.op, mine.phase) != (theirs.op, theirs.phase):
            continue
        layers = Layers.of(values.get(op.layers or ""))
        if layers is not None:
            theirs_too = layers.chosen(theirs.layers or "")
            both = [name for name in layers.chosen(mine.layers or "") if name in theirs_too]
            if both:
                yield f"{one} and {other} both pin {layers.spell(both)}, to {first} and to {second}; pin a layer once"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown WHAT 'name'; did you mean NEAREST?`, or the list where nothing is near."""
    ordered = sorted(known)
    hint = nearest(name, ordered)
    return f"unknown {what} {name!r}; " + (f"did you mean {hint}?" if hint else f"write one of {', '.join(ordered)}")
