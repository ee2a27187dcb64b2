"""An engine's launch line as fields with values: its flags, and the YAML file of more flags that it may name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confbag.errors import Fault
from confbag.sources.fields import UNKNOWN, Field, Kind
from confbag.sources.yaml import load_file
from confbag.words.text import printable


@dataclass(frozen=True)
class Given:
    """One field that was given. spelling: as it was written. place: the origin of what it sets."""

    spelling: str
    place: str
    field: Field
    raw: Any


@dataclass
class Heard:
    """What was read of a record so far. ignored: what is not understood, by name, with the reason."""

    given: list[Given] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)

    def pass_over(self, spelling: str, reason: str = UNKNOWN) -> None:
        """List what is not understood, once."""
        self.ignored.setdefault(printable(spelling), reason)


def read_line(argv: Sequence[str], kind: Kind, origin: str) -> tuple[Heard, Heard]:
    """What the file that the launch line names gives, and what its flags give, which goes before it."""
    words, started = _after_launcher([str(word) for word in argv], kind)
    flags, files = Heard(), Heard()
    for place, path in _flags(words, kind, origin, flags, started=started):
        if files.given or files.faults or files.ignored:
            flags.faults.append(Fault(place, None, "is given twice; give one file"))
        else:
            _read_file(path, kind, place, files)
    return files, flags


def take(spelling: str, place: str, raw: Any, kind: Kind, heard: Heard) -> None:
    """One field by name, a section's members one by one."""
    name = kind.canonical(spelling)
    known = kind.fields.get(name)
    if known is not None:
        heard.given.append(Given(spelling, place, known, raw))
    elif name in kind.sections.values():
        members = _members(raw)
        if members is None:
            heard.faults.append(Fault(place, None, f"must be a JSON object, or write {spelling}.NAME VALUE"))
        for member, value in (members or {}).items():
            take(f"{spelling}.{member}", f"{place}.{printable(str(member))}", value, kind, heard)
    else:
        heard.pass_over(spelling, kind.unlike.get(name, UNKNOWN))


def _members(raw: Any) -> Mapping[str, Any] | None:
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError:
            return None
    return raw if isinstance(raw, Mapping) else {} if raw is None else None


def _after_launcher(words: list[str], kind: Kind) -> tuple[list[str], bool]:
    """The words after the ones that start the engine, and whether there were such."""
    for start in range(len(words)):
        for launcher in kind.launchers:
            end = start + len(launcher)
            first = os.path.basename(words[start])
            if (first, *words[start + 1 : end]) == launcher:
                return words[end:], True
    return words, False


def _flags(words: list[str], kind: Kind, origin: str, heard: Heard, *, started: bool) -> Iterator[tuple[str, str]]:
    """Take every flag, and yield the files of more flags, each with the place that names it."""
    position = 0
    loose = [words[0]] if started and kind.positional and words and not _is_flag(words[0]) else []
    if loose:
        position = 1
        take(kind.positional or "", f"{origin} {kind.positional}", loose[0], kind, heard)
    while position < len(words):
        word = words[position]
        position += 1
        following = position
        while following < len(words) and not _is_flag(words[following]):
            following += 1
        values, position = words[position:following], following
        if not _is_flag(word):  # only at the start: later on, a flag has taken the words that follow it
            how = " or ".join(["a flag", *(f"`{' '.join(launcher)}`" for launcher in kind.launchers[:2])])
            heard.faults.append(
                Fault(
                    origin, None, f"argv must begin with {how}, not with another command; leave out what comes before"
                )
            )
            continue
        spelling, equals, value = word.partition("=")
        if word == "--":
            continue
        if equals:
            values.insert(0, value)
        place = f"{origin} {printable(spelling)}"
        if kind.file is not None and kind.canonical(spelling) == kind.file:
            if len(values) == 1:
                yield place, values[0]
            else:
                heard.faults.append(Fault(place, None, "needs the path of one YAML file"))
        else:
            _flag(spelling, place, values, kind, heard, bare=started and not loose)


def _flag(spelling: str, place: str, values: list[str], kind: Kind, heard: Heard, *, bare: bool) -> None:
    """Take one flag with the words after it. bare: one word too many is the field that needs no flag."""
    name = kind.canonical(spelling)
    known = kind.fields.get(name)
    denied = kind.fields.get(name.removeprefix("no_")) if kind.negation and name.startswith("no_") else None
    if known is None and denied is not None and denied.type == "flag":
        heard.given.append(Given(spelling, place, denied, False))
        wanted = 0
    elif known is not None and known.type == "flag":
        heard.given.append(Given(spelling, place, known, True))
        wanted = 0
    elif known is None and name not in kind.sections.values():
        heard.pass_over(spelling, kind.unlike.get(name, UNKNOWN))
        return
    else:
        wanted = 1
        if values:
            take(spelling, place, values[0], kind, heard)
    key = known.key if known is not None else denied.key if denied is not None else None
    if len(values) < wanted:
        heard.faults.append(Fault(place, key, "needs a value"))
    elif len(values) == wanted + 1 and bare and kind.positional is not None:
        take(kind.positional, f"{place.partition(' -')[0]} {kind.positional}", values[-1], kind, heard)
    elif len(values) > wanted:
        what = "one value, not several" if wanted else "no value; leave the flag out for the other meaning"
        heard.faults.append(Fault(place, key, f"takes {what}"))


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _read_file(path: str, kind: Kind, place: str, heard: Heard) -> None:
    """Take what a YAML file gives, each key a flag's name."""
    if not path.lower().endswith((".yaml", ".yml")):
        heard.faults.append(Fault(place, None, "names a file that is not .yaml or .yml, which the engine refuses"))
        return
    document, faults = load_file(path)
    heard.faults += faults
    if document is None or document.data is None:
        return
    if not isinstance(document.data, Mapping):
        heard.faults.append(Fault(document.at(()), None, "must be a mapping of flags to values"))
        return
    origin = place.rpartition(" ")[0]
    for key, value in document.data.items():
        where = f"{origin} {printable(key)} ({document.at((key,))})"
        if isinstance(value, list):
            if len(value) == 1 or kind.canonical(key) not in kind.fields:
                take(key, where, value[0] if value else None, kind, heard)
            elif value:
                heard.faults.append(Fault(where, kind.fields[kind.canonical(key)].key, "takes one value, not several"))
        elif isinstance(value, bool):
            known = kind.fields.get(kind.canonical(key))
            # Without --no-FLAG there is no way to say false, so that a file's `false` says nothing.
            if value or kind.negation or known is None or known.type != "flag":
                take(key, where, value, kind, heard)
        elif value is None or isinstance(value, Mapping):
            take(key, where, value, kind, heard)
        else:
            take(key, where, document.text((key,)) or str(value), kind, heard)
