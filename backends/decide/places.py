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
    """What is wrong with the sites that a setting holds: what names none, and slips of facts that an op asks for."""
    told = Sites.wrong(value)
    if told is not None:
        yield told
    for name, fact, meant in _unasked(key, value, registry):
        if meant is not None:
            yield f"unknown fact {fact!r} of site {name}; did you mean {meant}?"


def unasked(values: Mapping[str, Any], registry: Registry) -> list[str]:
    """A note for each fact of a site that no op asks for; an engine may keep some for itself."""
    keys = dict.fromkeys(op.sites for op in registry.ops.values() if op.sites is not None)
    found = dict.fromkeys((key, fact) for key in keys for _, fact, _ in _unasked(key, values.get(key), registry))
    return [f"{key}: no op asks its sites for {fact}" for key, fact in found]


def _unasked(key: str, value: Any, registry: Registry) -> Iterator[tuple[str, str, str | None]]:
    """Site, fact, and the one that is missing there and was meant. Where the schema has a class for a site, its fields
    are declared there."""
    known = {fact.partition(".")[2] for op in registry.ops.values() if op.sites == key for fact in op.site_facts}
    sites = Sites.of(value)
    if sites is None or any(has_fields(part.piece) for part in parts(registry.keys[key].annotation)):
        return
    for name, said in sites.facts.items():
        for fact in said:
            if fact not in known:
                yield name, fact, nearest(fact, known - said.keys())


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
