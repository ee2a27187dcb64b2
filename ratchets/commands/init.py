"""Set the ratchets up: a configuration, asked for or guessed, the first baseline, a workflow. It overwrites nothing."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import FAILED, key_of
from confbag.ratchets.commands import initial
from confbag.ratchets.config import file as config_file
from confbag.ratchets.faults import Fault, UsageError, usage
from confbag.ratchets.output import complain, say
from confbag.ratchets.report.words import clean, count
from confbag.ratchets.source.files import select
from confbag.ratchets.writing import write_whole

_ASKED = {
    "name": "the record's name in findings",
    "accessors": "functions that return it (module.function)",
    "types": "its classes (module.Class)",
    "holders": "names of parameters and attributes that hold it",
    "owners": "files and folders that may read it",
    "roots": "folders to analyse",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    for key, text in _ASKED.items():
        if key == "name":
            parser.add_argument("--name", metavar="NAME", help=text)
        else:
            parser.add_argument(f"--{key[:-1]}", dest=key, action="append", metavar="X", help=f"{text}; repeatable")
    parser.add_argument("--yes", action="store_true", help="take what is guessed, ask nothing")


def run(args: Namespace, cwd: Path) -> int:
    """Write what is not there yet, and say it. 4 where files could not be analysed."""
    root = config_file.repository_of(cwd)
    _refuse_second(cwd)
    guessed = initial.guess(root, initial.python_files(root))
    given = {key: tuple(value) if isinstance(value, list) else (value,) if value else () for key, value in _given(args)}
    guessed = initial.with_answers(guessed, given)
    if not args.yes and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        guessed = _ask(guessed)
    if not (guessed.accessors or guessed.types or guessed.holders):
        raise usage(
            "no function of this tree looks like one that returns a start-up record; name it: "
            "`confbag ratchet init --accessor engine.context.get_server_args`"
        )
    file = _write_configuration(root, guessed)
    say(f"wrote {file.name}: the record is {guessed.name}, read by {', '.join(guessed.accessors) or 'its holders'}\n")
    opened = session.open_session(root)
    outcome = session.run(opened, select(opened.configuration, (), root))
    entries: dict[str, dict[tuple[str, str, str], int]] = {code: {} for code in opened.codes}
    for judged in outcome.verdict.new:
        code, *place = key_of(judged.finding)
        key = (place[0], place[1], place[2])
        entries[code][key] = entries[code].get(key, 0) + 1
    for code, found in entries.items():
        if not opened.file(f"{code}.tsv").exists():
            write_whole(opened.file(f"{code}.tsv"), Baseline(found).print())
            say(f"wrote .ratchets/{code}.tsv: {count(sum(found.values()), 'finding')}\n")
    for path, text in ((".ratchets/.gitattributes", initial.GITATTRIBUTES), (_WORKFLOW, initial.WORKFLOW)):
        if (root / path).exists():
            say(f"kept {path}\n")
        else:
            write_whole(root / path, text.encode())
            say(f"wrote {path}\n")
    say(initial.HINTS)
    for each in outcome.verdict.unanalysed:
        complain(f"{clean(each.path)}: {clean(each.reason)}: not analysed")
    return FAILED if outcome.verdict.unanalysed else 0


_WORKFLOW = ".github/workflows/ratchets.yml"


def _given(args: Namespace) -> list[tuple[str, list[str] | str | None]]:
    return [(key, getattr(args, key)) for key in _ASKED]


def _refuse_second(cwd: Path) -> None:
    try:
        file = config_file.find(cwd)
    except UsageError as error:
        if any("init" in fault.message for fault in error.faults):
            return
        raise
    raise usage("configures the ratchets already; `confbag ratchet check` uses it", str(file))


def _ask(guessed: initial.Guess) -> initial.Guess:
    answers: dict[str, tuple[str, ...]] = {}
    for key, text in _ASKED.items():
        value = getattr(guessed, key)
        default = value if isinstance(value, str) else ", ".join(value)
        said = input(f"{text} [{default}]: ").strip()
        if said:
            answers[key] = (said,) if key == "name" else tuple(part.strip() for part in said.split(",") if part.strip())
    return initial.with_answers(guessed, answers)


def _write_configuration(root: Path, guessed: initial.Guess) -> Path:
    """Into pyproject.toml where there is one, else into a file of our own; taken back where it is wrong."""
    file = root / config_file.PYPROJECT
    before = file.read_bytes() if file.exists() else None
    if before is None:
        file = root / config_file.OWN
        content = initial.configuration_text(guessed, "").encode()
    else:
        gap = b"" if not before or before.endswith(b"\n\n") else b"\n" if before.endswith(b"\n") else b"\n\n"
        content = before + gap + initial.configuration_text(guessed, "tool.confbag.ratchets").encode()
    write_whole(file, content)
    try:
        config_file.load(file)
    except UsageError as error:
        if before is None:
            file.unlink()
        else:
            write_whole(file, before)
        faults = [Fault("", fault.message) for fault in error.faults]
        raise UsageError(
            [*faults, Fault("", "nothing was written; name what is there with the options of init")]
        ) from error
    return file
