"""The base of a write: a record's field on the way to it is changed in place, not read."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.sights import is_dunder
from confbag.ratchets.binder.values import UNKNOWN, Builtin, Fields, Record, Value, constant, records


class Writes(Part):
    """Walks to what is written."""

    def through(self, node: ast.expr) -> tuple[Value, bool]:
        """Evaluate the base of a write: a record's field on the way is what is written, not read."""
        chain: list[ast.Attribute | ast.Subscript] = []
        current: ast.expr = node
        while isinstance(current, (ast.Attribute, ast.Subscript)):
            chain.append(current)
            current = current.value
        value, done = self._got_field(current) if isinstance(current, ast.Call) else (None, False)
        if value is None:
            value = self.binder.evaluate(current)
        for part in reversed(chain):
            if isinstance(part, ast.Attribute):
                if done:
                    continue
                if records(value) and not is_dunder(part.attr):
                    self.sights.write(value, part.attr, self.places.token(part), nested=True)
                    done = True
                else:
                    value = self.binder.attributes.of(value, part.attr, part)
            else:
                key = self.binder.use(part.slice)
                if done:
                    continue
                fields = [atom for atom in value if isinstance(atom, Fields)]
                if fields:
                    for one in fields:
                        name = constant(key)
                        self.sights.write(
                            frozenset({one.record}),
                            name if isinstance(name, str) else "*",
                            self.places.token(part.slice),
                            nested=True,
                        )
                    done = True
                else:
                    value = self.binder.items.of(value, key, part.slice)
        return value, done

    def _got_field(self, node: ast.Call) -> tuple[Value | None, bool]:
        """getattr(record, "field") as the base of a write."""
        if not (isinstance(node.func, (ast.Name, ast.Attribute)) and len(node.args) in (2, 3)):
            return None, False
        if not any(
            isinstance(atom, Builtin) and atom.name == "getattr" for atom in self.binder.expressions.quiet(node.func)
        ):
            return None, False
        base = self.binder.evaluate(node.args[0])
        if not records(base):
            return None, False
        name = constant(self.binder.evaluate(node.args[1]))
        for part in node.args[2:]:
            self.binder.use(part)
        if isinstance(name, str):
            self.sights.write(base, name, self.places.token(node.args[1]), nested=True)
        else:
            self.sights.write(base, "*", self.places.token(node), nested=True)
        return UNKNOWN, True

    def own(self, node: ast.AST, base: Value, name: str) -> None:
        """A field that is written on a copy is the copy's own from there on."""
        if isinstance(node, (ast.Name, ast.Attribute)) and any(record.copied for record in records(base)):
            known = frozenset(
                replace(atom, replaced=atom.replaced | {name}) if isinstance(atom, Record) and atom.copied else atom
                for atom in base
            )
            if known != base:
                self.binder.growing.replace(node, known)
