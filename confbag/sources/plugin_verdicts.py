"""What trying a plug-in found, kept in a folder of this user for as long as its files and variables stay the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from confbag.sources.entry_points import EntryPoint

FORMAT = 2
BELIEVED = 3600.0
"""Seconds for which a refusal is believed: what made a plug-in hang or die may be gone, and nothing here shows it."""

_LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH")
_METADATA = ("METADATA", "PKG-INFO", "RECORD", "entry_points.txt")


class Verdict(NamedTuple):
    """refused: why it must not be loaded; None when it may. files, read: what was run and which variables were read, as
    far as the trial came. read_all: it looked at the whole environment."""

    refused: str | None
    files: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    read_all: bool = False

    @classmethod
    def of(cls, refused: str | None, report: Iterable[Mapping[str, Any]]) -> Verdict:
        """The verdict that a child's report makes."""
        lines = list(report)

        def told(what: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(str(line[what]) for line in lines if what in line))

        return cls(refused, told("file"), told("read"), any("read_all" in line for line in lines))


def find(point: EntryPoint, seconds: float, schema: str) -> Verdict | None:
    """What was found of an entry point as it is now; None when it was not tried, or anything of it has changed."""
    path = _path(point, seconds, schema)
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            kept = json.loads(file.read())
        verdict = Verdict(kept["refused"], tuple(kept["files"]), tuple(kept["read"]), kept["read_all"])
        age = time.time() - kept["tried"]
        same = kept["state"] == _state(point, verdict)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # absent, or damaged: it is tried again
        return None
    believed = verdict.refused is None or (isinstance(verdict.refused, str) and 0 <= age < BELIEVED)
    return verdict if same and believed else None


def keep(point: EntryPoint, seconds: float, schema: str, verdict: Verdict) -> None:
    """Keep a verdict, whole or not at all; where nothing can be written, the next process tries again."""
    path = _path(point, seconds, schema)
    if path is None:
        return
    content = {
        "refused": verdict.refused,
        "files": verdict.files,
        "read": verdict.read,
        "read_all": verdict.read_all,
        "tried": time.time(),
        "state": _state(point, verdict),
    }
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def folder() -> str | None:
    """Where verdicts are kept: XDG_CACHE_HOME, LOCALAPPDATA or ~/.cache; None when this user has no home."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return os.path.join(base, "confbag", "plugins") if os.path.isabs(base) else None


def _path(point: EntryPoint, seconds: float, schema: str) -> str | None:
    base = folder()
    if base is None or not point.info:
        return None
    search = [entry or os.getcwd() for entry in sys.path]
    key = [FORMAT, sys.executable, sys.version, search, seconds, point.info]
    key += [point.group, point.name, point.value, point.distribution, schema]
    return os.path.join(base, f"{_digest(json.dumps(key))}.json")


def _state(point: EntryPoint, verdict: Verdict) -> dict[str, Any]:
    """What a verdict rests on, as it is now. Variables are kept as digests: some hold secrets."""
    files = [*(os.path.join(point.info, name) for name in _METADATA), *verdict.files]
    names = sorted({*verdict.read, *_LOADER} - {"CONFBAG_PLUGIN_LOADING"})
    return {
        "files": {file: _stamp(file) for file in files},
        "read": {name: _variable(name) for name in names},
        "environment": _digest(json.dumps(sorted(os.environ.items()))) if verdict.read_all else None,
    }


def _stamp(file: str) -> list[int] | None:
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size]


def _variable(name: str) -> str | None:
    value = os.environ.get(name)
    return None if value is None else _digest(value)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
