"""The catalogue of an op as a table of 80 columns, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from confbag.backends.declare.columns import COLUMNS, cell, value_of
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.declare.wanted import Wanted
from confbag.backends.render.catalog_words import LEGEND, machine, marked, notes, proposed, sets, where
from confbag.backends.render.terminal import (
    BLANK,
    BOLD,
    DIM,
    Lines,
    Text,
    columns,
    text_of,
)
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


def table(wanted: Wanted, *, colour: bool = False) -> str:
    """What is asked for, 80 columns wide."""
    return text_of(_table(wanted), colour=colour)


def data(wanted: Wanted) -> str:
    """What is asked for as JSON: a row by the columns of a catalogue file, and whatever of a rule is said."""
    listed = {
        "op": wanted.op,
        "rows": [{column.name: _plain(column.of(row)) for column in COLUMNS} for row in wanted.rows],
        "facts": {name: _plain(condition.data) for name, condition in wanted.registry.named.items()},
        "rules": [
            {
                "name": rule.name,
                "when": _plain(rule.when.data),
                "regimes": list(rule.regimes),
                "up_to": rule.up_to,
                "proposes": rule.propose,
                "same_as": rule.same_as,
                "only": rule.only,
                "fallback": rule.fallback,
                "why": rule.why,
                "plugin": rule.plugin,
            }
            for rule in wanted.rules
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
            for fill in wanted.fills
        ],
    }
    return json.dumps(listed, indent=2) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _table(wanted: Wanted) -> Iterator[Lines | Text]:
    yield columns([[Text(title, BOLD) for title in TITLES]], *WIDTHS)
    yield Text("-" * 80, DIM)
    for row in wanted.rows:
        cells = (
            row.name,
            _short(row.regimes),
            cell(row, "pages"),
            _short(cell(row, "kv").split(", ")),
            marked(cell(row, "topk") or "-", row, "topk"),
            _short(row.requires.features),
            _short(cell(row, "deterministic").split(", ")),
            cell(row, "graph"),
        )
        yield columns([[printable(each) for each in cells]], *WIDTHS)
        kinds = f"{kind} on " if (kind := cell(row, "kind")) else ""
        parts = [kinds + machine(row), *row.requires.components, *row.requires.toolkit, *_terminal_notes(row)]
        yield columns([["", Text(printable("; ".join(parts)), DIM)]], 1)
    if not wanted.rows:
        yield Text("no backend is all of this")
    yield BLANK
    yield columns([[LEGEND.replace("\n", " ")]])
    yield from _section("RULES, IN ORDER: the first whose backend can run decides", _rules(wanted.rules))
    yield from _section("SETTINGS THAT RULES FILL, IN ORDER", _fills(wanted.fills))


def _terminal_notes(row: Implementation) -> Iterator[str]:
    if pages := value_of(row, "topk_pages"):
        yield f"any topk with page {say(pages)}"
    yield from notes(row)


def _short(names: Iterable[str]) -> str:
    return " ".join(SHORT.get(name, name) for name in names if name) or "-"


def _rules(listed: Sequence[Rule]) -> Iterator[tuple[str, str, str]]:
    for rule in listed:
        yield rule.name, proposed(rule), where(rule)


def _fills(listed: Sequence[Fill]) -> Iterator[tuple[str, str, str]]:
    for fill in listed:
        yield fill.name, "", f"{sets(fill)}; where {fill.when}" if fill.when else sets(fill)


def _section(title: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[Lines | Text]:
    listed = [[printable(cell) for cell in row] for row in rows]
    if listed:
        yield BLANK
        yield Text(title, BOLD)
        middle = any(row[1] for row in listed)
        yield columns(([*row] if middle else [row[0], row[2]] for row in listed), *((28, 17) if middle else (28,)))
