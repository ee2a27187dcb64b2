"""The child's part of trying a plug-in: load it, and report which files it runs and which variables it reads."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from confbag.sources.entry_points import EntryPoint


def run(task: dict[str, Any]) -> None:
    """Load one entry point and use it; report each thing as it happens, for the end may come at any time."""
    report = os.dup(1)
    os.dup2(2, 1)  # what a plug-in prints is no report

    def say(**what: Any) -> None:
        os.write(report, (json.dumps(what) + "\n").encode())

    if task["use"]:
        EntryPoint("", "", task["use"], "").load()  # ours, before anything is recorded
    _record(say)
    try:
        loaded = EntryPoint(*task["point"]).load()
        if task["use"]:
            EntryPoint("", "", task["use"], "").load()(loaded, task["point"][1], task["schema"])
    except BaseException as error:  # whatever it is, the parent can catch it too, and says it
        say(raised=type(error).__name__)
    say(ended=True)
    os._exit(0)  # threads that it left behind, and what it registered for the exit, are not ours to wait for


def _record(say: Any) -> None:
    files: set[str] = set()

    def hook(event: str, details: tuple[Any, ...]) -> None:
        file = None
        if event == "exec" and details:
            file = getattr(details[0], "co_filename", None)
        elif event == "import" and len(details) > 1:
            file = details[1]  # an extension module's
        if isinstance(file, str) and file not in files and os.path.isabs(file):
            files.add(file)
            say(file=file)

    sys.addaudithook(hook)

    class Recording(type(os.environ)):  # type: ignore[misc]
        """The environment of this process, which tells what is read of it."""

        def __getitem__(self, name: str) -> str:
            say(read=name)
            value: str = super().__getitem__(name)
            return value

        def __iter__(self) -> Iterator[str]:
            say(read_all=True)
            return iter(list(super().__iter__()))

    os.environ.__class__ = Recording
