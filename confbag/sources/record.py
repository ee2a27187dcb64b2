"""Settings from an engine's startup record: its launch flags, or the object or mapping that it keeps them in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from confbag.errors import Fault
from confbag.provenance import Layer, Setting
from confbag.sources import Found
from confbag.sources.fields import Field, fields_of, kinds, refusals
from confbag.sources.files import printable
from confbag.sources.keys import Keys, same, twice
from confbag.suggest import nearest

_ABSENT: Any = object()


@dataclasses.dataclass(frozen=True)
class Record:
    """kind: whose record it is ("sglang"). One of: argv, its launch flags; values, a mapping or object of its fields.

    A mapping is taken at its word. An object holds every field, set or not, so a field that still has the record's own
    default (of a dataclass: the class's) counts as not set, and what lies below in precedence keeps its say.
    """

    kind: str
    argv: Sequence[str] | None = None
    values: Any = None


_Given = tuple[str, Field, Any]


def read_record(record: Record, keys: Keys) -> Found:
    """What the record sets. Flags and fields that no key answers to are listed in `ignored`, by name only."""
    origin = f"record {printable(record.kind)}"
    fields = fields_of(record.kind)
    if fields is None:
        meant = nearest(record.kind, kinds())
        hint = f"did you mean {meant}?" if meant else f"known: {', '.join(kinds())}"
        return Found(faults=(Fault(origin, None, f"unknown kind of record; {hint}"),))
    if (record.argv is None) == (record.values is None):
        return Found(faults=(Fault(origin, None, "takes argv=[...] or values=..., exactly one of them"),))
    faults: list[Fault] = []
    ignored: list[str] = []
    settings: dict[str, Setting] = {}
    if record.argv is not None:
        given = _from_argv(record.argv, fields, refusals(record.kind), origin, faults, ignored)
    else:
        given = _from_values(record.values, fields, ignored)
    for spelling, field, raw in given:
        place = f"{origin} {spelling}"
        if field.key not in keys.leaves:
            ignored.append(spelling)
            continue
        if field.type == "flag" and not isinstance(raw, bool):
            if raw is not None:
                faults.append(Fault(place, field.key, "must be true or false"))
            continue
        if field.is_unset(raw):
            continue
        text = raw if isinstance(raw, str) else None
        setting = Setting(field.key, field.value(raw), Layer.RECORD, place, text)
        first = settings.setdefault(field.key, setting)
        if not same(first.value, setting.value):
            faults.append(Fault(place, field.key, twice(first.origin, place)))
    return Found(tuple(settings.values()), tuple(faults), ignored=tuple(dict.fromkeys(ignored)))


def _from_argv(
    argv: Sequence[str],
    fields: Mapping[str, Field],
    refused: Mapping[str, str],
    origin: str,
    faults: list[Fault],
    ignored: list[str],
) -> Iterator[_Given]:
    words = [str(word) for word in argv]
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        following = position
        while following < len(words) and not _is_flag(words[following]):
            following += 1
        values, position = words[position:following], following
        if not _is_flag(word):  # only at the start: later on, a flag has taken the words that follow it
            faults.append(
                Fault(origin, None, "argv must begin with a flag, not with the command; leave out what comes before")
            )
            continue
        spelling, equals, value = word.partition("=")
        if equals:
            values.insert(0, value)
        name = spelling.lstrip("-").replace("-", "_")
        place = f"{origin} {printable(spelling)}"
        field = fields.get(name)
        if name in refused:
            faults.append(Fault(place, None, refused[name]))
        elif field is None:
            ignored.append(printable(spelling))
        elif field.type == "flag":
            if values:
                faults.append(Fault(place, field.key, "takes no value; leave the flag out for the other meaning"))
            yield spelling, field, True
        elif len(values) != 1:
            faults.append(Fault(place, field.key, "needs a value" if not values else "takes one value, not several"))
        else:
            yield spelling, field, values[0]


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _from_values(values: Any, fields: Mapping[str, Field], ignored: list[str]) -> Iterator[_Given]:
    whole = isinstance(values, Mapping)
    defaults = _declared_defaults(values)
    for name in _names(values, fields):
        field = fields.get(str(name).replace("-", "_"))
        if field is None:
            ignored.append(printable(str(name)))
            continue
        raw = values[name] if whole else getattr(values, name, _ABSENT)
        if raw is _ABSENT or (not whole and same(raw, defaults.get(name, field.default))):
            continue
        yield str(name), field, raw


def _names(values: Any, fields: Mapping[str, Field]) -> list[Any]:
    if isinstance(values, Mapping):
        return list(values)
    if dataclasses.is_dataclass(values):
        return [field.name for field in dataclasses.fields(values)]
    held = [name for name in getattr(values, "__dict__", {}) if not name.startswith("_")]
    return held + [name for name in fields if name not in held and hasattr(values, name)]


def _declared_defaults(values: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(values):
        return {}
    declared = ((field.name, field.default) for field in dataclasses.fields(values))
    return {name: default for name, default in declared if default is not dataclasses.MISSING}
