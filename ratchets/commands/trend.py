"""Show how the baselines shrank: what each commit that changed them left, as a table or a chart."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.commands.chart import draw
from confbag.ratchets.commands.history import State, history
from confbag.ratchets.faults import usage
from confbag.ratchets.output import say
from confbag.ratchets.report.words import clean
from confbag.ratchets.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("--since", metavar="REF", help="start at this commit (the first one)")
    parser.add_argument("--svg", metavar="FILE", help="write a chart too")


def run(args: Namespace, cwd: Path) -> int:
    """Print the table, and write the chart where one is asked for."""
    configuration = session.open_session(cwd, repairing=True).configuration
    states = history(configuration, args.since)
    if not any(state.entries for state in states):
        raise usage("no commit holds a baseline yet; commit .ratchets/ first")
    codes = sorted({code for state in states for code in state.entries})
    say("".join(line + "\n" for line in _table(states, codes)))
    if args.svg:
        title = configuration.repository.name
        write_whole(cwd / args.svg, draw(states, codes, title).encode("utf-8", "replace"))
    return 0


def _table(states: list[State], codes: list[str]) -> list[str]:
    rows = [["DATE", "COMMIT", "TOTAL", *codes, "SUBJECT"]]
    for state in states:
        totals = state.totals
        counts = [str(totals.get(code, "-")) for code in codes]
        rows.append([state.time[:10], state.commit[:10], str(sum(totals.values())), *counts, clean(state.subject)[:60]])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return lines
