"""Settings from an engine's startup record: its launch flags, or the object or mapping that it keeps them in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.fields import Kind, kind_of, kinds
from confbag.sources.keys import Keys, same, twice
from confbag.sources.launch import Given, Heard, read_line, take
from confbag.words.given import expect, wrong_type
from confbag.words.provenance import Layer, Setting
from confbag.words.suggest import nearest
from confbag.words.text import printable

_ABSENT: Any = object()


@dataclasses.dataclass(frozen=True)
class Record:
    """kind: whose record it is ("sglang", "vllm"). One of: argv, its launch line; values, a mapping or object of its
    fields.

    A launch line may begin with the command that starts the engine. A mapping is taken at its word. An object holds
    every field, set or not, so a field that still has the record's own default (of a dataclass: the class's) counts as
    not set, and what lies below in precedence keeps its say.
    """

    kind: str
    argv: Sequence[str] | None = None
    values: Any = None

    def __post_init__(self) -> None:
        expect(self.kind, str, "Record", "first the kind of record", "Record('sglang', argv=[...])")
        if self.argv is not None and (not isinstance(self.argv, Sequence) or isinstance(self.argv, (str, bytes))):
            write = "Record('sglang', argv=['--tp-size', '8']), and values={'tp_size': 8} for fields"
            raise wrong_type("Record(argv=...)", "a list of the words of a launch line", self.argv, write)
        if isinstance(self.values, (str, bytes, int, float, Sequence, type)):
            write = "Record('sglang', values={'tp_size': 8}), or the object itself, values=server_args"
            raise wrong_type(
                "Record(values=...)", "a mapping of fields, or an object that has them", self.values, write
            )

    def __repr__(self) -> str:
        held = f"{len(self.argv)} words" if self.argv is not None else f"a {type(self.values).__name__}"
        return f"<Record of {printable(self.kind)}: {held}>"  # no value: one may be a secret


def read_record(record: Record, keys: Keys) -> Found:
    """What the record sets. What no key answers to is listed in `ignored`, by name only, with the reason."""
    origin = f"record {printable(record.kind)}"
    kind = kind_of(record.kind)
    if kind is None:
        meant = nearest(record.kind, kinds())
        hint = f"did you mean {meant}?" if meant else f"known: {', '.join(kinds())}"
        return Found(faults=(Fault(origin, None, f"unknown kind of record; {hint}"),))
    if (record.argv is None) == (record.values is None):
        return Found(faults=(Fault(origin, None, "takes argv=[...] or values=..., exactly one of them"),))
    if record.argv is not None:
        sources = read_line(record.argv, kind, origin)
    else:
        sources = (Heard(), Heard())
        _take_values(record.values, "", origin, kind, sources[1])
    beside = {given.field.name: given.raw for heard in sources for given in heard.given}
    read = {given.field.reads(given.raw) for heard in sources for given in heard.given}
    settings: list[Setting] = []
    for order, heard in enumerate(sources):
        settings += _settle(heard, keys, beside, read, order)
    faults = tuple(fault for heard in sources for fault in heard.faults)
    return Found(
        tuple(settings), faults, ignored={name: why for heard in sources for name, why in heard.ignored.items()}
    )


def _settle(heard: Heard, keys: Keys, beside: Mapping[str, Any], read: set[str | None], order: int) -> list[Setting]:
    """The settings of one part of a record, each key once; what contradicts itself or is not understood is noted."""
    settings: dict[str, Setting] = {}
    for given in heard.given:
        field, raw, place = given.field, given.raw, given.place
        if field.type == "flag" and not isinstance(raw, bool):
            if raw is not None:
                heard.faults.append(Fault(place, field.key, "must be true or false"))
            continue
        if field.is_unset(raw) or (field.key is None and field.name in read):
            continue
        unknown = _unknown(given)
        if unknown is not None:
            heard.faults.append(Fault(place, field.key, unknown))
            continue
        meant = field.meaning(raw, beside)
        if meant.reason is not None:
            said = f"{field.word(raw)}: " if field.word(raw) in field.words else ""
            heard.pass_over(given.spelling, said + meant.reason)
        text = raw if isinstance(raw, str) else None
        for key, value in meant.values.items():
            if key not in keys.leaves:
                heard.pass_over(given.spelling)
                continue
            setting = Setting(key, value, Layer.RECORD, place, text, order=order)
            first = settings.setdefault(key, setting)
            if not same(first.value, setting.value):
                heard.faults.append(Fault(place, key, twice(first.origin, place)))
    return list(settings.values())


def _unknown(given: Given) -> str | None:
    """What to say of a value that the engine itself would not know; None for one that it does."""
    field = given.field
    if not field.closed or field.word(given.raw) in field.words:
        return None
    meant = nearest(field.word(given.raw), field.words)
    hint = f"did you mean {meant}?" if meant else f"known are {', '.join(field.words)}"
    return f"unknown {field.name.rpartition('.')[2].replace('_', ' ')} {printable(str(given.raw))!r}; {hint}"


def _take_values(values: Any, section: str, origin: str, kind: Kind, heard: Heard) -> None:
    whole = isinstance(values, Mapping)
    defaults = _declared_defaults(values)
    for name in _names(values, section, kind):
        raw = values[name] if whole else getattr(values, name, _ABSENT)
        spelling = f"{section}{name}"
        known = kind.fields.get(kind.canonical(spelling))
        default = defaults.get(name, known.default if known is not None else _ABSENT)
        if raw is _ABSENT or (known is not None and not whole and same(raw, default)):
            continue
        if isinstance(raw, Enum):
            raw = raw.value if isinstance(raw, str) else raw.name
        if kind.canonical(spelling) in kind.sections.values() and not isinstance(raw, str):
            if raw is not None:
                _take_values(raw, f"{spelling}.", origin, kind, heard)
        else:
            take(spelling, f"{origin} {printable(spelling)}", raw, kind, heard)


def _names(values: Any, section: str, kind: Kind) -> list[Any]:
    if isinstance(values, Mapping):
        return list(values)
    if dataclasses.is_dataclass(values):
        return [field.name for field in dataclasses.fields(values)]
    held = [name for name in getattr(values, "__dict__", {}) if not name.startswith("_")]
    known = {*kind.fields, *kind.sections}
    # Without a section: the fields beside the sections. In one: its members.
    mine = [name.removeprefix(section) for name in known if name.startswith(section)]
    return held + [name for name in mine if name not in held and name.isidentifier() and hasattr(values, name)]


def _declared_defaults(values: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(values):
        return {}
    declared = ((field.name, field.default) for field in dataclasses.fields(values))
    return {name: default for name, default in declared if default is not dataclasses.MISSING}
