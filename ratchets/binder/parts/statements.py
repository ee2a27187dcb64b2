"""Simple statements."""

from __future__ import annotations

import ast
from typing import Any

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.sights import is_dunder
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Class,
    Const,
    Fields,
    Function,
    Instance,
    Record,
    Symbol,
    Value,
    interesting,
    records,
    says_nothing,
)


class Statements(Part):
    """Execution by kind of statement."""

    def expression(self, node: ast.Expr) -> None:
        """An expression whose value is dropped."""
        value = node.value
        self.state.dropped = value.value if isinstance(value, ast.Await) else value
        self.binder.evaluate(value)

    def assign(self, node: ast.Assign) -> None:
        """`a = b = value`."""
        value = self.binder.evaluate(node.value)
        if isinstance(node.value, (ast.Subscript, ast.BinOp)) and not interesting(value):
            value = self.binder.annotations.alias(node.value) or value
        for target in node.targets:
            self.binder.targets.assign(target, value)
        self._name_alike(node, value)
        if (
            isinstance(node.value, ast.Call)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and any(isinstance(atom, Record) and atom.direct for atom in value)
        ):
            self.binder.presence.fetched(node.targets[0].id, node.value)

    def _name_alike(self, node: ast.Assign, value: Value) -> None:
        """Names for one object: a container that is put into by one of them is so by all."""
        if all(isinstance(atom, (Record, Const, Function, Symbol)) for atom in value):
            return
        named = node.value if isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript)) else None
        for target in node.targets:
            if isinstance(target, ast.Name):
                if named is not None:
                    self.names.alike(target.id, named)
                named = named or target
            elif isinstance(target, (ast.Attribute, ast.Subscript)):
                if isinstance(named, ast.Name):
                    self.names.alike(named.id, target)
                named = named or target

    def annotated(self, node: ast.AnnAssign) -> None:
        """An annotated name: the annotation speaks where the value says nothing."""
        declared = self.binder.annotations.of(node.annotation)
        if node.value is None:
            if isinstance(node.target, ast.Name):
                if self.names.scope.kind == "class":
                    facts = self.state.classes.get(self.names.scope.owner)
                    if facts is not None:
                        facts.annotated[node.target.id] = UNKNOWN if declared is None else declared
                elif declared is not None and interesting(declared):
                    self.names.bind(node.target.id, declared)
                    self.names.scope.declared[node.target.id] = declared
            elif isinstance(node.target, ast.Attribute) and declared is not None:
                base = self.binder.expressions.quiet(node.target.value)
                if any(isinstance(atom, (Instance, Class)) for atom in base):
                    self.binder.classes.store(base, node.target.attr, declared)
            return
        value = self.binder.evaluate(node.value)
        if _last(node.annotation) == "TypeAlias" and not interesting(value):
            value = self.binder.annotations.promised(node.value) or value
        if declared is not None and says_nothing(value):
            value = declared
        if self.names.scope.kind == "class" and isinstance(node.target, ast.Name):
            facts = self.state.classes.get(self.names.scope.owner)
            if facts is not None:
                facts.annotated[node.target.id] = UNKNOWN if declared is None else declared
                if declared is not None and not interesting(value):
                    value = declared
                elif interesting(value):
                    # A constructor may be given something else.
                    value |= UNKNOWN
        self.binder.targets.assign(node.target, value)

    def augmented(self, node: ast.AugAssign) -> None:
        """`a += value`."""
        target = node.target
        if isinstance(target, ast.Name):
            held = self.binder.expressions.name(target)
            value = self.binder.use(node.value)
            for atom in held:
                if isinstance(atom, Fields) and atom.live:
                    self.sights.write(frozenset({atom.record}), "*", self.places.token(target))
            self.names.bind(target.id, self.binder.operators.operate(node.op, held, value))
            return
        value = self.binder.use(node.value)
        self.binder.targets.assign(target, self._grown(node, target, value))

    def _grown(self, node: ast.AugAssign, target: ast.Attribute | ast.Subscript, value: Value) -> Value:
        """What `a.b += value` leaves; on a copy of a record it reads the field first."""
        base, done = self.binder.writes.through(target.value)
        if done or any(isinstance(atom, Fields) for atom in base):
            return UNKNOWN
        held = records(base)
        if isinstance(target, ast.Attribute):
            for record in held:
                if record.copied and not is_dunder(target.attr):
                    self.sights.read_of(record, target.attr, self.places.token(target))
        if held or not interesting(value):
            return UNKNOWN
        return self.binder.operators.operate(node.op, self.binder.evaluate(target), value)

    def delete(self, node: ast.Delete) -> None:
        """`del`: on a record's attribute that is a write."""
        for target in node.targets:
            self.binder.targets.assign(target, UNKNOWN)

    def assertion(self, node: ast.Assert) -> None:
        """An assertion."""
        held, self.names.scope.env = self.binder.conditions.test(node.test)
        if node.msg is not None:
            self.binder.use(node.msg)
        self.names.scope.env = held

    def type_alias(self, node: Any) -> None:
        """`type X = …` binds a name."""
        if isinstance(node.name, ast.Name):
            self.names.bind(node.name.id, self.binder.annotations.promised(node.value) or UNKNOWN)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
