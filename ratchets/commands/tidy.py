"""Sort the baselines, drop duplicates, and keep both sides of a merge conflict."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets.allowed.baseline import repaired
from confbag.ratchets.allowed.written import tidied as tidied_exceptions
from confbag.ratchets.config import file as config_file
from confbag.ratchets.configuration import EXCEPTIONS, FOLDER
from confbag.ratchets.faults import Fault, UsageError, usage
from confbag.ratchets.output import complain, say
from confbag.ratchets.report.words import clean, count
from confbag.ratchets.session import known_codes, open_session, read_exceptions, shown_of
from confbag.ratchets.writing import sweep, write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes: nothing."""
    del parser


def run(args: Namespace, cwd: Path) -> int:
    """Rewrite what is untidy. What no rule can read is dropped, and said: its findings are new then."""
    del args

    opened = open_session(cwd, repairing=True)
    root = config_file.find(cwd).parent
    changed = 0
    for file in sorted((root / FOLDER).glob("*.tsv")):
        content = file.read_bytes()
        baseline, dropped = repaired(content, shown_of(file))
        for fault in dropped:
            complain(clean(str(fault)))
        if baseline.print() != content:
            write_whole(file, baseline.print())
            changed += 1
    file = root / FOLDER / EXCEPTIONS
    if file.exists():
        content = file.read_bytes()
        try:
            tidied = tidied_exceptions(content, shown_of(file))
        except UnicodeDecodeError as error:
            raise usage("is not UTF-8; save the file as UTF-8", shown_of(file)) from error
        if tidied != content:
            write_whole(file, tidied)
            changed += 1
    sweep(root / FOLDER)
    say(f"{count(changed, 'file')} tidied\n")
    faults: list[Fault] = []
    read_exceptions(root, known_codes(opened.configuration), opened.configuration, faults)
    if faults:
        raise UsageError(faults)
    return 0
