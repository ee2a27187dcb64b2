"""A small engine in a git repository of its own, and the command run in it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CONFIGURATION = """\
roots = ["engine"]
enable = ["CB101", "CB102", "CB111"]

[[record]]
name = "server_args"
accessors = ["engine.runtime_context.get_server_args"]
types = ["engine.server_args.ServerArgs"]
holders = ["server_args"]
owners = ["engine/runtime_context.py", "engine/server_args.py"]
"""
CONTEXT = """\
from engine.server_args import ServerArgs

_PUBLISHED = None


def get_server_args() -> ServerArgs:
    return _PUBLISHED
"""
RECORD = "class ServerArgs:\n    tp_size: int = 1\n"
IMPORT = "from engine.runtime_context import get_server_args\n"


@dataclass(frozen=True)
class Ran:
    """What a run of the command left."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON report."""
        return json.loads(self.out)


def git_environment() -> dict[str, str]:
    """No hook of the person who runs the tests, and a name to commit under."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {"NAME": "A. Person", "EMAIL": "person@example.invalid"}
    named = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {**kept, **named, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


class Engine:
    """A repository with an engine in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        """What processes here are started with."""
        return git_environment()

    def write(self, path: str, text: str | bytes) -> Path:
        """Write one file; a module under engine/ that calls the accessor imports it."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        content = text if isinstance(text, bytes) else text.encode()
        if isinstance(text, str) and path.endswith(".py") and "get_server_args()" in text and IMPORT not in text:
            content = IMPORT.encode() + content if path != "engine/runtime_context.py" else content
        file.write_bytes(content)
        return file

    def read(self, path: str) -> str:
        """The text of one file."""
        return (self.folder / path).read_bytes().decode("utf-8", "surrogateescape")

    def baseline(self, *lines: str, code: str = "CB101") -> Path:
        """Write a baseline of the given lines, as they are."""
        return self.write(f".ratchets/{code}.tsv", "".join(f"{line}\n" for line in lines))

    def entries(self, code: str = "CB101") -> list[str]:
        """The lines of a baseline."""
        return self.read(f".ratchets/{code}.tsv").splitlines()

    def git(self, *words: str) -> str:
        """Run git here."""
        ran = subprocess.run(
            ["git", *words], cwd=self.folder, env=git_environment(), capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def commit(self, message: str = "a change") -> str:
        """Commit everything; the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def run(self, *argv: str, within: str = ".") -> Ran:
        """Run the command in this process, in a folder of the repository."""
        from confbag.ratchets.command import main

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main(list(argv), self.folder / within)
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else 1
        return Ran(status, out.getvalue(), err.getvalue())

    def check(self, *argv: str, within: str = ".") -> Any:
        """`check --format json`: the report, with the status in its summary."""
        ran = self.run("check", "--format", "json", *argv, within=within)
        assert ran.out, ran.err
        assert ran.json["summary"]["status"] == ran.status
        return ran.json

    def command(self, *argv: str, env: dict[str, str] | None = None, within: str = ".") -> Ran:
        """Run the command as a process of its own."""
        ran = subprocess.run(
            [sys.executable, "-m", "confbag", "ratchet", *argv],
            cwd=self.folder / within,
            env={**git_environment(), **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            timeout=120,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """An engine without a finding, its ratchets set up, all of it committed."""
    made = Engine(tmp_path / "repository")
    made.write("engine/runtime_context.py", CONTEXT)
    made.write("engine/server_args.py", RECORD)
    made.write("ratchets.toml", CONFIGURATION)
    made.write(".gitignore", ".ratchets/cache/\n")
    made.git("init", "-q", "-b", "main")
    made.commit("the engine")
    return made


@pytest.fixture
def new_engine(tmp_path: Path) -> Callable[[str], Engine]:
    """Make further repositories, empty ones."""

    def make(name: str) -> Engine:
        (tmp_path / name).mkdir()
        return Engine(tmp_path / name)

    return make


@dataclass(frozen=True)
class Judged:
    """What the engine found in files that are only text."""

    analysis: Any

    def symbols(self, path: str = "engine/case.py") -> list[str]:
        """CODE and symbol of each finding of one file, in source order."""
        return [f"{found.code} {found.symbol}" for found in self.analysis.findings if found.path == path]


@pytest.fixture
def judge_files() -> Callable[..., Judged]:
    """The engine on files given as text, with options of the record or of the configuration replaced."""
    from confbag.ratchets.analysis import engine
    from confbag.ratchets.codes import RECORD_RULES
    from confbag.ratchets.configuration import Configuration, RecordSpec

    def judged(
        files: dict[str, str | bytes],
        *,
        codes: tuple[str, ...] = RECORD_RULES,
        options: dict[str, Any] | None = None,
        **how: Any,
    ) -> Judged:
        given = dict(options or {})
        record: dict[str, Any] = {
            "name": "server_args",
            "accessors": ("engine.runtime_context.get_server_args",),
            "types": ("engine.server_args.ServerArgs",),
            "holders": ("server_args",),
        }
        for name in RecordSpec.__dataclass_fields__:
            if name in given:
                value = given.pop(name)
                record[name] = (*record["accessors"], *value) if name == "accessors" else value
        configuration = Configuration(
            root=Path("/tree"), repository=Path("/tree"), codes=codes, records=(RecordSpec(**record),), **given
        )
        texts = {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
        return Judged(engine.analyse(configuration, texts, read=texts.__getitem__, **how))

    return judged
