"""Functions and classes where they are defined."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.flow import Flow
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.state import ClassFacts, FunctionFacts
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Builtin,
    Class,
    Function,
    Property,
    Symbol,
    Value,
)

_PROPERTIES = ("cached_property", "property", "abstractproperty")
_CONTEXT = ("contextmanager", "asynccontextmanager")


class Definitions(Flow):
    """Definitions and their decorators."""

    def function_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function: its body waits until the module has run."""
        arguments = node.args
        self.heading(
            node,
            node.body,
            [
                *arguments.defaults,
                *arguments.kw_defaults,
                node.returns,
                *(a for a in arguments.args),
                *arguments.kwonlyargs,
            ],
        )
        line = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        self.span = (line, self.span[1])
        decorators = [self.ev(part) for part in node.decorator_list]
        qualname = self.qualname(node.name)
        key = self.key(node, qualname)
        owner = self.scope.owner if self.scope.kind == "class" else ""
        facts = FunctionFacts(key, qualname, node, self.scope, owner)
        kind, context = self._kind(node, decorators)
        facts.kind, facts.context = kind, context
        if owner and node.name in ("__new__", "__init_subclass__", "__class_getitem__"):
            facts.kind = "class"
        self.functions[key] = facts
        self.take_defaults(facts)
        self.queue.append(facts)
        value: Value = frozenset({Function(key)})
        if kind == "property":
            value = frozenset({Property(value)})
        elif kind == "setter":
            held = self.scope.env.get(node.name)
            value = held if held is not None else UNKNOWN
        elif self.scope is self.module_scope:
            value = self._configured(f"{self.module.name}.{node.name}", value)
        self.bind(node.name, value)

    def _configured(self, path: str, value: Value) -> Value:
        """In its own module too, an accessor is one."""
        found = self.world.configured(path)
        return value if found is None else found

    def _kind(self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorators: list[Value]) -> tuple[str, bool]:
        kind, context = "", False
        for part, value in zip(node.decorator_list, decorators, strict=False):
            target = part.func if isinstance(part, ast.Call) else part
            last = (
                target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
            )
            names = {last}
            for atom in value:
                if isinstance(atom, (Symbol, Builtin)):
                    path = atom.path if isinstance(atom, Symbol) else atom.name
                    names.add(path.rpartition(".")[2])
            if names & set(_PROPERTIES) or any(name.endswith("cached_property") for name in names):
                kind = "property"
            elif "staticmethod" in names:
                kind = "static"
            elif "classmethod" in names:
                kind = "class"
            elif last in ("setter", "deleter", "getter") and isinstance(target, ast.Attribute):
                kind = "setter"
            elif names & set(_CONTEXT):
                context = True
        return kind, context

    def class_def(self, node: ast.ClassDef) -> None:
        """A class: its body runs where it stands."""
        self.heading(node, node.body, [*node.bases, *(keyword.value for keyword in node.keywords)])
        line = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        self.span = (line, self.span[1])
        for part in node.decorator_list:
            self.ev(part)
        bases = tuple(self.use(part.value if isinstance(part, ast.Starred) else part) for part in node.bases)
        for keyword in node.keywords:
            self.use(keyword.value)
        qualname = self.qualname(node.name)
        key = self.key(node, qualname)
        facts = ClassFacts(key, qualname, node, bases)
        self.classes[key] = facts
        before = self.scope
        scope = Scope("class", before, qualname, inline=True, owner=key)
        self.scope = scope
        try:
            self.block(node.body)
            self.leave(scope.env)
        finally:
            self.scope = before
        facts.body = {name: value for name, value in scope.env.items() if isinstance(name, str)}
        value: Value = frozenset({Class(key)})
        self.bind(node.name, self._configured(key, value) if before is self.module_scope else value)
