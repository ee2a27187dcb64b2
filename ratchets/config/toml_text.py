"""TOML read with the place of each key: `tomllib` gives the data, a scan of the same text gives the lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

from confbag.ratchets.faults import Fault

Path = tuple["str | int", ...]

_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")
_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_STRING = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''',
    re.DOTALL,
)
_SCALAR = re.compile(r"[^\s,\]}#][^,\]}#\n]*")
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Document:
    """A file's tables, and where each of their keys stands."""

    def __init__(self, name: str, text: str, tables: Mapping[str, Any]) -> None:
        self.name = name
        self.text = text
        self.tables = tables

    def at(self, path: Path) -> str:
        """`file:line:column` of the key or element, or of the nearest one around it; the file alone at the top."""
        while path:
            offset = self._places.get(path)
            if offset is not None:
                line = self.text.count("\n", 0, offset) + 1
                column = offset - self.text.rfind("\n", 0, offset)
                return f"{self.name}:{line}:{column}"
            path = path[:-1]
        return self.name

    def line(self, path: Path) -> int:
        """The 1-based line of a key or element that is there."""
        return self.text.count("\n", 0, self._places[path]) + 1

    @cached_property
    def _places(self) -> dict[Path, int]:
        return _Scan(self.text).places


def read(name: str, content: bytes) -> Document | Fault:
    """The document, or its one syntax error."""
    toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        # TOML's own line end; "\r\n" stands in files from elsewhere.
        text = content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Fault(f"{name}:{line}", "is not UTF-8; save the file as UTF-8")
    try:
        return Document(name, text, toml.loads(text))
    except toml.TOMLDecodeError as error:
        message = str(error)
        match = _AT.search(message)
        said = message[: match.start()] if match else message
        lines = text.count("\n") + 1
        place = f"{name}:{match[1]}:{match[2]}" if match and match[1] else f"{name}:{lines}"
        return Fault(place, f"is not TOML: {said[:1].lower()}{said[1:]}")
    except RecursionError:
        return Fault(name, "is nested too deep to read")


class _Scan:
    """Offsets of the keys of a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: dict[Path, int] = {}
        self._arrays: dict[Path, int] = {}
        self._document()

    def _document(self) -> None:
        table: Path = ()
        at = self._skip(0)
        while at < len(self.text):
            if self.text[at] == "[":
                table, at = self._header(at)
            else:
                at = self._pair(table, at)
            at = self._skip(at)

    def _header(self, start: int) -> tuple[Path, int]:
        double = self.text.startswith("[[", start)
        names, at = self._keys(start + (2 if double else 1))
        path = (*self._resolved(tuple(names[:-1])), names[-1])
        if double:
            number = self._arrays[path] = self._arrays.get(path, -1) + 1
            self.places.setdefault(path, start)
            path = (*path, number)
        self.places.setdefault(path, start)
        return path, at + (2 if double else 1)

    def _resolved(self, names: Path) -> Path:
        """A header's path with the number of the last element where a name is an array of tables."""
        path: Path = ()
        for name in names:
            path = (*path, name)
            if path in self._arrays:
                path = (*path, self._arrays[path])
        return path

    def _pair(self, table: Path, start: int) -> int:
        names, at = self._keys(start)
        for length in range(1, len(names) + 1):
            self.places.setdefault((*table, *names[:length]), start)
        return self._value((*table, *names), self._skip(at + 1))

    def _keys(self, at: int) -> tuple[list[str], int]:
        names = []
        while True:
            match = _KEY.match(self.text, at)
            assert match is not None, "the text was read as TOML"
            names.append(next(group for group in match.groups() if group is not None))
            at = match.end()
            if self.text[at] != ".":
                return names, at
            at += 1

    def _value(self, path: Path, at: int) -> int:
        opening = self.text[at]
        if opening == "[":
            return self._array(path, at)
        if opening == "{":
            return self._inline(path, at)
        match = (_STRING if opening in "\"'" else _SCALAR).match(self.text, at)
        assert match is not None, "the text was read as TOML"
        return match.end()

    def _array(self, path: Path, at: int) -> int:
        at = self._skip(at + 1)
        number = 0
        while self.text[at] != "]":
            element = (*path, number)
            self.places[element] = at
            at = self._skip(self._value(element, at))
            if self.text[at] == ",":
                at = self._skip(at + 1)
            number += 1
        return at + 1

    def _inline(self, path: Path, at: int) -> int:
        at = self._skip(at + 1)
        while self.text[at] != "}":
            at = self._skip(self._pair(path, at))
            if self.text[at] == ",":
                at = self._skip(at + 1)
        return at + 1

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None, "it matches the empty text"
        return match.end()
