"""What assignments do to their targets: names, attributes, items, and records among them."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.sights import is_dunder
from confbag.ratchets.binder.starred import element
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Box,
    Fields,
    Parameter,
    Record,
    Value,
    box,
    content,
    join,
    records,
    says_nothing,
)


class Targets(Part):
    """Targets of every form."""

    def assign(self, target: ast.expr, value: Value) -> None:
        """A target takes a value; on a record's attribute that is a write."""
        if isinstance(target, ast.Name):
            declared = self.names.scope.declared
            if declared and target.id in declared and value != NONE and says_nothing(value):
                value = declared[target.id]
            self.names.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._to_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._to_item(target, value)

    def _to_attribute(self, target: ast.Attribute, value: Value) -> None:
        base, done = self.binder.writes.through(target.value)
        if done:
            self.sights.escape(value)
            return
        if records(base) or any(isinstance(atom, Parameter) for atom in base):
            if target.attr == "__dict__":
                self.sights.write(base, "*", self.places.token(target))
            elif not is_dunder(target.attr):
                self.sights.write(base, target.attr, self.places.token(target))
                self.binder.writes.own(target.value, base, target.attr)
            if all(isinstance(atom, Record) for atom in base):
                self.sights.escape(value)
                return
        self.sights.escape(value)
        self.binder.growing.park(target.value, target.attr, value)
        if isinstance(target.value, ast.Name):
            self.names.put_attribute(target.value.id, target.attr, value)
            if self.names.scope.kind in ("module", "class"):
                self.binder.classes.store(base, target.attr, value)
        else:
            self.binder.classes.store(base, target.attr, value)

    def _to_item(self, target: ast.Subscript, value: Value) -> None:
        base, done = self.binder.writes.through(target.value)
        key = self.binder.use(target.slice)
        self.sights.escape(value)
        if done:
            return
        for atom in base:
            if isinstance(atom, Fields):
                self.binder.methods.write_key(atom, key, target.slice)
        self.binder.growing.item(target.value, base, key, value)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        boxes = [atom for atom in value if isinstance(atom, Box) and not atom.mapping]
        certainly = len(boxes) == len(value) and bool(boxes)
        self.sights.escape(value)
        starred = next((index for index, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
        count = len(target.elts)
        for index, part in enumerate(target.elts):
            values: list[Value] = [] if certainly else [UNKNOWN]
            for one in boxes:
                held = dict(one.items)
                if one.rest:
                    plain = starred is None or index < starred
                    values.append(content(replace(one, rest=element(one.rest, index))) if plain else content(one))
                elif starred is None or index < starred:
                    values.append(held.get(index, NOTHING))
                elif index == starred:
                    inner = [held.get(place, NOTHING) for place in range(index, len(held) - (count - index - 1))]
                    values.append(box(False, enumerate(inner)))
                else:
                    values.append(held.get(len(held) - (count - index), NOTHING))
            self.assign(part.value if isinstance(part, ast.Starred) else part, join(values) or UNKNOWN)
