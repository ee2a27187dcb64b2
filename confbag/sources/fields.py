"""The names that an engine's startup record has for our keys, read from records.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from confbag.sources.packaged import packaged
from confbag.sources.scalars import ScalarError, plain
from confbag.sources.yaml import load_document


@dataclass(frozen=True)
class Field:
    """One field of a record: the key it sets and how its values read as ours."""

    name: str
    key: str
    type: str = "text"
    inverted: bool = False
    default: Any = None
    also: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    def is_unset(self, raw: Any) -> bool:
        """Whether the value is one that means, in the record's own words, that nothing was set."""
        return raw is None or (isinstance(raw, str) and raw in self.unset)

    def value(self, raw: Any) -> Any:
        """The value as our key takes it. What does not fit comes through as it is, for the schema to say so."""
        if isinstance(raw, bool):
            return raw is not self.inverted if self.type == "flag" else raw
        if not isinstance(raw, str):
            return raw
        if self.type in ("int", "float"):
            return _number(raw, self.type)
        return self.words.get(raw, raw)


def _number(text: str, kind: str) -> Any:
    try:
        number = plain(text.strip())
    except ScalarError:
        return text
    if kind == "float" and type(number) is int:
        return float(number)
    return number if type(number).__name__ == kind else text


@cache
def _records() -> Mapping[str, Any]:
    content = packaged("confbag.sources", "records.yaml")
    document, faults = load_document(content or b"", "records.yaml")
    if document is None or faults:
        raise AssertionError(f"records.yaml is part of confbag and is damaged: {faults}")
    records: Mapping[str, Any] = document.data
    return records


def kinds() -> tuple[str, ...]:
    """Whose records are known."""
    return tuple(_records())


def refusals(kind: str) -> Mapping[str, str]:
    """Flags whose meaning would be lost if they were ignored, and what to say about each."""
    refused: Mapping[str, str] = _records()[kind].get("refused", {})
    return refused


@cache
def fields_of(kind: str) -> Mapping[str, Field] | None:
    """Every spelling of every field of a record, underscored, or None for an unknown kind."""
    record = _records().get(kind)
    if record is None:
        return None
    spellings: dict[str, Field] = {}
    for name, said in record["fields"].items():
        unset = (*record.get("unset", ()), *said.get("unset", ()))
        known = Field(**{**said, "name": name, "also": tuple(said.get("also", ())), "unset": unset})
        spellings.update(dict.fromkeys((name, *known.also), known))
    return spellings
