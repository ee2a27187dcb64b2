"""Classes: their ancestors, and what is left in attributes for others to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Env
from confbag.ratchets.binder.values import (
    ABSENT,
    NONE,
    NOTHING,
    UNKNOWN,
    Class,
    Instance,
    Of,
    Record,
    Symbol,
    Type,
    Value,
    in_order,
    interesting,
    is_something_else,
    join,
    records,
)

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder


class Classes(Part):
    """Ancestors, and the attributes that they leave."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self._lineages: dict[str, tuple[list[str], list[str]]] = {}
        self._families: dict[str, list[str]] = {}
        self._counted = 0

    def begin(self) -> None:
        """A pass begins."""
        self._lineages.clear()
        self._families.clear()

    def lineage(self, key: str) -> tuple[list[str], list[str]]:
        """The keys of a class and its ancestors in the tree, and the paths of those outside."""
        known = self._lineages.get(key)
        if known is not None:
            return known
        inside: list[str] = []
        outside: list[str] = []
        stack = [key]
        while stack:
            current = stack.pop(0)
            if current in inside:
                continue
            inside.append(current)
            for base in self.bases(current):
                for atom in in_order(base):
                    if isinstance(atom, Class) or (isinstance(atom, Type) and atom.key):
                        stack.append(atom.key)
                    elif isinstance(atom, Symbol):
                        outside.append(atom.path)
        if all(one in self.state.classes for one in inside):
            # What is not of this module, or not defined yet, may be known later in the pass.
            self._lineages[key] = inside, outside
        return inside, outside

    def _family(self, key: str) -> list[str]:
        """The subclasses of a class in this module, and what else these come from."""
        count = len(self.state.classes)
        if count != self._counted:
            self._families.clear()
            self._counted = count
        found = self._families.get(key)
        if found is None:
            above = set(self.lineage(key)[0])
            kin: dict[str, None] = {}
            for other, facts in self.state.classes.items():
                if facts.bases and other != key:
                    line = self.lineage(other)[0]
                    if key in line:
                        kin.update((one, None) for one in line if one not in above)
            found = self._families[key] = list(kin)
        return found

    def bases(self, key: str) -> tuple[Value, ...]:
        """The values of a class's bases."""
        facts = self.state.classes.get(key)
        if facts is not None:
            return facts.bases
        table = self.state.world.table(key)
        return table.bases if table is not None else ()

    def member(self, key: str, name: str) -> tuple[Value | None, list[str]]:
        """The join of what methods leave in an attribute, or the nearest class body's name."""
        inside, outside = self.lineage(key)
        left: list[Value] = []
        body: Value | None = None
        for current in inside:
            facts = self.state.classes.get(current)
            if facts is not None:
                left.append(facts.attributes.get(name, NOTHING))
                left.append(self.state.last_attributes.get(current, {}).get(name, NOTHING))
                if body is None:
                    body = facts.body.get(name)
                    if body is None:
                        body = facts.annotated.get(name)
            else:
                table = self.state.world.table(current)
                if table is not None:
                    left.append(table.attributes.get(name, NOTHING))
                    if body is None:
                        body = table.body.get(name)
        left.append(self.from_others([*inside, *outside], name))
        joined = join(left)
        if joined:
            # A plain None or unknown at class level is the declaration of what methods store.
            return (join([joined, body]) if body is not None else joined), outside
        return body, outside

    def below(self, key: str, name: str) -> Value:
        """What subclasses in this module have under a name, by themselves or by another of their bases."""
        values: list[Value] = []
        for other in self._family(key):
            facts = self.state.classes.get(other)
            table = self.state.world.table(other) if facts is None else None
            if facts is not None:
                values.append(facts.attributes.get(name, NOTHING))
                values.append(self.state.last_attributes.get(other, {}).get(name, NOTHING))
                values.append(facts.body.get(name) or facts.annotated.get(name, NOTHING))
            elif table is not None:
                values.extend((table.attributes.get(name, NOTHING), table.body.get(name, NOTHING)))
        joined = join(values)
        return joined if interesting(joined) else NOTHING

    def store(self, base: Value, name: str, value: Value) -> None:
        """An attribute of some object keeps a value beyond the function."""
        for atom in base:
            if isinstance(atom, (Instance, Class)):
                facts = self.state.classes.get(atom.key)
                if facts is not None:
                    facts.attributes[name] = join([facts.attributes.get(name, NOTHING), value])
                    continue
            if isinstance(atom, Symbol) and "()" not in atom.path:
                self._export(self.state.exported, atom.path, name, value)
            elif isinstance(atom, (Of, Instance, Class)):
                self._export(self.state.parked, atom.path if isinstance(atom, Of) else atom.key, name, value)
            if not isinstance(atom, (Instance, Class, Record)):
                self.state.foreign[name] = join([self.state.foreign.get(name, NOTHING), value])

    def _export(self, stores: dict[str, Value], path: str, name: str, value: Value) -> None:
        """Something of another module keeps a value."""
        direct = any(record.direct for record in records(value))
        if interesting(value) and (direct or name not in self.state.holders):
            path = f"{path}.{name}"
            stores[path] = join([stores.get(path, NOTHING), value])

    def from_others(self, paths: list[str], name: str) -> Value:
        """What other modules leave in an attribute of some classes."""
        if name not in self.state.words_of_others:
            return NOTHING
        return join(self.state.world.name(f"{path}.{name}") or NOTHING for path in paths)

    def leave(self, env: Env) -> None:
        """At an exit of a function, attributes keep what they hold."""
        for key, value in env.items():
            if isinstance(key, tuple):
                kept = value - {ABSENT}
                if kept:
                    base = env.get(key[0])
                    if base is None:
                        found = self.names.lookup(key[0])
                        base = UNKNOWN if found is None else found
                    self.store(base, key[1], kept)

    def parked(self, name: str) -> Value:
        """The records that this module keeps in an attribute of that name, on whatever object."""
        found = join([self.state.foreign.get(name, NOTHING), self.state.last_foreign.get(name, NOTHING)])
        if interesting(found):
            return found
        values: list[Value] = []
        for key in {*self.state.classes, *self.state.last_attributes}:
            facts = self.state.classes.get(key)
            own = join(
                [
                    facts.attributes.get(name, NOTHING) if facts else NOTHING,
                    self.state.last_attributes.get(key, {}).get(name, NOTHING),
                ]
            )
            if any(isinstance(atom, Record) for atom in own):
                values.append(frozenset(records(own)))
            elif own - NONE and all(is_something_else(atom) for atom in own):
                return NOTHING
        return join(values)
