"""Answers to other modules: what a path is that one of them asked for, and what importing everything gives it."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.tables import ClassFacts, FunctionFacts
from confbag.ratchets.binder.values import (
    NOTHING,
    Class,
    Function,
    Parameter,
    Symbol,
    Value,
    interesting,
    join,
)
from confbag.ratchets.source.tree import children


class Answering(Part):
    """Paths are names of this module, what its classes have by a name, or `*.name` for what a star gives."""

    def of(self, path: str) -> Value | None:
        """What a path is that another module asked for."""
        first, *names = path.removeprefix(self.module.name + ".").split(".")
        if first == "*":
            first = names.pop(0)
            if not self.given(frozenset({first})):
                return None
        value = self.names.module_value(first, live=False)
        if value is None and self.state.stars:
            value = self.starred(first)
        for name in names:
            if value is None:
                return None
            value = join(self._attribute(atom, name) for atom in value)
        return value or None

    def starred(self, name: str) -> Value:
        """A name that is bound nowhere here: a module gives it of which everything is imported."""
        return frozenset(Symbol(f"{module}.{name}") for module in self.state.stars)

    def _attribute(self, atom: object, name: str) -> Value:
        if isinstance(atom, Symbol):
            path = f"{atom.path}.{name}"
            found = self.state.world.name(path)
            return frozenset({Symbol(path)}) if found is None else found
        if isinstance(atom, Class):
            found, outside = self.binder.classes.member(atom.key, name)
            if found is None:
                return frozenset(Symbol(f"{path}.{name}") for path in outside)
            # A function got from its class is bound to it, which a classmethod takes.
            return frozenset(
                Function(part.key, frozenset({atom})) if isinstance(part, Function) and part.receiver is None else part
                for part in found
            )
        return NOTHING

    def public(self) -> frozenset[str] | None:
        """The names that `__all__` lists; None where it is not written out."""
        names: set[str] = set()
        stack: list[ast.AST] = list(self.module.tree.body)
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                stack.extend(children(node))
                continue
            given = _listed(node)
            if given is None:
                continue
            parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
            for part in parts:
                if not (isinstance(part, ast.Constant) and isinstance(part.value, str)):
                    return None
                names.add(part.value)
        return frozenset(names)

    def given(self, names: frozenset[str]) -> frozenset[str]:
        """Of some names those that importing everything gives."""
        if not names:
            return names
        if "__all__" in self.names.module_scope.env:
            public = self.public()
            return names if public is None else names & public
        return frozenset(name for name in names if not name.startswith("_"))

    def constructor(self, facts: ClassFacts) -> None:
        """A dataclass that another module makes one of: its fields are parameters that are parked."""
        if facts.key not in self.state.asked_for or "__init__" in facts.body or not facts.annotated:
            return
        key = f"{facts.key}.__init__"
        names = [ast.arg("self"), *(ast.arg(name) for name in facts.annotated)]
        arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
        node = ast.copy_location(ast.FunctionDef("__init__", arguments, [], []), facts.node)
        made = FunctionFacts(key, f"{facts.name}.__init__", node, self.names.scope, facts.key, done=True)
        for name, value in facts.annotated.items():
            if interesting(value):
                made.holds.add(name)
            else:
                held = facts.attributes.get(name, NOTHING)
                facts.attributes[name] = join([held, frozenset({Parameter(key, name)})])
        self.state.functions[key] = made


def _listed(node: ast.AST) -> ast.expr | None:
    """What a statement puts into `__all__`."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return node.value if any(_is_all(target) for target in targets) else None
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_all(call.func.value) and call.args:
        return call.args[0]
    return None


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"
