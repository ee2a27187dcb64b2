"""Shrink the baselines to what is there; nothing is ever added to one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.judge import FAILED, NEW, tightened
from confbag.ratchets.faults import Fault, UsageError
from confbag.ratchets.output import complain, say
from confbag.ratchets.paths import local, within
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
    chosen = _chosen(opened, args.paths, cwd)
    # Whatever is tightened, all is analysed: an entry may stand for what only another file tells.
    outcome = session.run(opened, select(opened.configuration, (), cwd), cached=not args.no_cache)
    verdict = outcome.verdict
    if verdict.unanalysed:
        failed = "".join(f"{clean(each.path)}: {clean(each.reason)}\n" for each in verdict.unanalysed)
        complain(f"{failed}confbag ratchet tighten: nothing was changed: an entry of these would look stale")
        return FAILED
    verdict = verdict._replace(
        stale=tuple(each for each in verdict.stale if chosen(each.key[1])),
        moved=tuple(each for each in verdict.moved if chosen(each.old[1]) or chosen(each.new[1])),
    )
    changed = tightened(opened.baselines, verdict)
    for code, baseline in changed.items():
        write_whole(opened.file(f"{code}.tsv"), baseline.print())
    went, moved = len(verdict.stale), len(verdict.moved)
    say(f"{count(went, 'entry', 'entries')} tightened, {moved} moved, in {count(len(changed), 'file')}\n")
    new = [each for each in verdict.new if chosen(each.finding.path)]
    if new:
        complain(f"{count(len(new), 'new finding')} left; `confbag ratchet check` shows them")
    return NEW if new else 0


def _chosen(opened: session.Session, given: Sequence[str], cwd: Path) -> Callable[[str], bool]:
    """Whether a path is one of those given, or in one; UsageError for one that is no file and in no entry."""
    paths = {written: session.relative(opened.configuration, written, cwd) for written in given}
    entries = {place[0] for baseline in opened.baselines.values() for place in baseline.entries}
    top = opened.configuration.repository
    unknown = [
        Fault(written, "no such file or folder, and no entry of a baseline is about it")
        for written, path in paths.items()
        if not (top / local(path)).exists() and not any(within(entry, path) for entry in entries)
    ]
    if unknown:
        raise UsageError(unknown)
    return lambda path: not paths or any(within(path, one) for one in paths.values())
