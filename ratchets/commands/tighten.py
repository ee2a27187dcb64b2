"""Shrink the baselines to what is there; nothing is ever added to one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.judge import FAILED, NEW, tightened
from confbag.ratchets.output import complain, say
from confbag.ratchets.report.words import clean, count
from confbag.ratchets.source.files import select
from confbag.ratchets.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only the entries of these; none: all")
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def run(args: Namespace, cwd: Path) -> int:
    """Rewrite what shrank. The status is that of what stays: 1 where something is new."""

    opened = session.open_session(cwd)
    selection = select(opened.configuration, args.paths, cwd)
    outcome = session.run(opened, selection, cached=not args.no_cache)
    verdict = outcome.verdict
    if verdict.unanalysed:
        failed = "".join(f"{clean(each.path)}: {clean(each.reason)}\n" for each in verdict.unanalysed)
        complain(f"{failed}confbag ratchet tighten: nothing was changed: an entry of these would look stale")
        return FAILED
    changed = tightened(opened.baselines, verdict)
    for code, baseline in changed.items():
        write_whole(opened.file(f"{code}.tsv"), baseline.print())
    went, moved = len(verdict.stale), len(verdict.moved)
    say(f"{count(went, 'entry', 'entries')} tightened, {moved} moved, in {count(len(changed), 'file')}\n")
    if verdict.new:
        complain(f"{count(len(verdict.new), 'new finding')} left; `confbag ratchet check` shows them")
    return NEW if verdict.new else 0
