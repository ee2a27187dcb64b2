"""`confbag verify`: every implementation that this machine can run, against its reference."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confbag.cli.common import (
    UNSATISFIED,
    UNVERIFIED,
    add_sources,
    complain,
    emit,
    plan_of,
    registry_of,
    status_of,
    wants_colour,
)
from confbag.errors import ConfigError, Fault

if TYPE_CHECKING:
    from confbag.backends.bind.verification import Outcome, Task
    from confbag.backends.bind.verify import Progress
    from confbag.backends.decide.plan import Plan

FORMATS = ("table", "json")
RANDOM_CASES = 20


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    parser = subparsers.add_parser(
        "verify",
        help="every implementation that this machine can run, against its reference",
        description="Bind every implementation that this machine can run, and run it against its reference on the "
        "inputs that its op ships: those at the boundaries, then random ones. A configuration says which device is "
        "meant and which implementations its plan binds; the inputs are the op's own.",
        allow_abbrev=False,
    )
    parser.add_argument("op", nargs="*", metavar="OP", help="only these ops; none: every one")
    add_sources(parser, option=True, elsewhere=False)
    parser.add_argument(
        "--cases",
        type=_count,
        default=RANDOM_CASES,
        metavar="N",
        help=f"random inputs of each implementation, beside those at the boundaries (default: {RANDOM_CASES})",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument(
        "--strict", action="store_true", help="exit 3 when the plan has warnings or a native schema was not verified"
    )


def run(args: Namespace) -> int:
    """Verify and print: 5 when an implementation disagrees or fails, 3 when nothing could be run."""
    from confbag.backends.bind.verification import tasks
    from confbag.backends.bind.verify import verify
    from confbag.backends.decide.places import unknown

    registry = registry_of(args, shown=True)
    wrong = [name for name in args.op if name not in registry.ops]
    if wrong:
        raise ConfigError([Fault("verify", None, unknown("op", name, registry.ops)) for name in wrong])
    plan = plan_of(args, registry)
    if plan.faults:
        for fault in plan.faults:
            complain(f"{fault.slot or 'plan'}: {fault.provider or 'the plan'}: {fault}")
        return status_of(plan)
    for warning in plan.warnings:
        complain(f"! {warning}")
    with _progress() as progress:
        outcomes = list(verify(plan, tasks(plan, args.op), args.cases, progress))
    _show(plan, outcomes, args.format)
    return _status(plan, outcomes, strict=args.strict)


def _show(plan: Plan, outcomes: list[Outcome], format: str) -> None:
    if format == "json":
        from confbag.backends.render.verification_json import render as as_json

        emit(as_json(plan, outcomes))
    else:
        from confbag.backends.render.verification import render

        emit(render(plan, outcomes, colour=wants_colour()))


def _status(plan: Plan, outcomes: list[Outcome], *, strict: bool) -> int:
    """The exit status, said on stderr when it is not 0."""
    from confbag.backends.bind.verification import Count
    from confbag.backends.render.verification import summary

    counted = Count.of(outcomes)
    if counted.disagree or counted.failed:
        complain(f"confbag: verification failed: {summary(counted)}")
        return UNVERIFIED
    if counted.run == 0:
        missing = any(_wants_torch(outcome.task) for outcome in outcomes)
        hint = "torch is not installed; install it: pip install 'confbag[torch]'" if missing else "the table says why"
        complain(f"confbag: nothing that was asked for can be run here, so nothing is verified; {hint}")
        return UNSATISFIED
    if strict and any(outcome.notes for outcome in outcomes):
        complain("confbag: --strict: " + "; ".join(note for outcome in outcomes for note in outcome.notes))
        return UNSATISFIED
    return status_of(plan, strict=strict)


def _wants_torch(task: Task) -> bool:
    return task.rejection is not None and (task.rejection.code, task.rejection.field) == ("package-missing", "torch")


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A line on stderr that says what is being run; nothing where that is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    try:
        yield lambda task, ran: _line(f"{task.implementation.op} {task.implementation.name}: case {ran + 1}")
    finally:
        _line("")


def _line(text: str) -> None:
    """Write over the one line of progress."""
    from confbag.words.text import printable

    sys.stderr.write(f"\r\x1b[K{printable(text)}")
    sys.stderr.flush()


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a number from 0")
    return int(text)
