"""What assignments do to their targets: names, attributes, items, and records among them."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.attributes import is_dunder
from confbag.ratchets.binder.patterns import Patterns
from confbag.ratchets.binder.values import (
    NOTHING,
    OTHER,
    UNKNOWN,
    Box,
    Builtin,
    Fields,
    Parameter,
    Record,
    Value,
    box,
    constant,
    content,
    interesting,
    join,
    opaque,
    records,
)


class Targets(Patterns):
    """Targets of every form."""

    def assign(self, target: ast.expr, value: Value, *, augmented: bool = False) -> None:
        """A target takes a value; on a record's attribute that is a write."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._to_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._to_item(target, value)

    def _to_attribute(self, target: ast.Attribute, value: Value) -> None:
        base, done = self.through(target.value)
        if done:
            self.escape(value)
            return
        if records(base) or any(isinstance(atom, Parameter) for atom in base):
            if target.attr == "__dict__":
                self.write(base, "*", self.token(target))
            elif not is_dunder(target.attr):
                self.write(base, target.attr, self.token(target))
            if all(isinstance(atom, Record) for atom in base):
                self.escape(value)
                return
        self.escape(value)
        if isinstance(target.value, ast.Name):
            self.put_attribute(target.value.id, target.attr, value)
            if self.scope.kind in ("module", "class"):
                self.store_attribute(base, target.attr, value)
        else:
            self.store_attribute(base, target.attr, value)

    def _to_item(self, target: ast.Subscript, value: Value) -> None:
        base, done = self.through(target.value)
        key = self.use(target.slice)
        self.escape(value)
        if done:
            return
        for atom in base:
            if isinstance(atom, Fields):
                self.write_key(atom, key, target.slice)
        name = constant(key)
        holder = target.value
        if (
            isinstance(holder, ast.Attribute)
            and holder.attr == "__dict__"
            and isinstance(holder.value, ast.Name)
            and isinstance(name, str)
            and not any(isinstance(atom, Fields) for atom in base)
        ):
            self.put_attribute(holder.value.id, name, value)
            return
        if isinstance(target.value, ast.Name) and interesting(value):
            boxes = [atom for atom in base if isinstance(atom, Box)]
            kept = [frozenset({atom}) for atom in base if not isinstance(atom, Box)]
            grown: list[Value] = [part for part in kept if part != OTHER]
            for one in boxes or [Box(True, ())]:
                if name is None:
                    grown.append(box(one.mapping, one.items, join([one.rest, opaque(value)])))
                else:
                    grown.append(box(one.mapping, {**dict(one.items), name: value}.items(), one.rest))
            self.bind(target.value.id, join(grown))
        elif (
            interesting(value) and isinstance(target.value, ast.Attribute) and isinstance(target.value.value, ast.Name)
        ):
            # self.box["key"] = record
            held = [atom for atom in base if isinstance(atom, Box)] or [Box(True, ())]
            if name is None:
                new = join(box(one.mapping, one.items, join([one.rest, opaque(value)])) for one in held)
            else:
                new = join(box(one.mapping, {**dict(one.items), name: value}.items(), one.rest) for one in held)
            self.put_attribute(target.value.value.id, target.value.attr, new)
        elif name is not None and isinstance(target.value, ast.Name):
            boxes = [atom for atom in base if isinstance(atom, Box)]
            if boxes:
                replaced = [box(one.mapping, {**dict(one.items), name: value}.items(), one.rest) for one in boxes]
                rest = [frozenset({atom}) for atom in base if not isinstance(atom, Box)]
                self.bind(target.value.id, join([*rest, *replaced]))

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        boxes = [atom for atom in value if isinstance(atom, Box) and not atom.mapping]
        certainly = len(boxes) == len(value) and bool(boxes)
        self.escape(value)
        starred = next((index for index, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
        count = len(target.elts)
        for index, part in enumerate(target.elts):
            values: list[Value] = [] if certainly else [UNKNOWN]
            for one in boxes:
                held = dict(one.items)
                if one.rest:
                    values.append(content(one))
                elif starred is None or index < starred:
                    values.append(held.get(index, NOTHING))
                elif index == starred:
                    inner = [held.get(place, NOTHING) for place in range(index, len(held) - (count - index - 1))]
                    values.append(box(False, enumerate(inner)))
                else:
                    values.append(held.get(len(held) - (count - index), NOTHING))
            self.assign(part.value if isinstance(part, ast.Starred) else part, join(values) or UNKNOWN)

    def through(self, node: ast.expr) -> tuple[Value, bool]:
        """Evaluate the base of a write: a record's field on the way is what is written, not read."""
        chain: list[ast.Attribute | ast.Subscript] = []
        current: ast.expr = node
        while isinstance(current, (ast.Attribute, ast.Subscript)):
            chain.append(current)
            current = current.value
        value, done = self._got_field(current) if isinstance(current, ast.Call) else (None, False)
        if value is None:
            value = self.ev(current)
        for part in reversed(chain):
            if isinstance(part, ast.Attribute):
                if done:
                    continue
                if records(value) and not is_dunder(part.attr):
                    self.write(value, part.attr, self.token(part), nested=True)
                    done = True
                else:
                    value = self.attribute(value, part.attr, part)
            else:
                key = self.use(part.slice)
                if done:
                    continue
                fields = [atom for atom in value if isinstance(atom, Fields)]
                if fields:
                    for one in fields:
                        name = constant(key)
                        self.write(
                            frozenset({one.record}),
                            name if isinstance(name, str) else "*",
                            self.token(part.slice),
                            nested=True,
                        )
                    done = True
                else:
                    value = self.item(value, key, part.slice)
        return value, done

    def _got_field(self, node: ast.Call) -> tuple[Value | None, bool]:
        """getattr(record, "field") as the base of a write."""
        if not (isinstance(node.func, (ast.Name, ast.Attribute)) and len(node.args) in (2, 3)):
            return None, False
        if not any(isinstance(atom, Builtin) and atom.name == "getattr" for atom in self.quiet(node.func)):
            return None, False
        base = self.ev(node.args[0])
        name = constant(self.ev(node.args[1]))
        if not records(base) or not isinstance(name, str):
            return None, False
        for part in node.args[2:]:
            self.use(part)
        self.write(base, name, self.token(node.args[1]), nested=True)
        return UNKNOWN, True
