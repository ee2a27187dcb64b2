"""Typed values out of a TOML table; whatever is wrong becomes a fault with its place, and reading goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confbag.ratchets.config.toml_text import Document, Path
from confbag.ratchets.faults import Fault

_NAMES = {str: "a string", bool: "true or false", int: "a whole number", list: "a list", dict: "a table"}


class Table:
    """A table of a document. Every key that is asked for is known; `close` names the others."""

    def __init__(self, document: Document, path: Path, values: Mapping[str, Any], faults: list[Fault]) -> None:
        self.document = document
        self.path = path
        self.values = values
        self.faults = faults
        self._asked: list[str] = []

    def fault(self, message: str, *inside: str | int) -> None:
        """Note what is wrong with the table, or with what stands at a path inside it."""
        self.faults.append(Fault(self.document.at((*self.path, *inside)), message))

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self.values

    def text(self, key: str, default: str = "") -> str:
        """A string that is not empty."""
        value: str = self._typed(key, str, default)
        if key in self.values and value == "" and self.values[key] == "":
            self.fault(f"`{key}` is empty; write what it stands for or leave it out", key)
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value: bool = self._typed(key, bool, default)
        return value

    def number(self, key: str, default: int) -> int:
        """A whole number from 1."""
        value: int = self._typed(key, int, default)
        if value < 1:
            self.fault(f"`{key}` is {value}; write a number from 1", key)
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings that are not empty, each once."""
        return tuple(self.numbered(key).values())

    def numbered(self, key: str) -> dict[int, str]:
        """The same by their place in the list, which is where a fault of one stands."""
        kept: dict[int, str] = {}
        for number, value in enumerate(self._typed(key, list, [])):
            if not isinstance(value, str) or not value:
                self.fault(f"`{key}` is a list of strings that are not empty; this one is {value!r}", key, number)
            elif value in kept.values():
                self.fault(f"`{key}` names {value!r} twice; remove one", key, number)
            else:
                kept[number] = value
        return kept

    def table(self, key: str) -> Table:
        """A table inside; empty where it is not there."""
        return Table(self.document, (*self.path, key), self._typed(key, dict, {}), self.faults)

    def tables(self, key: str) -> list[Table]:
        """The elements of an array of tables."""
        found = []
        for number, value in enumerate(self._typed(key, list, [])):
            if isinstance(value, dict):
                found.append(Table(self.document, (*self.path, key, number), value, self.faults))
            else:
                self.fault(f"`{key}` is an array of tables; this element is {value!r}", key, number)
        return found

    def known(self, *keys: str) -> None:
        """Say that keys are read elsewhere."""
        self._asked += keys

    def close(self) -> None:
        """Name every key that nobody asked for."""
        for key in self.values:
            if key not in self._asked:
                known = closest(key, self._asked) if self._asked else "nothing is set here; remove it"
                self.fault(f"unknown key `{key}`; {known}", key)

    def _typed(self, key: str, kind: type, default: Any) -> Any:
        self._asked.append(key)
        if key not in self.values:
            return default
        value = self.values[key]
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.fault(f"`{key}` must be {_NAMES[kind]}, is {value!r}", key)
        return default


def closest(word: str, known: Iterable[str]) -> str:
    """What somebody most likely meant, as the end of a message."""
    from difflib import get_close_matches  # here: only a mistake pays for the import

    names = list(dict.fromkeys(known))
    close = get_close_matches(word[:100], names, n=1)
    return f"did you mean `{close[0]}`?" if close else f"write one of {', '.join(names)}"
