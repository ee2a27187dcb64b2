"""Conditions: what holds where one is true, and where it is not."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Env, join_env
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Atom,
    Box,
    Builtin,
    Instance,
    Parameter,
    Plain,
    Record,
    Symbol,
    Type,
    Value,
    content,
    join,
)

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder

# Classes that no record's class can come from.
_APART = frozenset({
    "dict", "list", "tuple", "set", "frozenset", "str", "bytes", "bytearray", "int", "float", "bool", "complex",
    "argparse.Namespace", "pathlib.Path", "collections.OrderedDict",
})  # fmt: skip


class Conditions(Part):
    """Each gives two envs: a part that may not run binds on one way only, and `isinstance` says what a name is."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self._binds_anything = b":=" in binder.module.utf8
        self._binding: dict[ast.AST, bool] = {}
        self._splits: list[tuple[str, Value, Value]] = []

    def test(self, node: ast.expr) -> tuple[Env, Env]:
        """An expression of which only the truth is asked: what is known where it holds, and where it does not."""
        if isinstance(node, ast.BoolOp):
            return self._operands(node.op, node.values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            held, refused = self.test(node.operand)
            return refused, held
        _, held, refused = self.split(node)
        self.binder.presence.probe(node)
        return held, refused

    def split(self, node: ast.expr) -> tuple[Value, Env, Env]:
        """The value of an expression, and what is known where it is true, and where it is not."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            held, refused = self.test(node)
            return OTHER, held, refused
        value = self.binder.evaluate(node)
        if isinstance(node, ast.Call):
            return value, *self._by_class(node)
        env = self.names.scope.env
        return value, env, env

    def meet(self, held: Env, refused: Env, mark: int | None = None) -> None:
        """Go on where it does not matter how a condition came out."""
        if held is refused:
            self.names.scope.env = held
        else:
            self.names.scope.env = join_env([held, refused])
            if mark is not None:
                self.rejoin(mark)

    def mark(self) -> int:
        """Where what is asked from here on begins."""
        return len(self._splits)

    def rejoin(self, mark: int) -> None:
        """Where both answers meet again, a name is what it was before it was asked about."""
        if len(self._splits) == mark:
            return
        env = self.names.scope.env
        for name, before, either in reversed(self._splits[mark:]):
            if env.get(name) == either:
                env[name] = before
        del self._splits[mark:]

    def _operands(self, operator: ast.boolop, parts: Sequence[ast.expr]) -> tuple[Env, Env]:
        scope = self.names.scope
        conjunction = isinstance(operator, ast.And)
        left: list[Env] = []
        for index, part in enumerate(parts):
            if index and self.binds(part):
                scope.env = dict(scope.env)
            held, refused = self.test(part)
            scope.env, out = (held, refused) if conjunction else (refused, held)
            if not any(out is env for env in left):
                left.append(out)
        through, early = scope.env, left[0] if len(left) == 1 else join_env(left)
        return (through, early) if conjunction else (early, through)

    # Parts that may not run

    def binds(self, node: ast.AST) -> bool:
        """Whether a walrus is anywhere in an expression."""
        if not self._binds_anything:
            return False
        found = self._binding.get(node)
        if found is None:
            found = self._binding[node] = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
        return found

    def maybe(self, node: ast.expr) -> Value:
        """The value of an expression that may not be evaluated."""
        if not self.binds(node):
            return self.binder.evaluate(node)
        scope = self.names.scope
        before = scope.env
        scope.env = dict(before)
        value = self.binder.evaluate(node)
        self.meet(scope.env, before)
        return value

    # isinstance

    def _by_class(self, node: ast.Call) -> tuple[Env, Env]:
        """What `isinstance(name, classes)` says of a name of this scope."""
        scope = self.names.scope
        env = scope.env
        if len(node.args) != 2 or not (isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
            return env, env
        subject = node.args[0].target if isinstance(node.args[0], ast.NamedExpr) else node.args[0]
        if not isinstance(subject, ast.Name) or subject.id not in env or not self._own(subject.id):
            return env, env
        classes = self._classes(node.args[1])
        value = env[subject.id]
        held, refused = dict(env), dict(env)
        held[subject.id] = _within(value, classes)
        refused[subject.id] = _without(value, classes)
        self._splits.append((subject.id, value, join([held[subject.id], refused[subject.id]])))
        return held, refused

    def _own(self, name: str) -> bool:
        scope = self.names.scope
        return name in scope.bound or scope.kind in ("module", "class")

    def _classes(self, node: ast.expr) -> Value:
        """The classes that the second argument names."""
        if isinstance(node, ast.Tuple):
            return join(self._classes(part) for part in node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._classes(node.left) | self._classes(node.right)
        found = self.binder.annotations.resolve(node)
        return join(
            [
                frozenset(atom for atom in found if not isinstance(atom, Box)),
                *(content(atom) for atom in found if isinstance(atom, Box)),
            ]
        )


def _within(value: Value, classes: Value) -> Value:
    """What a value is where it is an instance of one of the classes."""
    specs = {atom.spec for atom in classes if isinstance(atom, Type)}
    if specs:
        kept = frozenset(atom for atom in value if isinstance(atom, Record) and atom.spec in specs)
        if kept:
            return kept | frozenset(atom for atom in value if isinstance(atom, Instance))
        if all(_says_nothing(atom) for atom in value):
            return frozenset(Record(spec, False) for spec in specs)
        return value
    if classes and all(_apart(atom) for atom in classes):
        return frozenset(atom for atom in value if not isinstance(atom, Record)) or OTHER
    return value


def _without(value: Value, classes: Value) -> Value:
    """What a value is where it is an instance of none of the classes."""
    specs = {atom.spec for atom in classes if isinstance(atom, Type)}
    if not specs:
        return value
    return frozenset(atom for atom in value if not (isinstance(atom, Record) and atom.spec in specs)) or UNKNOWN


def _says_nothing(atom: Atom) -> bool:
    return isinstance(atom, (Parameter, Symbol)) or (isinstance(atom, Plain) and atom.kind in ("unknown", "none"))


def _apart(atom: Atom) -> bool:
    if isinstance(atom, Builtin):
        return atom.name in _APART
    return isinstance(atom, Symbol) and atom.path in _APART
