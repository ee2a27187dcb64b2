"""Paths as configuration, baselines and exceptions write them: POSIX, relative, folders by components, globs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache


def normal(path: str) -> str:
    """A written path without `.` parts, doubled or trailing separators; `.` for the folder itself."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts) or "."


def named(name: str | bytes) -> str:
    """A path as the operating system or git gives it, in the one form that all locales share: UTF-8 where it is."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def local(path: str) -> str:
    """A path of the repository as the operating system takes it; the reverse of `named`."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def outside(relative: str) -> bool:
    """Whether a relative path leaves the folder it starts from."""
    return relative == ".." or relative.startswith("../")


def within(path: str, entry: str) -> bool:
    """Whether a path is the entry, or lies in the folder that the entry names. Both are normal."""
    return entry == "." or path == entry or path.startswith(entry + "/")


def within_any(path: str, entries: Iterable[str]) -> bool:
    """Whether a path lies in one of several entries; an entry with `*` or `?` is a glob."""
    return any(matches(path, entry) if is_glob(entry) else within(path, entry) for entry in entries)


def is_glob(entry: str) -> bool:
    """Brackets are literal: files have them in their names."""
    return "*" in entry or "?" in entry


def matches(path: str, glob: str) -> bool:
    """`*` and `?` stay within one component, `**` crosses them; a folder that matches takes what is in it."""
    return _pattern(glob).match(path) is not None


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    pattern = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", glob.rstrip("/")):
        special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part)
        pattern += re.escape(part) if special is None else special
    return re.compile(rf"{pattern}(?:/.*)?\Z", re.DOTALL)
