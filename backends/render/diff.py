"""A diff as a table of 80 columns: what runs and why, then what was asked for, then what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from confbag.backends.compare.diff import DECISIVE, BindingChange, Change, Diff, SettingChange
from confbag.backends.declare.slots import Slot
from confbag.backends.platforms.components import components
from confbag.backends.render.page import data_text, fault_subject, reason
from confbag.backends.render.terminal import (
    BAD,
    BLANK,
    BOLD,
    DIM,
    GOOD,
    Lines,
    Text,
    columns,
    labelled,
    text_of,
)
from confbag.words.text import printable

if TYPE_CHECKING:
    from confbag.backends.compare.sides import Decided, Fact, Side, Valued
    from confbag.backends.words.rejection import Rejection

HEAD, NAME, WIDER = 2, 29, 34
LISTED = 8
"""So many members of a list are listed."""


def render(diff: Diff, *, colour: bool = False) -> str:
    """The table of a diff."""
    return text_of(_parts(diff), colour=colour)


def _parts(diff: Diff) -> Iterator[Lines | Text]:
    yield labelled((("A", printable(diff.a.name)), ("B", printable(diff.b.name))), HEAD)
    yield from _schemas(diff)
    if diff.same:
        yield BLANK
        yield Text("no difference" + (" in what is decided" if diff.platform or diff.assumed else ""), GOOD)
    if diff.bindings:
        yield BLANK
        yield Text("WHAT RUNS", BOLD)
    for group in _alike(diff.bindings):
        yield from _group(group, diff)
    asked = [change for change in diff.settings if change.asked]
    yield from _section("SETTINGS", (_setting(change) for change in asked))
    yield from _section(
        "SETTINGS THAT RULES FILLED", (_setting(change) for change in diff.settings if not change.asked)
    )
    yield from _section(
        "ENVIRONMENT THAT BIND SETS", ((c.name, c.a or "not set", c.b or "not set") for c in diff.environment)
    )
    yield from _section("NATIVE LIBRARIES", map(_library, diff.libraries))
    yield from _short("PLATFORM", _platform(diff))
    yield from _short("ASSUMED ON ONE SIDE ONLY", _assumed(diff.assumed))
    for label, side in (("A", diff.a), ("B", diff.b)):
        yield from _faults(label, side)


def _schemas(diff: Diff) -> Iterator[Lines | Text]:
    """Whose settings they are, where the sides differ in that, or in what could be set when they were written."""
    a, b = diff.a, diff.b
    if a.schema != b.schema:
        yield from _section("SCHEMA", [("schema", a.schema, b.schema)])
    elif a.digest and b.digest and a.digest != b.digest:
        yield BLANK
        yield columns([("", f"the keys of the schema {printable(a.schema)} have changed in between")], 1)


def _alike(changes: Iterable[BindingChange]) -> Iterator[list[BindingChange]]:
    """The phases of one op that differ alike, together."""
    together: dict[tuple[object, ...], list[BindingChange]] = {}
    for change in changes:
        told = (
            Slot.parse(change.slot).op,
            *map(_runs, (change.a, change.b)),
            _no(change.against_a),
            _no(change.against_b),
        )
        together.setdefault(told, []).append(change)
    yield from together.values()


def _group(group: Sequence[BindingChange], diff: Diff) -> Iterator[Lines | Text]:
    first = group[0]
    yield Text(", ".join(printable(change.slot) for change in group))
    lines: list[tuple[str, str, str | Text]] = [("", "A", Text(_runs(first.a), _style(first.a)))]
    if no := _no(first.against_b):
        lines.append(("", "", Text(f"not {_name(first.against_b)} - {no}", DIM)))
    lines.append(("", "B", Text(_runs(first.b), _style(first.b))))
    if no := _no(first.against_a):
        lines.append(("", "", Text(f"not {_name(first.against_a)} - {no}", DIM)))
    because = dict.fromkeys(_cause(name, diff) for change in group for name in change.because)
    lines += [("", "" if number else "as", cause) for number, cause in enumerate(because)]
    yield columns(lines, 1, 2)


def _style(decided: Decided) -> str:
    return BAD if decided.used and not decided.runs else BOLD


def _name(rejection: Rejection | None) -> str:
    return printable(rejection.provider if rejection is not None else "")


def _runs(decided: Decided) -> str:
    """What runs an op, decided by what, and where it is found."""
    if not decided.used:
        return f"not used: {printable(decided.skipped_because)}" if decided.skipped_because else "not used"
    if not decided.runs:
        return "nothing can run"
    parts = [f"{runs.name}{'' if runs.most is None else f' up to {runs.most}'}" for runs in decided.runs]
    by = dict.fromkeys(str(runs.decider) for runs in decided.runs)
    return printable(f"{', then '.join(parts)}, by {', '.join(by)}")


def _no(rejection: Rejection | None) -> str:
    """Why the other side's provider cannot run here; nothing where it could, and only the rule went before it."""
    could = rejection is None or rejection.code in ("lower-priority", "pinned-away")
    return "" if rejection is None or could else printable(reason(rejection))


def _cause(name: str, diff: Diff) -> str:
    """One thing that a decision rests on, as each side has it."""
    for change in diff.settings:
        if change.name == name:
            return f"{printable(name)} is {_held(change, change.a, 'A')}, {_held(change, change.b, 'B')}"
    for fact in diff.platform:
        if fact.name == name:
            return f"{printable(name)} is {printable(_fact(fact, diff.a))} in A, {printable(_fact(fact, diff.b))} in B"
    return f"{printable(name)} is decided differently"


def _held(change: SettingChange, valued: Valued | None, label: str) -> str:
    origin = "" if valued is None or valued.origin == "default" else f" ({printable(valued.origin)})"
    return f"{_value(change, valued)} in {label}{origin}"


def _value(change: SettingChange, valued: Valued | None) -> str:
    return "no key" if valued is None else data_text(valued.value)


def _setting(change: SettingChange) -> tuple[str, str, str]:
    a, b = (_told(change, valued) for valued in (change.a, change.b))
    return change.name, a, b


def _told(change: SettingChange, valued: Valued | None) -> str:
    return _value(change, valued) if valued is None else f"{_value(change, valued)} ({printable(valued.origin)})"


def _library(change: Change[tuple[str, ...]]) -> tuple[str, str, str]:
    return change.name, _only(change.a, change.b), _only(change.b, change.a)


def _only(ops: tuple[str, ...] | None, others: tuple[str, ...] | None) -> str:
    """The native ops that the other side does not need."""
    if ops is None:
        return "not loaded"
    return ", ".join(op for op in ops if op not in (others or ())) or "nothing more"


def _platform(diff: Diff) -> Iterator[tuple[str, str]]:
    """The device first; of packages those that requirements name, for a machine has hundreds."""
    brought = {f"platform.packages.{name}" for one in components().values() for name in one.distributions}
    shown = [change for change in diff.platform if change.name in brought or "packages." not in change.name]
    for change in sorted(shown, key=lambda change: change.name not in DECISIVE):
        yield change.name.removeprefix("platform."), f"A {_fact(change, diff.a)}, B {_fact(change, diff.b)}"
    if len(shown) < len(diff.platform):
        yield "packages", f"and {len(diff.platform) - len(shown)} others, which --format json lists"


def _fact(change: Change[Fact], side: Side) -> str:
    fact = side.facts.get(change.name)
    if fact is None or fact.value is None:
        package = change.name.startswith("platform.packages.")
        known = side.plan is not None and side.plan.platform.packages is not None
        return "not installed" if package and known else "unknown"
    many = isinstance(fact.value, list) and len(fact.value) > LISTED
    told = f"{len(fact.value)} of them" if many else data_text(fact.value)
    return f"{told} (assumed)" if fact.assumed else told


def _assumed(changes: Iterable[Change[tuple[str, ...]]]) -> Iterator[tuple[str, str]]:
    for change in changes:
        for label, facts in (("A", change.a), ("B", change.b)):
            if facts:
                yield change.name, f"by {label}: {', '.join(facts)}"


def _short(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[Lines | Text]:
    lines = [("", printable(name), printable(text)) for name, text in rows]
    if lines:
        yield BLANK
        yield Text(title, BOLD)
        yield columns(lines, 1, WIDER)


def _section(title: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[Lines | Text]:
    """A titled block: names, and beside them, beneath each other, what A and B say of each; nothing without a row."""
    together: dict[tuple[str, str], list[str]] = {}
    for name, a, b in rows:
        together.setdefault((printable(a), printable(b)), []).append(printable(name))
    lines: list[Sequence[str]] = []
    for said, names in together.items():
        told = zip_longest(names, ("A", "B"), said, fillvalue="")
        lines += [("", name, label, text) for name, label, text in told]
    if lines:
        yield BLANK
        yield Text(title, BOLD)
        yield columns(lines, 1, NAME, 1)


def _faults(label: str, side: Side) -> Iterator[Lines | Text]:
    lines: list[Sequence[str]] = []
    for fault in side.faults:
        lines.append(("", fault_subject(fault), printable(reason(fault))))
        if fault.hint:
            lines.append(("", "", f"-> {printable(fault.hint)}"))
    if lines:
        yield BLANK
        yield Text(f"NOTHING SATISFIES {label}", BAD)
        yield columns(lines, 1, NAME)
