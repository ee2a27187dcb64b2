"""`confbag plan`: print which implementation runs every op, and why each other one does not."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module
from typing import Any

from confbag.backends.render import FORMATS
from confbag.cli.common import add_sources, emit, plan_of, registry_of, status_of, wants_colour


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    summary = "which implementation runs every op, and why each other one does not"
    parser = subparsers.add_parser("plan", help=summary, description=f"Print {summary}.", allow_abbrev=False)
    add_sources(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument("--all", action="store_true", help="every reason against each provider, not only the first")
    parser.add_argument("--strict", action="store_true", help="exit 3 when the plan has warnings")


def run(args: Namespace) -> int:
    """Print the plan; 3 when nothing satisfies it, which is printed all the same."""
    plan = plan_of(args, registry_of(args, shown=True))
    render = import_module(f"confbag.backends.render.{args.format}").render
    emit(render(plan, all=args.all, colour=wants_colour()) if args.format == "table" else render(plan, all=args.all))
    return status_of(plan, strict=args.strict)
