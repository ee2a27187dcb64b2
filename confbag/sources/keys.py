"""The keys that a schema knows: nested and dotted mappings become dotted settings, and every other key a fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confbag.errors import Fault
from confbag.sources import Found
from confbag.words.provenance import Layer, Setting
from confbag.words.suggest import SUGGESTED, nearest

Path = tuple[str, ...]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}(\.[a-z0-9_]{1,40}){0,5}\Z")
_FAULTS = 200


@dataclass(frozen=True)
class Keys:
    """The keys of one schema.

    leaves: every dotted key that holds a value.
    namespaces: the sections above them.
    retired: old key -> replacement.
    schemas: the names of the schema and of those that it is made from, `package.module:Class`.
    elsewhere: tells how to read a key that only another installed schema has; None where none has it.
    recorded: the engines whose record has a field of a name, each with the key that answers to it.
    """

    leaves: Collection[str]
    namespaces: Collection[str] = ()
    retired: Mapping[str, str] = field(default_factory=dict)
    schemas: tuple[str, ...] = ()
    elsewhere: Callable[[str], str | None] = lambda key: None
    recorded: Callable[[str], Iterable[tuple[str, str]]] = lambda name: ()

    def __post_init__(self) -> None:
        leaves = frozenset(self.leaves)
        above = {key.rsplit(".", depth)[0] for key in leaves for depth in range(1, key.count(".") + 1)}
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "namespaces", frozenset(self.namespaces) | above)

    def flatten(
        self,
        tree: Mapping[Any, Any],
        at: Callable[[Path], str],
        *,
        layer: Layer,
        text: Callable[[Path], str | None] = lambda path: None,
    ) -> Found:
        """The settings of a tree whose keys may be nested, dotted or both.

        at(path): the origin of what stands at that path of the tree's own keys. text(path): how the source spells it.
        """
        settings: dict[str, Setting] = {}
        faults: list[Fault] = []
        more = unknown = 0
        for path, key, value in self._walk(tree):
            if len(faults) >= _FAULTS:
                more += 1
                continue
            where = at(path)
            if key in self.leaves:
                setting = Setting(key, value, layer, where, text(path))
                first = settings.setdefault(key, setting)
                if not same(first.value, value):
                    faults.append(Fault(where, key, twice(first.origin, where)))
            elif key in self.namespaces:
                if value is not None or text(path) != "":  # `exec:` with nothing below it is an empty section
                    message = f"is a section, not a setting; write {self._children(key)} below it"
                    faults.append(Fault(where, key, message))
            else:
                unknown += 1
                faults.append(self.fault(key, where, suggest=unknown <= SUGGESTED))
        if more:
            faults.append(Fault(None, None, f"and {more} more settings were not looked at; mend these first"))
        return Found(tuple(settings.values()), tuple(faults))

    def _walk(self, tree: Mapping[Any, Any]) -> Iterator[tuple[Path, str, Any]]:
        stack: list[tuple[Path, str, Any]] = [((), "", tree)]
        while stack:
            path, prefix, value = stack.pop()
            if isinstance(value, Mapping) and (not path or (prefix in self.namespaces and prefix not in self.leaves)):
                below = [((*path, key), f"{prefix}.{key}" if prefix else str(key), item) for key, item in value.items()]
                stack.extend(reversed(below))
            else:
                yield path, prefix, value

    def fault(self, key: str, where: str, *, suggest: bool = True) -> Fault:
        """The fault of a key that is no leaf and no section."""
        known = shown(key) or key in self.retired or (suggest and self._meant(key) is not None)
        return Fault(where, key if known and key.isprintable() else None, self.unknown(key, suggest=suggest))

    def unknown(self, key: str, *, suggest: bool = True) -> str:
        """What to say about a key that is no leaf and no section: never a value, nor a key that may be one astray."""
        if key in self.retired:
            return f"is retired; write {self.retired[key]}"
        owner = self.owner(key)
        if owner is not None:
            return (
                f"is below {owner}, which is one setting; write it whole, a mapping in braces: {owner}: {{NAME: VALUE}}"
            )
        if key == "preset":
            return "is not a setting; name a preset with --preset, load(preset=...) or the key `preset` of a file"
        for engine, ours in self.recorded(key.rpartition(".")[2].replace("-", "_")):
            if ours in self.leaves:
                return f"is what {engine} calls {ours}; write {ours}"
        if suggest and (there := self.elsewhere(key)) is not None:
            return f"unknown key; {there}"
        meant = self._meant(key) if suggest else None
        if meant is not None:
            return f"unknown key; did you mean {meant}?"
        section = key.rpartition(".")[0]
        while section and section not in self.namespaces:
            section = section.rpartition(".")[0]
        hidden = "" if shown(key) else " (not shown: it does not read like the name of a setting)"
        return f"unknown key{hidden}; {section or 'the top level'} has {self._children(section)}"

    def owner(self, key: str) -> str | None:
        """The leaf that `key` tries to reach into, or None."""
        parts = key.split(".")
        above = (".".join(parts[:count]) for count in range(1, len(parts)))
        return next((name for name in above if name in self.leaves), None)

    def _meant(self, key: str) -> str | None:
        found = nearest(key, self.leaves) or nearest(key, self.namespaces) or nearest(key, self.retired)
        return self.retired.get(found, found) if found is not None else None

    def _children(self, section: str) -> str:
        prefix = f"{section}." if section else ""
        names = {
            name[len(prefix) :].split(".")[0] for name in (*self.leaves, *self.namespaces) if name.startswith(prefix)
        }
        return ", ".join(sorted(names))


def shown(key: str) -> str | None:
    """The key where it reads like a setting's name, else None: in a broken file a secret can stand in its place."""
    return key if _NAME.match(key) else None


def same(one: Any, other: Any) -> bool:
    """Equal in value and type at every depth: 1 is not true."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return type(one) is type(other) and (one == other or (one != one and other != other))


def twice(first: str, second: str) -> str:
    """What to say about a key that one source gives two values."""
    place = f", the first time at {first}" if first != second else ""
    return f"is given twice with different values{place}; keep one"
