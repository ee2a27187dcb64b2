"""What a probe may look at: one filesystem, one environment, one search path, and children it may start."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LARGEST = 4 << 20


@dataclass(frozen=True)
class Ran:
    """How a child ended. out: its standard output, empty on failure. problem: why it failed, or None."""

    out: str = ""
    problem: str | None = None


Start = Callable[[Sequence[str], Mapping[str, str], float], Ran]


def start(argv: Sequence[str], environ: Mapping[str, str], limit: float) -> Ran:
    """Run a child with a time limit; it can crash, hang or exit without taking this process along."""
    try:
        done = subprocess.run(
            argv, env=dict(environ), timeout=limit, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return Ran(problem=f"took longer than {limit:g} s")
    except (OSError, ValueError) as error:
        return Ran(problem=str(error))
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        return Ran(problem=f"{how}: {said[-1][:200]}" if said else how)
    return Ran(out=done.stdout[:_LARGEST].decode("utf-8", "replace"))


@dataclass(frozen=True)
class Evidence:
    """Everything that a probe reads goes through this, so that a test can stage a machine. Absence raises nothing.

    root: where `/` is.
    environ: the environment, never changed.
    search_path: where Python looks for packages, real paths.
    machine: as `platform` calls it.
    system: as `platform` calls it.
    python: the interpreter for children, empty when there is none.
    start: runs a child.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    search_path: tuple[str, ...] = ()
    machine: str = ""
    system: str = "Linux"
    python: str = ""
    start: Start = start

    @classmethod
    def here(cls) -> Evidence:
        """This process's machine."""
        search_path = tuple(entry or os.getcwd() for entry in sys.path)
        return cls(
            Path("/"), dict(os.environ), search_path, platform.machine(), platform.system(), sys.executable or ""
        )

    def path(self, name: str) -> Path:
        """An absolute name under the root."""
        return self.root / name.lstrip("/")

    def exists(self, name: str) -> bool:
        """Whether there is such a file, device or folder that we may see."""
        try:
            return self.path(name).exists()
        except (OSError, ValueError):
            return False

    def names(self, folder: str, pattern: str) -> list[str]:
        """The absolute names in a folder that match, numbers in order: /dev/davinci2 before /dev/davinci10."""
        try:
            found = [
                f"{folder.rstrip('/')}/{path.relative_to(self.path(folder))}"
                for path in self.path(folder).glob(pattern)
            ]
        except (OSError, ValueError):
            return []
        return sorted(found, key=lambda name: (len(name), name))

    def content(self, name: str) -> bytes | None:
        """The first part of a file, or None."""
        try:
            with self.path(name).open("rb") as file:
                return file.read(_LARGEST)
        except (OSError, ValueError):
            return None

    def text(self, name: str) -> str | None:
        """The first part of a text file, or None."""
        content = self.content(name)
        return None if content is None else content.decode("utf-8", "replace")

    def which(self, program: str) -> str | None:
        """The first program of that name on PATH, as an absolute name under the root."""
        for folder in self.environ.get("PATH", "").split(os.pathsep):
            name = f"{folder.rstrip('/')}/{program}"
            if folder.startswith("/") and os.access(self.path(name), os.X_OK) and self.path(name).is_file():
                return name
        return None

    def run(self, argv: Sequence[str], limit: float) -> Ran:
        """Run a program with the environment as it is."""
        return self.start(argv, self.environ, limit)

    def ask(
        self, function: str, limit: float, *, environ: Mapping[str, str] | None = None, **arguments: Any
    ) -> tuple[Any, str | None]:
        """What `module:function(**arguments)` answers in a Python child, and None; or None and why there is no answer.

        The child looks for packages where this process does, the folder it starts in excepted. environ: what differs
        from ours, there only.
        """
        if not self.python:
            return None, "this process does not know its interpreter"
        module, _, name = function.partition(":")
        argv = [self.python, "-c", _ASK, json.dumps(list(self.search_path)), module, name, json.dumps(arguments)]
        ran = self.start(argv, {**self.environ, **(environ or {})}, limit)
        if ran.problem is not None:
            return None, ran.problem
        try:
            # Libraries print to standard output when they are loaded: the answer is the last line.
            return json.loads(ran.out.strip().rpartition("\n")[2]), None
        except ValueError:
            return None, "its answer is not JSON"


_ASK = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]  # a json.py in the folder we start in is not ours
import json, importlib
sys.path[:] = json.loads(sys.argv[1])
answer = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(**json.loads(sys.argv[4]))
sys.stdout.flush()
print("\\n" + json.dumps(answer), flush=True)
"""
