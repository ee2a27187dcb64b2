"""What is wrong with the places that settings name: ops, regimes and sites that are not there, and pins that clash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import FORMS, Sites, Slot
from confbag.backends.words.rejection import say
from confbag.schema.holdable import has_fields, parts
from confbag.words.suggest import nearest
from confbag.words.text import listed


def wrong(text: str, values: Mapping[str, Any], registry: Registry) -> str | None:
    """What to say about a place that is none; None for one that is.

    values: dotted key -> value, as far as they could be understood.
    """
    slot = Slot.parse(text)
    op = registry.ops.get(slot.op)
    if op is None:
        return unknown("op", slot.op, registry.ops) if slot.op else f"{text!r} names no op; {FORMS}"
    if slot.regime is not None and slot.regime not in op.regime_names:
        known = [name for name in op.regime_names if name is not None]
        if known:
            return unknown(f"{op.kind_of_regime} of {op.name}", slot.regime, known)
        return f"{op.name} has no {op.kind_of_regime}s; write {op.name!r} without @{slot.regime}"
    if slot.site is None:
        return None
    if op.sites is None:
        return f"{op.name} declares no sites; write {text.partition('/')[0]!r} without /{slot.site}"
    sites = Sites.of(values.get(op.sites))
    if sites is None:
        held = say(values.get(op.sites))
        return f"{op.sites} is {held}, so no site of {op.name} can be named; set it to their number or their names"
    missing = sites.missing(slot.site)
    return f"{text} names no site by {' and '.join(missing)}; {op.name} has {sites}" if missing else None


def wrong_sites(key: str, value: Any, registry: Registry) -> Iterator[str]:
    """What is wrong with the sites that a setting holds: what names none, and facts that no op asks of them. Where the
    schema has a class for a site, its fields are declared there."""
    told = Sites.wrong(value)
    if told is not None:
        yield told
        return
    known = {fact.partition(".")[2] for op in registry.ops.values() if op.sites == key for fact in op.site_facts}
    sites = Sites.of(value)
    if sites is None or not known or any(has_fields(part.piece) for part in parts(registry.keys[key].annotation)):
        return
    for name, said in sites.facts.items():
        for fact in said:
            if fact not in known:
                yield unknown(f"fact of site {name},", fact, known)


def clashes(pins: Sequence[tuple[str, str]], values: Mapping[str, Any], registry: Registry) -> Iterator[str]:
    """Two pins that name one site and say as much of it as each other, to different providers."""
    sited = [(text, Slot.parse(text), provider) for text, provider in pins if "/" in text]
    for (one, mine, first), (other, theirs, second) in combinations(sited, 2):
        op = registry.ops.get(mine.op)
        if op is None or first == second or (mine.op, mine.regime) != (theirs.op, theirs.regime):
            continue
        sites = Sites.of(values.get(op.sites or ""))
        if sites is not None:
            theirs_too = sites.chosen(theirs.site or "")
            both = [name for name in sites.chosen(mine.site or "") if name in theirs_too]
            if both:
                yield f"{one} and {other} both pin {sites.spell(both)}, to {first} and to {second}; pin a site once"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown WHAT 'name'; did you mean NEAREST?`, or the list where nothing is near."""
    ordered = sorted(known)
    hint = nearest(name, ordered)
    return f"unknown {what} {name!r}; " + (f"did you mean {hint}?" if hint else f"write one of {listed(ordered)}")
