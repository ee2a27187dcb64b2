"""Entry points of installed distributions, read several times faster than importlib.metadata reads them.

The same answer: a distribution found earlier on the path hides one of the same name found later, editable installs and
source trees included. Zips, eggs and finders of other people's making are left to importlib.metadata itself.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

_GROUPS = "confbag."
_MARK = b"[" + _GROUPS.encode()
_SUFFIXES = (".dist-info", ".egg-info")


@dataclass(frozen=True)
class EntryPoint:
    """One member of a group: its name, `module:attribute`, and the distribution that declares it.

    info: the folder of the distribution's metadata; empty where it has none, as in a zip.
    hidden_by: the metadata of another distribution of that name, which is found first and does not declare it.
    """

    group: str
    name: str
    value: str
    distribution: str
    info: str = field(default="", compare=False)
    hidden_by: str = field(default="", compare=False)

    def load(self) -> Any:
        """Import what it names. Whatever the import raises comes through: this is other people's code."""
        module, _, attributes = self.value.partition("[")[0].strip().partition(":")
        found: Any = importlib.import_module(module.strip())
        for attribute in filter(None, attributes.strip().split(".")):
            found = getattr(found, attribute)
        return found


_Names = dict[str, tuple[str, frozenset[EntryPoint]]]
"""A distribution's name -> the metadata that was found first, and its members of our groups."""


_scanned: dict[tuple[object, ...], tuple[EntryPoint, ...]] = {}


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The members of one of our groups (`confbag.settings`, `confbag.backends`), sorted by name, one scan a process.

    A changed sys.path, or something installed meanwhile, makes a new scan. Those of a distribution that another of its
    name hides are not among them.
    """
    return tuple(point for point in _members(group) if not point.hidden_by)


def hidden_points(group: str) -> tuple[EntryPoint, ...]:
    """The members that are installed and cannot be found: what is left of another installation of the distribution
    stands before them on the path."""
    return tuple(point for point in _members(group) if point.hidden_by)


def _members(group: str) -> tuple[EntryPoint, ...]:
    if not group.startswith(_GROUPS):
        raise ValueError(f"only groups that begin with {_GROUPS!r} are scanned, not {group!r}")
    seen = tuple((entry, _modified(entry)) for entry in sys.path)
    if seen not in _scanned:
        _scanned.clear()  # ratchet: allow CB121 -- one scan a process, made again when what is on sys.path changes
        found = sorted(_scan(), key=lambda point: (point.group, point.name, point.distribution, point.info))
        _scanned[seen] = tuple(found)  # ratchet: allow CB121 -- as above
    return tuple(point for point in _scanned[seen] if point.group == group)


def _modified(entry: str) -> int:
    try:
        return os.stat(entry or ".").st_mtime_ns
    except OSError:
        return 0


def _scan() -> Iterator[EntryPoint]:
    if any(_finds_distributions(finder) for finder in sys.meta_path):
        yield from _by_importlib(None, {})
        return
    names: _Names = {}
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


def _distribution(folder: str, item: str, names: _Names) -> Iterator[EntryPoint]:
    name = item[: item.rindex(".")].partition("-")[0]
    info = os.path.abspath(os.path.join(folder, item))
    yield from _first_only(name, info, _declared(name.replace("_", "-"), info), names)


def _declared(name: str, info: str) -> Iterator[EntryPoint]:
    try:
        with open(os.path.join(info, "entry_points.txt"), "rb") as file:
            content = file.read()
    except OSError:  # most have none, and an egg-info may be a plain file
        return
    if _MARK in content:
        yield from _parse(content.decode("utf-8", "replace"), name, info)


def _first_only(name: str, info: str, points: Iterable[EntryPoint], names: _Names) -> Iterator[EntryPoint]:
    """The members of the first distribution of a name; those that only a later one has, as hidden."""
    normalised = re.sub(r"[-_.]+", "_", name).lower()
    if normalised not in names:
        found = frozenset(points)
        names[normalised] = (info, found)
        yield from found
        return
    first, known = names[normalised]
    yield from (replace(point, hidden_by=first or name) for point in points if point not in known)


def _parse(text: str, distribution: str, info: str) -> Iterator[EntryPoint]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and not line.startswith("#") and group.startswith(_GROUPS):
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.strip(), distribution, info)


def _by_importlib(path: list[str] | None, names: _Names) -> Iterator[EntryPoint]:
    from importlib.metadata import distributions  # here: it costs more than all the rest of a scan

    for distribution in distributions() if path is None else distributions(path=path):
        name = distribution.metadata["Name"] or ""
        points = (
            EntryPoint(point.group, point.name, point.value, name)
            for point in distribution.entry_points
            if point.group.startswith(_GROUPS)
        )
        yield from _first_only(name, "", points, names)
