"""Classes: their ancestors, and what methods leave in attributes."""

from __future__ import annotations

from confbag.ratchets.binder.annotations import Annotations
from confbag.ratchets.binder.values import (
    NOTHING,
    Class,
    Symbol,
    Value,
    interesting,
    join,
)


class Members(Annotations):
    """Ancestors, and the attributes that they leave."""

    def lineage(self, key: str) -> tuple[list[str], list[str]]:
        """The keys of a class and its ancestors in the tree, and the paths of those outside."""
        inside: list[str] = []
        outside: list[str] = []
        stack = [key]
        while stack:
            current = stack.pop(0)
            if current in inside:
                continue
            inside.append(current)
            for base in self.bases_of(current):
                for atom in base:
                    if isinstance(atom, Class):
                        stack.append(atom.key)
                    elif isinstance(atom, Symbol):
                        outside.append(atom.path)
        return inside, outside

    def bases_of(self, key: str) -> tuple[Value, ...]:
        """The values of a class's bases."""
        facts = self.classes.get(key)
        if facts is not None:
            return facts.bases
        table = self.world.table(key)
        return table.bases if table is not None else ()

    def member(self, key: str, name: str) -> tuple[Value | None, list[str]]:
        """The join of what methods leave in an attribute, or the nearest class body's name."""
        inside, outside = self.lineage(key)
        left: list[Value] = []
        body: Value | None = None
        for current in inside:
            facts = self.classes.get(current)
            if facts is not None:
                left.append(facts.attributes.get(name, NOTHING))
                left.append(self.last_attributes.get(current, {}).get(name, NOTHING))
                if body is None:
                    body = facts.body.get(name)
                    if body is None:
                        body = facts.annotated.get(name)
            else:
                table = self.world.table(current)
                if table is not None:
                    left.append(table.attributes.get(name, NOTHING))
                    if body is None:
                        body = table.body.get(name)
        joined = join(left)
        if joined:
            # A plain None or unknown at class level is the declaration of what methods store.
            return (join([joined, body]) if body is not None else joined), outside
        return body, outside

    def below(self, key: str, name: str) -> Value:
        """What subclasses in this module leave in an attribute that no class above declares."""
        values: list[Value] = []
        for other, facts in self.classes.items():
            if other != key and key in self.lineage(other)[0]:
                values.append(facts.attributes.get(name, NOTHING))
                values.append(self.last_attributes.get(other, {}).get(name, NOTHING))
        joined = join(values)
        return joined if interesting(joined) else NOTHING
