"""Set the ratchets up: a configuration, asked for or guessed, the first baseline, a workflow. It overwrites nothing."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from confbag.ratchets import session
from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import FAILED, Verdict, key_of
from confbag.ratchets.commands import guessing, initial
from confbag.ratchets.config import file as config_file
from confbag.ratchets.configuration import FOLDER
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
    "source": "folders where modules start",
    "roots": "folders to analyse",
}
_WORKFLOW = ".github/workflows/ratchets.yml"
_HOOKS = ".pre-commit-config.yaml"
_NONE = "-"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    for key, text in _ASKED.items():
        if key == "name":
            parser.add_argument("--name", metavar="NAME", help=text)
        else:
            option = f"--{key.removesuffix('s')}"
            parser.add_argument(option, dest=key, action="append", metavar="X", help=f"{text}; repeatable")
    parser.add_argument("--yes", action="store_true", help="take what is guessed, ask nothing")


def run(args: Namespace, cwd: Path) -> int:
    """Write what is not there yet, and say it. 4 where files could not be analysed."""
    root = config_file.repository_of(cwd)
    _refuse_second(cwd, root)
    files = guessing.python_files(root)
    given = {key: tuple([value] if isinstance(value, str) else value) for key, value in _given(args) if value}
    guessed = guessing.with_answers(root, files, guessing.guess(root, files), given)
    if not args.yes and _watched():
        guessed, written = _asked(root, files, guessed)
    else:
        written = _write_configuration(root, guessed)
    try:
        opened = session.open_session(root)
        verdict = session.run(opened, select(opened.configuration, (), root)).verdict
    except BaseException:
        # A configuration without a baseline would fail every check, and refuse a second `init`.
        written.take_back()
        raise
    accessors = ", ".join(guessed.accessors) or "its holders"
    say(f"wrote {written.file.name}: the record is {guessed.name}, read by {accessors}\n")
    _write_baselines(opened, verdict)
    hooked = (root / _HOOKS).exists()
    for path, text in (
        (f"{FOLDER}/.gitattributes", initial.GITATTRIBUTES),
        (_WORKFLOW, initial.workflow(_branch(root))),
        (_HOOKS, initial.HOOKS),
    ):
        if (root / path).exists():
            say(f"kept {path}\n")
        else:
            write_whole(root / path, text.encode())
            say(f"wrote {path}\n")
    say(initial.HINTS + (initial.HOOK_HINT if hooked else ""))
    for each in verdict.unanalysed:
        complain(f"{clean(each.path)}: {clean(each.reason)}: not analysed")
    return FAILED if verdict.unanalysed else 0


def _write_baselines(opened: session.Session, verdict: Verdict) -> None:
    entries: dict[str, dict[tuple[str, str, str], int]] = {code: {} for code in opened.codes}
    for judged in verdict.new:
        code, *place = key_of(judged.finding)
        key = (place[0], place[1], place[2])
        entries[code][key] = entries[code].get(key, 0) + 1
    for code, found in entries.items():
        file = opened.file(f"{code}.tsv")
        if file.exists():
            say(f"kept {session.shown_of(file)}\n")
        else:
            write_whole(file, Baseline(found).print())
            say(f"wrote {session.shown_of(file)}: {count(sum(found.values()), 'finding')}\n")


def _given(args: Namespace) -> list[tuple[str, list[str] | str | None]]:
    return [(key, getattr(args, key)) for key in _ASKED]


def _watched() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _refuse_second(cwd: Path, root: Path) -> None:
    """UsageError where a configuration is in use, or one beside the place for ours is wrong."""
    for folder in (cwd, *cwd.parents):
        for name in (config_file.OWN, config_file.PYPROJECT):
            if config_file.configures(folder / name):
                shown = os.path.relpath(folder / name, cwd)
                raise usage("configures the ratchets already; `confbag ratchet check` uses it", shown)
        if folder == root:
            break


def _branch(root: Path) -> str:
    """The branch that changes go to: the one that the remote calls its own, else the one that is checked out."""
    from confbag.ratchets.source.git import Git

    for words in (("rev-parse", "--abbrev-ref", "origin/HEAD"), ("symbolic-ref", "--short", "HEAD")):
        status, out, _ = Git(root).try_run(*words)
        name = out.decode("utf-8", "replace").strip().removeprefix("origin/")
        if status == 0 and name not in ("", "HEAD"):
            return name
    return "main"


class _Written(NamedTuple):
    """The file that configures, and what it held before."""

    file: Path
    before: bytes | None

    def take_back(self) -> None:
        """Leave what was there."""
        if self.before is None:
            self.file.unlink()
        else:
            write_whole(self.file, self.before)


def _asked(root: Path, files: Sequence[str], guessed: guessing.Guess) -> tuple[guessing.Guess, _Written]:
    """Ask until the answers are a configuration; what was said stays as what Enter takes."""
    say(f"Enter takes what is in brackets; {_NONE} is none; several are parted by commas; Ctrl-C writes nothing.\n")
    while True:
        answers: dict[str, tuple[str, ...]] = {}
        for key, text in _ASKED.items():
            value = getattr(guessed, key)
            shown = value if isinstance(value, str) else ", ".join(value)
            try:
                said = input(f"{text} [{clean(shown)}]: ").strip()
            except EOFError as error:
                say("\n")
                raise usage("the input ended before the last question; nothing was written", "init") from error
            if said == _NONE:
                answers[key] = ()
            elif said:
                parts = tuple(part.strip() for part in said.split(",") if part.strip())
                answers[key] = (said,) if key == "name" else parts
            if key == "accessors" and answers.get(key):
                # Where modules start follows from it, and is asked later.
                guessed = guessing.with_answers(root, files, guessed, {key: answers[key]})
        guessed = guessing.with_answers(root, files, guessed, answers)
        try:
            return guessed, _write_configuration(root, guessed)
        except UsageError as error:
            complain("\n".join(clean(str(fault)) for fault in error.faults))
            say("once more\n")


def _write_configuration(root: Path, guessed: guessing.Guess) -> _Written:
    """Into pyproject.toml where there is one, else into a file of our own; taken back where it is wrong."""
    if not (guessed.accessors or guessed.types or guessed.holders):
        raise usage(
            "no function of this tree looks like one that returns a start-up record; name it: "
            "`confbag ratchet init --accessor engine.context.get_server_args`"
        )
    file = root / config_file.PYPROJECT
    before = file.read_bytes() if file.exists() else None
    if before is None:
        file = root / config_file.OWN
        content = initial.configuration_text(guessed, "").encode()
    else:
        end = b"\r\n" if b"\r\n" in before else b"\n"
        gap = b"" if not before or before.endswith(end * 2) else end if before.endswith(end) else end * 2
        text = initial.configuration_text(guessed, "tool.confbag.ratchets").encode()
        content = before + gap + text.replace(b"\n", end)
    write_whole(file, content)
    written = _Written(file, before)
    try:
        config_file.load(file)
    except UsageError as error:
        written.take_back()
        faults = [Fault("", fault.message) for fault in error.faults]
        raise UsageError(
            [*faults, Fault("", "nothing was written; name what is there with the options of init")]
        ) from error
    return written
