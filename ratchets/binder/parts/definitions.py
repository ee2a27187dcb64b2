"""Functions and classes where they are defined."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.tables import ClassFacts, FunctionFacts
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Builtin,
    Class,
    Function,
    Property,
    Symbol,
    Type,
    Value,
)

_PROPERTIES = ("cached_property", "property", "abstractproperty")
_TRANSPARENT = ("staticmethod", "classmethod", "abstractmethod", "override", "final")
_CONTEXT = ("contextmanager", "asynccontextmanager")


class Definitions(Part):
    """Definitions and their decorators."""

    def function_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function: its body waits until the module has run."""
        self.places.enter(node)
        decorators = [self.binder.evaluate(part) for part in node.decorator_list]
        qualname = self.names.qualname(node.name)
        key = self.state.key(node, qualname)
        owner = self.names.scope.owner if self.names.scope.kind == "class" else ""
        facts = FunctionFacts(key, qualname, node, self._of_parameters(node), owner)
        kind, context = self._kind(node, decorators)
        facts.kind, facts.context = kind, context
        facts.coroutine = self._coroutine(node)
        if owner and node.name in ("__new__", "__init_subclass__", "__class_getitem__"):
            facts.kind = "class"
        self.state.functions[key] = facts
        self.binder.lambdas.take_defaults(facts)
        self.state.queue.append(facts)
        value: Value = frozenset({Function(key)})
        if kind == "property":
            value = frozenset({Property(value)})
        elif kind == "setter":
            held = self.names.scope.env.get(node.name)
            value = held if held is not None else UNKNOWN
        elif self.names.scope is self.names.module_scope:
            value = self._configured(f"{self.module.name}.{node.name}", value)
        self.names.bind(node.name, value)

    def class_def(self, node: ast.ClassDef) -> None:
        """A class: its body runs where it stands."""
        self.places.enter(node)
        for part in node.decorator_list:
            self.binder.evaluate(part)
        bases = tuple(self._base(part) for part in node.bases)
        for keyword in node.keywords:
            self.binder.use(keyword.value)
        qualname = self.names.qualname(node.name)
        key = self.state.key(node, qualname)
        facts = ClassFacts(key, qualname, node, bases)
        self.state.classes[key] = facts
        with self.names.within(Scope("class", self._of_parameters(node), qualname, inline=True, owner=key)) as scope:
            self.binder.flow.block(node.body)
            self.binder.classes.leave(scope.env)
        facts.body = {name: value for name, value in scope.env.items() if isinstance(name, str)}
        self.binder.answering.constructor(facts)
        # A subclass of the record's class is one.
        value: Value = frozenset(
            Type(atom.spec, key) for base in bases for atom in base if isinstance(atom, Type)
        ) or frozenset({Class(key)})
        if self.names.scope is self.names.module_scope:
            value = self._configured(key, value)
        self.state.record_classes.update((key, atom) for atom in value if isinstance(atom, Type))
        self.names.bind(node.name, value)

    def _coroutine(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a call gives what must be awaited: a decorator that is not known may do that itself."""
        if not isinstance(node, ast.AsyncFunctionDef) or self.names.of_body(node).yields:
            return False
        return all(isinstance(part, ast.Name) and part.id in _TRANSPARENT for part in node.decorator_list)

    def _of_parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Scope:
        """The scope around a definition, with the type parameters of which something is known."""
        found: dict[str, Value] = {}
        for part in getattr(node, "type_params", ()):
            # Lowered from newer syntax it is a parameter with an annotation.
            bound = part.annotation if isinstance(part, ast.arg) else getattr(part, "bound", None)
            promise = self.binder.annotations.promised(bound) if bound is not None else None
            if promise is not None:
                found[part.arg if isinstance(part, ast.arg) else part.name] = promise
        if not found:
            return self.names.scope
        scope = Scope(
            "comprehension", self.names.scope, self.names.scope.qualname, inline=True, function=f"{id(node)} types"
        )
        scope.bound = set(found)
        scope.env.update(found)
        scope.closure.update(found)
        return scope

    def _base(self, node: ast.expr) -> Value:
        """A base; a generic one with its parameters is the class itself."""
        if isinstance(node, ast.Subscript):
            self.binder.use(node.slice)
            return self._base(node.value)
        return self.binder.use(node.value if isinstance(node, ast.Starred) else node)

    def _configured(self, path: str, value: Value) -> Value:
        """In its own module too, an accessor is one."""
        found = self.state.world.configured(path)
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
