"""What `confbag verify` found, as a table of 80 columns: what was run, then what was not and why, then the count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from confbag.backends.bind.verification import AGREES, DISAGREES, NOT_RUN, Count, Outcome
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
    text_of,
)
from confbag.words.text import count, printable

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan

NAME, CASES, RESULT = 31, 5, 9
INDENT = "  "


def render(plan: Plan, outcomes: Sequence[Outcome], *, colour: bool = False) -> str:
    """The table of every outcome."""
    return text_of(_parts(plan, outcomes), colour=colour)


def summary(counted: Count) -> str:
    """The count in one line, what was not run with it."""
    ran = f"{counted.agree} agree, {counted.disagree} disagree, {counted.failed} failed"
    return f"{ran}; {count(counted.not_run, 'implementation')} not run"


def _parts(plan: Plan, outcomes: Sequence[Outcome]) -> Iterator[Lines | Text]:
    yield Text.assemble(("platform", BOLD), f" {printable(plan.platform.name)}")
    yield BLANK
    ran = [outcome for outcome in outcomes if outcome.status != NOT_RUN]
    if ran:
        yield columns([[Text(title, BOLD) for title in ("IMPLEMENTATION", "CASES", "RESULT", "")]], NAME, CASES, RESULT)
        yield Text("-" * WIDTH, DIM)
    for op, group in _by_op(ran):
        yield Text(printable(op), BOLD)
        for outcome in group:
            yield columns([_row(outcome)], NAME, CASES, RESULT)
            yield from _native(outcome)
    left_out = [outcome for outcome in outcomes if outcome.status == NOT_RUN]
    if left_out:
        yield BLANK
        yield Text("NOT RUN", BOLD)
    for op, group in _by_op(left_out):
        yield Text(printable(op), BOLD)
        shared: dict[str, list[str]] = {}
        for outcome in group:
            shared.setdefault(printable(outcome.said), []).append(printable(outcome.task.implementation.name))
        yield columns(((INDENT, against(", ".join(names), why)) for why, names in shared.items()), 1)
    counted = Count.of(outcomes)
    yield BLANK
    yield Text(summary(counted), BAD if counted.disagree or counted.failed else BOLD)
    schemas = f"{counted.verified} verified, {counted.unverified} not verified, {counted.not_looked_at} not looked at"
    yield Text(f"native schemas: {schemas}")


def _row(outcome: Outcome) -> tuple[str | Text, ...]:
    row, reference = outcome.task.implementation, outcome.task.reference
    style = GOOD if outcome.status == AGREES else BAD
    said = printable(outcome.said or "")
    if outcome.status == AGREES and reference is not None:
        said = "the reference, twice" if reference is row else f"with {printable(reference.name)}"
    if outcome.task.bound:
        said = f"{said}; bound by the plan" if said else "bound by the plan"
    cases = str(outcome.cases) if outcome.status in (AGREES, DISAGREES) or outcome.cases else "-"
    return f"{INDENT}{printable(row.name)}", cases, Text(outcome.status, style), said


def _native(outcome: Outcome) -> Iterator[Lines]:
    for name, verified in outcome.schemas:
        said = Text("schema verified", GOOD) if verified else Text("schema NOT VERIFIED", WARNING)
        yield columns([("", Text.assemble(printable(name), ": ", said))], 3)
    for note in outcome.notes:
        yield columns([("", Text.assemble(("! ", WARNING), printable(note)))], 3)


def _by_op(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.task.implementation.op, []).append(outcome)
    yield from groups.items()
