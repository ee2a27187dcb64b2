"""The names that an engine's startup record has for our keys, read from records.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from confbag.sources.packaged import packaged
from confbag.sources.scalars import ScalarError, plain
from confbag.sources.yaml import load_document

UNKNOWN = "no setting answers to it"


@dataclass(frozen=True)
class Meaning:
    """What one value of a field says. values: our key -> our value. reason: what is not understood of it, and why."""

    values: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True)
class Field:
    """One field of a record: the key it sets and how its values read as ours, as records.yaml describes."""

    name: str
    key: str | None = None
    type: str = "text"
    inverted: bool = False
    default: Any = None
    also: tuple[str, ...] = ()
    words: Mapping[str, Any] = field(default_factory=dict)
    closed: bool = False
    upper: bool = False
    unset: tuple[str, ...] = ()
    only: Mapping[str, list[str]] = field(default_factory=dict)
    why: str = UNKNOWN

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
        return raw

    def word(self, raw: Any) -> str:
        """The value as `words` spells it."""
        return spelt(raw).upper() if self.upper else spelt(raw)

    def meaning(self, raw: Any, beside: Mapping[str, Any]) -> Meaning:
        """What the value says, given what the record's other fields hold."""
        for other, allowed in self.only.items():
            if spelt(beside.get(other)) not in allowed:
                return Meaning(reason=self.why)
        said = self.words.get(self.word(raw))
        if said is None:
            return Meaning(reason=self.why) if self.key is None else Meaning({self.key: self.value(raw)})
        return self._of(said, beside)

    def _of(self, said: Any, beside: Mapping[str, Any]) -> Meaning:
        if not isinstance(said, Mapping):
            return Meaning({str(self.key): said})
        if "reason" in said:
            return Meaning(reason=said["reason"])
        if "by" not in said:
            return Meaning(said)
        found = said["is"].get(spelt(beside.get(said["by"])))
        meant = self._of(said["else"] if found is None else found, beside)
        return meant if found is not None else Meaning(meant.values, said.get("note", meant.reason))

    def reads(self, raw: Any) -> str | None:
        """The other field that this value is only understood with."""
        said = self.words.get(self.word(raw))
        return said.get("by") if isinstance(said, Mapping) else None


@dataclass(frozen=True)
class Kind:
    """Whose record: its fields by every spelling, and how its launch line is written."""

    name: str
    fields: Mapping[str, Field]
    sections: Mapping[str, str]
    unlike: Mapping[str, str]
    launchers: tuple[tuple[str, ...], ...]
    positional: str | None
    negation: bool
    file: str | None

    def canonical(self, spelling: str) -> str:
        """A flag or a field as the fields are listed: no dashes, and a section by its own name."""
        head, dot, member = spelling.lstrip("-").partition(".")
        head = head.replace("-", "_")
        return self.sections.get(head, head) + dot + member.rstrip("+")


def spelt(raw: Any) -> str:
    """A value as YAML spells it."""
    if raw is None:
        return "null"
    return str(raw).lower() if isinstance(raw, bool) else str(raw)


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
    return tuple(name for name in _records() if not name.startswith("x-"))


@cache
def kind_of(name: str) -> Kind | None:
    """What is known of a kind of record; None for one that is not."""
    if name not in kinds():
        return None
    record = _records()[name]
    spellings: dict[str, Field] = {}
    for field_name, said in record["fields"].items():
        unset = (*record.get("unset", ()), *said.get("unset", ()))
        known = Field(**{**said, "name": field_name, "also": tuple(said.get("also", ())), "unset": unset})
        spellings.update(dict.fromkeys((field_name, *known.also), known))
    sections = {short: section for section, also in record.get("sections", {}).items() for short in (section, *also)}
    return Kind(
        name=name,
        fields=spellings,
        sections=sections,
        unlike=record.get("unlike", {}),
        launchers=tuple(tuple(words.split()) for words in record.get("launchers", ())),
        positional=record.get("positional"),
        negation=record.get("negation", False),
        file=record.get("file"),
    )


def answers_to(name: str) -> list[tuple[str, str]]:
    """The engines whose record has a field of that underscored name, each with our key that it sets as it is."""
    found = [(kind, (fields_of(kind) or {}).get(name)) for kind in kinds()]
    return [(kind, one.key) for kind, one in found if one is not None and one.key is not None and not one.inverted]


def fields_of(kind: str) -> Mapping[str, Field] | None:
    """Every spelling of every field of a record, underscored, or None for an unknown kind."""
    known = kind_of(kind)
    return None if known is None else known.fields
