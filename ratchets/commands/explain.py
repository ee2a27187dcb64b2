"""Say what a rule finds, why, what to write instead, and show its cases."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets.commands import reference
from confbag.ratchets.config.toml_table import closest
from confbag.ratchets.faults import usage
from confbag.ratchets.output import say
from confbag.ratchets.report.words import name_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a rule's code or name; none: a list of them")
    parser.add_argument("--page", action="store_true", help="every rule, in Markdown")


def run(args: Namespace, cwd: Path) -> int:
    """Print one rule, the list, or the page."""
    del cwd
    if args.page:
        say(reference.page())
        return 0
    names = {code: name_of(code) for code in reference.CODES}
    if args.code is None:
        for code, name in names.items():
            say(f"{code}  {name:<16} {' '.join(reference.rule(code).MEANS.split())}\n")
        return 0
    wanted = args.code.upper()
    named = next((code for code, name in names.items() if wanted in (code, name.upper())), None)
    if named is None:
        meant = closest(wanted, names) if wanted.startswith("CB") else closest(args.code.lower(), names.values())
        raise usage(f"there is no rule {args.code!r}; {meant}", "CODE")
    say(reference.explained(named))
    return 0
