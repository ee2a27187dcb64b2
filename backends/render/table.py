"""A plan as a table of 80 columns: the decisions, what they bring with them, and last what to act upon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from confbag.backends.render.page import Group, Page, page
from confbag.backends.render.terminal import (
    BAD,
    BLANK,
    BOLD,
    DIM,
    GOOD,
    WARNING,
    WIDTH,
    Lines,
    Text,
    against,
    columns,
    labelled,
    text_of,
)
from confbag.words.text import count

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan

SLOT, IMPLEMENTATION = 29, 21
"""Column widths. The longest slot of ours, `dsv4.sparse_attention@prefill`, has 29 characters."""
HEAD = 10
REASON = 9
KEY, VALUE = 28, 12


def render(plan: Plan, *, all: bool = False, colour: bool = False) -> str:
    """The plan's table; with `all` every reason against every provider."""
    return text_of(_parts(page(plan, all=all)), colour=colour)


def _parts(shown: Page) -> Iterator[Lines | Text]:
    yield labelled(shown.head, HEAD)
    yield BLANK
    yield columns([[Text(title, BOLD) for title in ("OP", "IMPLEMENTATION", "DECIDED BY")]], SLOT, IMPLEMENTATION)
    yield Text("-" * WIDTH, DIM)
    for group in shown.groups:
        yield from _group(group)
    yield from _section("NOT USED HERE", columns(_indented(shown.unused), 1, SLOT))
    yield from _section("SETTINGS THAT RULES FILLED", _filled(shown.filled))
    yield from _section("ENVIRONMENT THAT BIND SETS", columns(_indented(shown.environment), 1, SLOT))
    yield from _section("NATIVE LIBRARIES", columns(_indented(shown.libraries), 1, SLOT))
    yield from _section("NOT UNDERSTOOD", columns(_indented(shown.ignored), 1, SLOT))
    yield from _section("NOTES", columns((("", "-", text) for text in shown.notes), 1, 1))
    yield from _section("NOT ARRANGED FOR DETERMINISM", columns(_indented(shown.not_arranged), 1, SLOT))
    yield from _section("NOT COVERED BY THIS PLAN", columns((("", "-", text) for text in shown.not_covered), 1, 1))
    yield from _section("WARNINGS", columns((("", "!", text) for text in shown.warnings), 1, 1), WARNING)
    title = f"NOTHING SATISFIES THIS PLAN ({count(len(shown.faults), 'fault')})"
    yield from _section(title, columns(_faults(shown), 1, SLOT), BAD)


def _group(group: Group) -> Iterator[Lines]:
    yield columns(
        (
            (slot, Text(implementation, BAD if implementation == "nothing" else GOOD), decided)
            for slot, implementation, decided in group.rows
        ),
        SLOT,
        IMPLEMENTATION,
    )
    yield columns(((Text(f"  {label}", DIM), text) for label, text in _reasons(group)), REASON)


def _reasons(group: Group) -> Iterator[tuple[str, str | Text]]:
    if group.because:
        yield "because", group.because
    if group.assumed:
        yield "assumed", ", ".join(group.assumed)
    for one in group.against:
        yield "not", against(*one)


def _filled(filled: Iterable[tuple[str, str, str]]) -> Lines:
    """The settings, those that one rule filled for one reason together beside it."""
    together: dict[str, list[tuple[str, str]]] = {}
    for key, value, why in filled:
        together.setdefault(why, []).append((key, value))
    width = KEY + 1 + VALUE
    return columns((("", columns(settings, KEY, within=width), why) for why, settings in together.items()), 1, width)


def _faults(shown: Page) -> Iterator[Sequence[str]]:
    for subject, reason, hint in shown.faults:
        yield "", subject, reason
        if hint:
            yield "", "", f"-> {hint}"


def _indented(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    return (("", *row) for row in rows)


def _section(title: str, rows: Lines, style: str = BOLD) -> Iterator[Lines | Text]:
    """A titled block; nothing at all when it has no row."""
    if rows:
        yield BLANK
        yield Text(title, style)
        yield rows
