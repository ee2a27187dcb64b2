"""A plan as Markdown for a pull request: the decisions in a table, the reasons folded beneath."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from confbag.backends.render.page import Group, Page, page, slots
from confbag.words.text import count

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan

_LINK = re.compile(r"(https?://[\w./#?=%&+~-]*[\w/])")


def render(plan: Plan, *, all: bool = False) -> str:
    """The plan's Markdown; with `all` every reason against every provider."""
    return "\n".join(_lines(page(plan, all=all))) + "\n"


def escape(text: str) -> str:
    """Text that Markdown leaves as it is, also inside a table cell, and that mentions nobody. Links stay links."""
    parts = _LINK.split(text)
    return "".join(f"<{part}>" if number % 2 else _escape(part) for number, part in enumerate(parts))


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|~#])", r"\\\1", text).replace("@", "&#64;")


def code(text: str) -> str:
    """A name as code, also inside a table cell."""
    return f"<code>{_escape(text)}</code>"


def _lines(shown: Page) -> Iterator[str]:
    head = dict(shown.head)
    yield f"### confbag plan {code(head['plan'])}"
    yield ""
    yield f"Platform {escape(head['platform'])}. Configuration: {escape(head['config'])}."
    yield ""
    if shown.faults:
        yield f"**Nothing satisfies this plan: {count(len(shown.faults), 'fault')}.**"
        yield ""
        for subject, reason, hint in shown.faults:
            yield f"- {code(subject)}: {escape(reason)}" + (f" → {escape(hint)}" if hint else "")
        yield ""
    yield from _table(
        ("op", "implementation", "decided by", "because"),
        (
            (code(row.slot), code(row.implementation), escape(row.decided), escape(group.because or ""))
            for group in shown.groups
            for row in group.rows
        ),
    )
    yield from _bullets("Warnings", (escape(text) for text in shown.warnings))
    yield from _reasons(shown.groups)
    yield from _section("Not used here", ("op", "why"), ((code(op), escape(why)) for op, why in shown.unused))
    yield from _section(
        "Settings that rules filled",
        ("key", "value", "why"),
        ((code(key), code(value), escape(why)) for key, value, why in shown.filled),
    )
    yield from _section(
        "Environment that bind sets",
        ("variable", "value"),
        ((code(name), code(value)) for name, value in shown.environment),
    )
    yield from _section(
        "Native libraries",
        ("library or op", "needs"),
        ((code(name), escape(needs)) for name, needs in shown.libraries),
    )
    yield from _section("Not understood", ("flag", "why"), ((code(name), escape(why)) for name, why in shown.ignored))
    yield from _section(
        "Not arranged for determinism", ("operations", "why"), ((code(n), escape(w)) for n, w in shown.not_arranged)
    )
    yield from _bullets("Notes", (escape(text) for text in shown.notes))
    yield from _bullets("Not covered by this plan", (escape(text) for text in shown.not_covered))


def _reasons(groups: Sequence[Group]) -> Iterator[str]:
    rows = [
        (code(slots(group)), code(against.providers), escape(against.reason))
        for group in groups
        for against in group.against
    ]
    if rows:
        yield f"<details><summary>Why not another ({count(len(rows), 'reason')})</summary>"
        yield ""
        yield from _table(("op", "not", "reason"), rows)
        yield "</details>"
        yield ""


def _section(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    listed = list(rows)
    if listed:
        yield f"**{title}**"
        yield ""
        yield from _table(columns, listed)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _bullets(title: str, texts: Iterable[str]) -> Iterator[str]:
    listed = list(texts)
    if listed:
        yield f"**{title}**"
        yield ""
        yield from (f"- {text}" for text in listed)
        yield ""
