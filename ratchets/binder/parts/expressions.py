"""Expressions that hand a value on: names, attributes, choices, what is awaited or yielded."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.values import (
    NONE,
    OTHER,
    UNKNOWN,
    Builtin,
    Const,
    Function,
    Value,
    awaited,
    interesting,
    join,
)

_BUILTINS = frozenset(dir(__import__("builtins")))


class Expressions(Part):
    """Evaluation by kind of node."""

    def name(self, node: ast.Name) -> Value:
        """A name, by what is bound to it."""
        found = self.names.lookup(node.id)
        if found is not None:
            return found
        if node.id == "__package__":
            return frozenset({Const(self.module.parent)})
        if node.id == "__name__":
            return frozenset({Const(self.module.name)})
        if node.id in _BUILTINS:
            return frozenset({Builtin(node.id)})
        return self.binder.answering.starred(node.id) or UNKNOWN

    def literal(self, node: ast.Constant) -> Value:
        """A constant: texts and whole numbers can be names and keys."""
        value = node.value
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return frozenset({Const(value)})
        return NONE if value is None else OTHER

    def attribute(self, node: ast.Attribute) -> Value:
        """An attribute as it is written."""
        base = self.binder.evaluate(node.value)
        return self.binder.attributes.of(base, node.attr, node)

    def walrus(self, node: ast.NamedExpr) -> Value:
        """`name := value`."""
        value = self.binder.evaluate(node.value)
        self.binder.targets.assign(node.target, value)
        return value

    def conditional(self, node: ast.IfExp) -> Value:
        """Either side of `a if test else b`."""
        conditions, scope = self.binder.conditions, self.names.scope
        mark = conditions.mark()
        held, refused = conditions.test(node.test)
        scope.env = dict(held) if held is refused and conditions.binds(node) else held
        value = self.binder.evaluate(node.body)
        held, scope.env = scope.env, refused
        value = join([value, self.binder.evaluate(node.orelse)])
        conditions.meet(held, scope.env, mark)
        return value

    def awaited(self, node: ast.Await) -> Value:
        """What is awaited: calls of coroutines give what they return."""
        return awaited(self.binder.evaluate(node.value))

    def starred(self, node: ast.Starred) -> Value:
        """A starred part outside of what takes it apart."""
        self.binder.use(node.value)
        return UNKNOWN

    def yield_value(self, node: ast.Yield) -> Value:
        """`yield`: the function is a generator."""
        value = self.binder.use(node.value) if node.value is not None else NONE
        self.yielded(value)
        return UNKNOWN

    def yield_from(self, node: ast.YieldFrom) -> Value:
        """`yield from`."""
        value = self.binder.use(node.value)
        self.yielded(self.binder.displays.element(value))
        if not isinstance(node.value, ast.Call):
            return UNKNOWN
        callee = self.binder.contexts.silent(node.value.func)
        given = [self.binder.summaries.returned(atom) for atom in callee if isinstance(atom, Function)]
        return join(value for value in given if interesting(value)) or UNKNOWN

    def yielded(self, value: Value) -> None:
        """A value leaves a generator."""
        scope: Scope | None = self.names.scope
        while scope is not None and scope.inline:
            scope = scope.parent
        facts = self.state.functions.get(scope.function) if scope is not None else None
        if facts is not None:
            facts.yields = join([facts.yields, value])

    def test(self, node: ast.expr) -> None:
        """An expression of which only the truth is asked."""
        conditions = self.binder.conditions
        mark = conditions.mark()
        conditions.meet(*conditions.test(node), mark)

    def quiet(self, node: ast.expr) -> Value:
        """A callee that was evaluated already, once more."""
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Attribute):
            return self.binder.annotations.resolve(node)
        return UNKNOWN
