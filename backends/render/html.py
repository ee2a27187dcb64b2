"""A plan as one HTML file that stands alone: no script, no fetched style, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from confbag.backends.render.page import Group, Page, page, slots
from confbag.words.text import count

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem }
body { color: #1b1f24; background: #fff }
h1 { font-size: 1.4rem }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0 }
th { border-bottom: 1px solid #8c959f }
tbody tr:nth-child(even) { background: #f6f8fa }
code { font-family: ui-monospace, monospace; font-size: .92em; overflow-wrap: anywhere }
summary { cursor: pointer }
.fault { color: #b42318 }
.warning { color: #8a5a00 }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  tbody tr:nth-child(even) { background: #161b22 }
  .fault { color: #ff7b72 }
  .warning { color: #d29922 }
}
"""


def render(plan: Plan, *, all: bool = False) -> str:
    """The plan's page; with `all` every reason against every provider."""
    shown = page(plan, all=all)
    title = f"confbag plan {dict(shown.head)['plan']}"
    body = "\n".join(_body(shown, title))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def fragment(plan: Plan) -> str:
    """The plan for a page that is not ours, as a notebook is: the body alone, its style kept to itself."""
    shown = page(plan)
    body = "\n".join(_body(shown, f"confbag plan {dict(shown.head)['plan']}"))
    return f'<div class="confbag-plan">\n{body}\n</div>\n'


def _body(shown: Page, title: str) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    yield from _table((), ((_text(name), _text(text)) for name, text in shown.head))
    if shown.faults:
        yield f'<h2 class="fault">Nothing satisfies this plan: {count(len(shown.faults), "fault")}</h2>'
        yield from _table(
            ("about", "fault", "what to write instead"),
            ((_code(subject), _text(reason), _text(hint or "")) for subject, reason, hint in shown.faults),
        )
    yield "<h2>Decisions</h2>"
    yield from _table(
        ("op", "implementation", "decided by", "because"),
        (
            (_code(row.slot), _code(row.implementation), _text(row.decided), _text(group.because or ""))
            for group in shown.groups
            for row in group.rows
        ),
    )
    yield from _section("Warnings", (), ((f'<span class="warning">{_text(text)}</span>',) for text in shown.warnings))
    for group in shown.groups:
        yield from _reasons(group)
    yield from _section("Not used here", ("op", "why"), ((_code(op), _text(why)) for op, why in shown.unused))
    yield from _section(
        "Settings that rules filled",
        ("key", "value", "why"),
        ((_code(key), _code(value), _text(why)) for key, value, why in shown.filled),
    )
    yield from _section("Environment that bind sets", ("variable", "value"), map(_codes, shown.environment))
    yield from _section("Native libraries", ("library or op", "needs"), map(_codes, shown.libraries))
    yield from _section("Not understood", ("flag", "why"), ((_code(name), _text(why)) for name, why in shown.ignored))
    yield from _section(
        "Not arranged for determinism",
        ("operations", "why"),
        ((_text(name), _text(why)) for name, why in shown.not_arranged),
    )
    yield from _section("Notes", (), ((_text(text),) for text in shown.notes))
    yield from _section("Not covered by this plan", (), ((_text(text),) for text in shown.not_covered))


def _reasons(group: Group) -> Iterator[str]:
    if group.against:
        reasons = count(len(group.against), "reason")
        yield f"<details><summary>Why not another: {_code(slots(group))} ({reasons})</summary>"
        yield from _table(
            ("not", "reason"), ((_code(against.providers), _text(against.reason)) for against in group.against)
        )
        yield "</details>"


def _section(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    listed = list(rows)
    if listed:
        yield f"<h2>{title}</h2>"
        yield from _table(columns, listed)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "<table>"
    if columns:
        yield "<thead><tr>" + "".join(f"<th>{column}</th>" for column in columns) + "</tr></thead>"
    yield "<tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
    yield "</tbody></table>"


def _text(text: str) -> str:
    return escape(text)


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _codes(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(_code(text) for text in texts)
