"""Rewrite the reads that certainly are the record's and have a replacement; whatever else stands there stays."""

from __future__ import annotations

import stat
from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.judge import FAILED, NEW
from confbag.ratchets.fix import fix_tree
from confbag.ratchets.fix.diff import patch
from confbag.ratchets.output import complain, put
from confbag.ratchets.paths import local
from confbag.ratchets.report.words import clean, count
from confbag.ratchets.source.files import select
from confbag.ratchets.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only these files and folders; none: all")
    parser.add_argument("--diff", action="store_true", help="show what would change, and change nothing")


def run(args: Namespace, cwd: Path) -> int:
    """Fix each file. The status is that of what is left: 1 where something new is, 4 where a file was not analysed,
    or could not be written.
    """
    opened = session.open_session(cwd)
    configuration = opened.configuration
    wanted = set(select(configuration, args.paths, cwd).files)
    # What a file's names are in other files decides here too, so the whole tree is read.
    everything = select(configuration, (), cwd)
    outcome = session.run(opened, everything)
    ours = {
        judged.finding
        for judged in outcome.verdict.findings
        if judged.finding.path in wanted and judged.state != "suppressed"
    }
    done = files = 0
    unwritten = False
    for fixed in fix_tree(
        configuration,
        everything.files,
        read=session.Reading(configuration.repository),
        jobs=session.default_jobs(),
        cache=session.cache_of(configuration),
        keep=ours.__contains__,
    ):
        file = configuration.repository / local(fixed.path)
        before = file.read_bytes()
        for reason in fixed.left:
            complain(f"left: {clean(reason)}")
        if fixed.source == fixed.before:
            continue
        if fixed.before != before:
            complain(f"left: {clean(fixed.path)}: it was changed meanwhile; run `confbag ratchet fix` again")
            unwritten = True
            continue
        if args.diff:
            put(patch(fixed.path, before, fixed.source))
        else:
            fault = _written(file, fixed.source)
            if fault:
                complain(f"left: {clean(fixed.path)}: {fault}")
                unwritten = True
                continue
        done, files = done + fixed.count, files + 1
    would = "would be " if args.diff else ""
    complain(f"{count(done, 'read')} {would}replaced in {count(files, 'file')}")
    if done and not args.diff:
        complain("`confbag ratchet tighten` takes what was there before out of the baseline")
        outcome = session.run(opened, everything)
    unanalysed = [each for each in outcome.verdict.unanalysed if each.path in wanted]
    for each in unanalysed:
        complain(f"{clean(each.path)}: not analysed: {clean(each.reason)}")
    new = any(each.finding.path in wanted for each in outcome.verdict.new)
    return (NEW if new else 0) + (FAILED if unanalysed or unwritten else 0)


def _written(file: Path, content: bytes) -> str:
    """Write one file; why it was not written, empty where it was. Other files go on."""
    try:
        # Who took the right to write away, also from root, meant it.
        if not file.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            return "it is read-only"
        write_whole(file, content)
    except OSError as error:
        return f"it cannot be written: {error.strerror or error}"
    return ""
