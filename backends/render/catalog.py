"""The catalogue of an op as a table of 80 columns, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from confbag.backends.declare.columns import Entry, Wanted, captured, entries, fills, rules
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.render.catalog_words import (
    LEGEND,
    cache_dtypes,
    invariant_in,
    machine,
    marked,
    notes,
    page_sizes,
    proposed,
    sets,
    where,
)
from confbag.backends.render.terminal import BLANK, BOLD, DIM, columns, text_of
from confbag.backends.words.rejection import say
from confbag.words.text import printable

WIDTHS = (22, 6, 13, 8, 5, 8, 5)
"""Backend, phases, pages, KV, branches, features, batch invariant; graph takes what is left."""
TITLES = ("BACKEND", "PHASES", "PAGES", "KV", "TOPK", "FEATURES", "DET", "GRAPH")
SHORT = {
    "prefill": "p",
    "decode": "d",
    "draft": "s",
    "window": "W",
    "sinks": "S",
    "multimodal": "M",
    "encoder_decoder": "E",
    "fp8_e4m3": "e4m3",
    "fp8_e5m2": "e5m2",
    "fp4_e2m1": "fp4",
}


def table(registry: Registry, op: str, wanted: Wanted, *, colour: bool = False) -> str:
    """What is asked for, 80 columns wide."""
    return text_of(_table(registry, op, wanted), colour=colour)


def data(registry: Registry, op: str, wanted: Wanted) -> str:
    """What is asked for as JSON."""
    listed = {
        "op": op,
        "rows": [asdict(entry) for entry in entries(registry, op, wanted)],
        "facts": {name: _plain(condition.data) for name, condition in registry.named.items()},
        "rules": [
            {
                "name": rule.name,
                "when": _plain(rule.when.data),
                "phases": list(rule.phases),
                "proposes": rule.propose,
                "same_as": rule.same_as,
                "only": rule.only,
                "fallback": rule.fallback,
                "why": rule.why,
                "plugin": rule.plugin,
            }
            for rule in rules(registry, op, wanted)
        ],
        "settings": [
            {
                "name": fill.name,
                "after": fill.after,
                "when": _plain(fill.when.data),
                "set": _plain(fill.set),
                "environment": dict(fill.environment),
                "force": fill.force,
                "why": fill.why,
                "plugin": fill.plugin,
            }
            for fill in fills(registry, op, wanted)
        ],
    }
    return json.dumps(listed, indent=2) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _table(registry: Registry, op: str, wanted: Wanted) -> Iterator[Table | Text]:
    shown = entries(registry, op, wanted)
    yield columns([[Text(title, BOLD) for title in TITLES]], *WIDTHS)
    yield Text("-" * 80, DIM)
    for entry in shown:
        cells = (
            entry.name,
            _short(entry.phases),
            page_sizes(entry),
            _short(cache_dtypes(entry).split()),
            marked(str(entry.topk or "-"), entry, "topk"),
            _short(entry.features),
            _short(invariant_in(entry)),
            "yes" if captured(entry) else "no",
        )
        yield columns([[printable(cell) for cell in cells]], *WIDTHS)
        kinds = f"{', '.join(entry.kinds)} on " if entry.kinds else ""
        parts = [kinds + machine(entry), *entry.components, *entry.toolkit, *_terminal_notes(entry)]
        yield columns([["", Text(printable("; ".join(parts)), DIM)]], 1)
    if not shown:
        yield Text("no backend is all of this")
    yield BLANK
    yield columns([[LEGEND.replace("\n", " ")]])
    yield from _section("RULES, IN ORDER: the first whose backend can run decides", _rules(rules(registry, op, wanted)))
    yield from _section("SETTINGS THAT RULES FILL, IN ORDER", _fills(fills(registry, op, wanted)))


def _terminal_notes(entry: Entry) -> Iterator[str]:
    if entry.topk_pages:
        yield f"any topk with page {say(entry.topk_pages)}"
    yield from notes(entry)


def _short(names: Iterable[str]) -> str:
    return " ".join(SHORT.get(name, name) for name in names) or "-"


def _rules(listed: Sequence[Rule]) -> Iterator[tuple[str, str, str]]:
    for rule in listed:
        yield rule.name, proposed(rule), where(rule)


def _fills(listed: Sequence[Fill]) -> Iterator[tuple[str, str, str]]:
    for fill in listed:
        yield fill.name, "", f"{sets(fill)}; where {fill.when}" if fill.when else sets(fill)


def _section(title: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[Table | Text]:
    listed = [[printable(cell) for cell in row] for row in rows]
    if listed:
        yield BLANK
        yield Text(title, BOLD)
        middle = any(row[1] for row in listed)
        yield columns(([*row] if middle else [row[0], row[2]] for row in listed), *((28, 17) if middle else (28,)))
