"""Operators: of truth, comparison and arithmetic; containers and texts grow by them."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Env, join_env
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    OTHER,
    UNKNOWN,
    Box,
    Const,
    Fields,
    Value,
    box,
    constant,
    content,
    join,
    records,
)


class Operators(Part):
    """Every operand is evaluated once."""

    def boolean(self, node: ast.BoolOp) -> Value:
        """`and` and `or` give any of their operands."""
        values = self._operands(node)
        if isinstance(node.op, ast.Or):
            values[:-1] = [value - NONE for value in values[:-1]]
        else:
            # A record is true: `record and x` is x, or None where there is no record.
            values[:-1] = [value - frozenset(records(value)) for value in values[:-1]]
        return join(values) or UNKNOWN

    def _operands(self, node: ast.BoolOp) -> list[Value]:
        """The values of the parts, each where those before it let it be evaluated."""
        conditions, scope = self.binder.conditions, self.names.scope
        conjunction = isinstance(node.op, ast.And)
        mark = conditions.mark()
        values: list[Value] = []
        left: list[Env] = []
        for part in node.values[:-1]:
            if values and conditions.binds(part):
                scope.env = dict(scope.env)
            value, held, refused = conditions.split(part)
            values.append(value)
            if conjunction:
                self.binder.presence.probe(part)
            scope.env, out = (held, refused) if conjunction else (refused, held)
            if not any(out is env for env in left):
                left.append(out)
        last = node.values[-1]
        if conditions.binds(last):
            scope.env = dict(scope.env)
        values.append(self.binder.evaluate(last))
        if len(left) > 1 or left[0] is not scope.env:
            scope.env = join_env([scope.env, *left])
            conditions.rejoin(mark)
        return values

    def unary(self, node: ast.UnaryOp) -> Value:
        """`not`, and signs."""
        if isinstance(node.op, ast.Not):
            self.binder.expressions.test(node.operand)
            return OTHER
        value = self.binder.use(node.operand)
        number = constant(value)
        if isinstance(node.op, ast.USub) and isinstance(number, int):
            return frozenset({Const(-number)})
        return OTHER

    def comparison(self, node: ast.Compare) -> Value:
        """Comparisons: `in vars(record)` is a read, `== None` asks whether there is a record."""
        left = self.binder.evaluate(node.left)
        left_node = node.left
        for index, (operator, right_node) in enumerate(zip(node.ops, node.comparators, strict=False)):
            evaluate = self.binder.conditions.maybe if index else self.binder.evaluate
            right = evaluate(right_node)
            if isinstance(operator, (ast.In, ast.NotIn)):
                name = constant(left)
                for atom in right:
                    if isinstance(atom, Fields):
                        if isinstance(name, str):
                            self.sights.read(frozenset({atom.record}), name, self.places.token(left_node))
                        else:
                            self.sights.escape(frozenset({atom}))
                self.sights.escape(left)
            else:
                self.sights.escape(left)
                self.sights.escape(right)
                if len(node.ops) == 1 and isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                    for one, other in ((left_node, right), (right_node, left)):
                        if other == NONE and isinstance(one, ast.NamedExpr):
                            self.binder.presence.kept(one)
                        elif other == NONE and isinstance(one, ast.Call):
                            self.binder.presence.probe_call(one, node, negated=isinstance(operator, (ast.Is, ast.Eq)))
            left, left_node = right, right_node
        return OTHER

    def binary(self, node: ast.BinOp) -> Value:
        """Operators between two values."""
        # A chain of operators leans to the left; it is walked, not recursed into.
        chain: list[ast.BinOp] = []
        current: ast.expr = node
        while isinstance(current, ast.BinOp):
            chain.append(current)
            current = current.left
        value = self.binder.use(current)
        for part in reversed(chain):
            right = self.binder.use(part.right)
            value = self.operate(part.op, value, right)
        return value

    def operate(self, operator: ast.operator, left: Value, right: Value) -> Value:
        """What an operator makes of two values."""
        one, other = constant(left), constant(right)
        if isinstance(operator, ast.Add) and isinstance(one, str) and isinstance(other, str):
            return frozenset({Const(one + other)})
        lefts = [atom for atom in left if isinstance(atom, Box)]
        rights = [atom for atom in right if isinstance(atom, Box)]
        boxes = [*lefts, *rights]
        if boxes:
            if (
                isinstance(operator, ast.Add)
                and len(lefts) == len(rights) == 1
                and not lefts[0].rest
                and not rights[0].rest
                and not lefts[0].mapping
                and not rights[0].mapping
            ):
                offset = len(lefts[0].items)
                moved = [(key + offset, value) for key, value in rights[0].items if isinstance(key, int)]
                return box(False, [*lefts[0].items, *moved])
            if isinstance(operator, ast.BitOr) and all(atom.mapping for atom in boxes):
                merged: dict[str | int, Value] = {}
                for atom in boxes:
                    for key, value in atom.items:
                        merged[key] = join([merged.get(key, NOTHING), value])
                return box(True, merged.items(), join(atom.rest for atom in boxes))
            return box(boxes[0].mapping, (), join(content(atom) for atom in boxes))
        return UNKNOWN if left >= UNKNOWN or right >= UNKNOWN else OTHER
