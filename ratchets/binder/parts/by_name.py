"""Access by a name that is a value: getattr, setattr, vars and their like."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Fields,
    Namespace,
    Parameter,
    Record,
    Symbol,
    Value,
    join,
    records,
    text_of,
)
from confbag.ratchets.source.places import raw_token


class ByName(Part):
    """Fields that are named at run time."""

    def read(self, value: Value, call: Call) -> Value:
        """getattr and its like."""
        if len(call.args) < 2:
            if call.spread:
                self.unlisted(value, call)
            return UNKNOWN
        name = self._named(value, call)
        default = call.argument(2)
        if name is None:
            self.unlisted(value, call)
            return UNKNOWN
        node = call.nodes[1]
        if isinstance(node, ast.Attribute):
            # The name is a constant kept elsewhere: the place is the expression, which is no access itself.
            node = ast.copy_location(ast.Constant(name), node)
        return join([self.binder.attributes.of(value, name, node), default]) or UNKNOWN

    def write(self, value: Value, call: Call, *, delete: bool) -> None:
        """setattr and its like."""
        name = self._named(value, call)
        held = records(value)
        if not held:
            if name is not None and not delete:
                self._store(value, name, call)
            if any(isinstance(atom, Parameter) for atom in value):
                self.sights.note_parameter(value, name or "*")
            return
        if name is None:
            self.sights.write(value, "*", self.places.token(call.node))
        else:
            node = call.nodes[1] if len(call.nodes) > 1 else call.node
            self.sights.write(value, name, self.places.token(node))
            if call.nodes:
                self.binder.writes.own(call.nodes[0], value, name)

    def _named(self, value: Value, call: Call) -> str | None:
        """The name that is given as a value; a constant of another module is asked for where a record has it."""
        given = call.argument(1)
        asks = any(isinstance(atom, (Record, Parameter)) for atom in value)
        return text_of(self.binder.elsewhere.constant(given) if asks else given)

    def _store(self, value: Value, name: str, call: Call) -> None:
        stored = call.argument(2) or UNKNOWN
        node = call.nodes[0] if call.nodes else None
        if isinstance(node, ast.Name):
            self.names.put_attribute(node.id, name, stored)
        else:
            self.binder.classes.store(value, name, stored)

    def fields_of(self, value: Value, call: Call, *, live: bool) -> Value:
        """`vars(record)` and its like."""
        found: set[Fields] = set()
        place = raw_token(call.node)
        for record in records(value):
            held = record if live else replace(record, copied="deep")
            found.add(Fields(held, live and not record.copied, place, "vars"))
        self.sights.note_parameter(value, "*")
        for atom in value:
            if isinstance(atom, Symbol) and "()" not in atom.path:
                return frozenset({Namespace(atom.path)})
        return frozenset(found) or UNKNOWN

    def unlisted(self, value: Value, call: Call) -> None:
        """A record's field is used by a name that is not constant."""
        for record in records(value):
            self.sights.see("CB103", record, "record.*", self.places.token(call.node))
        self.sights.note_parameter(value, "*")
