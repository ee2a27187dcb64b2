"""Say which commits changed a baseline entry: who brought it, who moved it, who took it away."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.baseline import Place, shown
from confbag.ratchets.commands.history import history
from confbag.ratchets.configuration import FOLDER
from confbag.ratchets.faults import usage
from confbag.ratchets.output import say
from confbag.ratchets.report.words import clean


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument(
        "key",
        nargs="+",
        metavar="KEY",
        help="a line of a baseline; or words that all name it: its code, path, path::qualname, qualname, symbol",
    )


def run(args: Namespace, cwd: Path) -> int:
    """Print each entry that the words name, with its commits, newest first."""
    configuration = session.open_session(cwd, repairing=True).configuration
    states = history(configuration)
    changes: dict[tuple[str, Place], list[str]] = {}
    before: dict[tuple[str, Place], int] = {}
    for state in states:
        now = {(code, place): count for code, entries in state.entries.items() for place, count in entries.items()}
        for key in sorted(set(before) | set(now)):
            was, count = before.get(key, 0), now.get(key, 0)
            if was != count and _named(args.key, *key, max(was, count)):
                step = f"{state.commit[:12]} {state.time[:10]} {was} -> {count}  {state.author}: {state.subject}"
                changes.setdefault(key, []).insert(0, step)
        before = now
    if not changes:
        raise usage(f"no commit's baseline has an entry that {' '.join(map(repr, args.key))} names", "KEY")
    folder = f"{configuration.prefix}{FOLDER}"
    for (code, place), steps in sorted(changes.items()):
        say(f"{folder}/{code}.tsv: {shown(place)}\n" + "".join(f"  {clean(step)}\n" for step in steps))
    return 0


def _named(words: list[str], code: str, place: Place, count: int) -> bool:
    path, qualname, symbol = place
    names = {code, path, f"{path}::{qualname}", qualname, symbol, shown(place), shown(place, count)}
    return all(word.rstrip("\n") in names for word in words)
