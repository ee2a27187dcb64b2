"""`confbag diff`: what two configurations, platforms or locks decide differently, and why."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from confbag.cli.common import DONE, UNSATISFIED, add_sources, complain, emit, registry_of, wants_colour

if TYPE_CHECKING:
    from confbag.backends.compare.diff import Diff

FORMATS = ("table", "json")


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    summary = "what two configurations, platforms or locks decide differently, and why"
    parser = subparsers.add_parser(
        "diff",
        help=summary,
        description=f"Print {summary}. "
        "Two configurations are planned on one --platform, two platforms for one --config.",
        allow_abbrev=False,
    )
    what = "a configuration, a lock, or a platform (this, a name, or a file); which of them, its content says"
    parser.add_argument("a", metavar="A", help=what)
    parser.add_argument("b", metavar="B", help="likewise")
    add_sources(parser, option=True)
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")


def run(args: Namespace) -> int:
    """Print the diff; 0 whether or not there is one, 3 when nothing satisfies a side."""
    from confbag.backends.compare.diff import diff
    from confbag.cli.sides import sides_of

    registry = registry_of(args)
    found = diff(*sides_of(args, registry), schema=registry.schema)
    show(found, args.format)
    return DONE if satisfied(found) else UNSATISFIED


def show(found: Diff, format: str) -> None:
    """Print a diff in one of FORMATS."""
    if format == "json":
        from confbag.backends.render.diff_json import render as as_json

        emit(as_json(found))
    else:
        from confbag.backends.render.diff import render

        emit(render(found, colour=wants_colour()))


def satisfied(found: Diff) -> bool:
    """Whether both sides are; what is not is said on stderr."""
    from confbag.words.text import count

    for side in (found.a, found.b):
        if side.faults:
            complain(f"confbag: nothing satisfies {side.name} ({count(len(side.faults), 'fault')})")
    return not (found.a.faults or found.b.faults)
