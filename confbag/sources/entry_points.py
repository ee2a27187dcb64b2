"""Entry points of installed distributions, read several times faster than importlib.metadata reads them.

The same answer: a distribution found earlier on the path hides one of the same name found later, editable installs and
source trees included. Zips, eggs and finders of other people's making are left to importlib.metadata itself.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_GROUPS = "confbag."
_MARK = b"[" + _GROUPS.encode()
_SUFFIXES = (".dist-info", ".egg-info")


@dataclass(frozen=True)
class EntryPoint:
    """One member of a group: its name, `module:attribute`, and the distribution that declares it.

    info: the folder of the distribution's metadata; empty where it has none, as in a zip.
    """

    group: str
    name: str
    value: str
    distribution: str
    info: str = field(default="", compare=False)

    def load(self) -> Any:
        """Import what it names. Whatever the import raises comes through: this is other people's code."""
        module, _, attributes = self.value.partition("[")[0].strip().partition(":")
        found: Any = importlib.import_module(module.strip())
        for attribute in filter(None, attributes.strip().split(".")):
            found = getattr(found, attribute)
        return found


_scanned: dict[tuple[object, ...], tuple[EntryPoint, ...]] = {}


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The members of one of our groups (`confbag.settings`, `confbag.backends`), sorted by name, one scan a process.

    A changed sys.path, or something installed meanwhile, makes a new scan.
    """
    if not group.startswith(_GROUPS):
        raise ValueError(f"only groups that begin with {_GROUPS!r} are scanned, not {group!r}")
    seen = tuple((entry, _modified(entry)) for entry in sys.path)
    if seen not in _scanned:
        _scanned.clear()  # ratchet: allow CB121 -- one scan a process, made again when what is on sys.path changes
        found = sorted(_scan(), key=lambda point: (point.group, point.name, point.distribution))
        _scanned[seen] = tuple(found)  # ratchet: allow CB121 -- as above
    return tuple(point for point in _scanned[seen] if point.group == group)


def _modified(entry: str) -> int:
    try:
        return os.stat(entry or ".").st_mtime_ns
    except OSError:
        return 0


def _scan() -> Iterator[EntryPoint]:
    if any(_finds_distributions(finder) for finder in sys.meta_path):
        yield from _by_importlib(None, set())
        return
    names: set[str] = set()
    for entry in dict.fromkeys(sys.path):
        folder = entry or "."
        if folder.endswith(".egg") or os.path.isfile(folder):
            yield from _by_importlib([folder], names)
            continue
        try:
            found = os.listdir(folder)
        except OSError:
            continue
        for item in found:
            if item.endswith(_SUFFIXES):
                yield from _distribution(folder, item, names)


def _finds_distributions(finder: Any) -> bool:
    """A finder with distributions of its own. Python's PathFinder, which everyone has, reads the folders as we do."""
    return hasattr(finder, "find_distributions") and getattr(finder, "__name__", "") != "PathFinder"


def _distribution(folder: str, item: str, names: set[str]) -> Iterator[EntryPoint]:
    name = item[: item.rindex(".")].partition("-")[0]
    normalised = re.sub(r"[-_.]+", "_", name).lower()
    if normalised in names:
        return
    names.add(normalised)
    info = os.path.abspath(os.path.join(folder, item))
    try:
        with open(os.path.join(info, "entry_points.txt"), "rb") as file:
            content = file.read()
    except OSError:  # most have none, and an egg-info may be a plain file
        return
    if _MARK in content:
        yield from _parse(content.decode("utf-8", "replace"), name.replace("_", "-"), info)


def _parse(text: str, distribution: str, info: str) -> Iterator[EntryPoint]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and not line.startswith("#") and group.startswith(_GROUPS):
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.strip(), distribution, info)


def _by_importlib(path: list[str] | None, names: set[str]) -> Iterator[EntryPoint]:
    from importlib.metadata import distributions  # here: it costs more than all the rest of a scan

    for distribution in distributions() if path is None else distributions(path=path):
        name = distribution.metadata["Name"] or ""
        normalised = re.sub(r"[-_.]+", "_", name).lower()
        if normalised in names:
            continue
        names.add(normalised)
        for point in distribution.entry_points:
            if point.group.startswith(_GROUPS):
                yield EntryPoint(point.group, point.name, point.value, name)
