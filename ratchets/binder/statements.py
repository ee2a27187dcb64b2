"""Simple statements and imports, and the table of all."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from confbag.ratchets.binder.definitions import Definitions
from confbag.ratchets.binder.probes import probed
from confbag.ratchets.binder.values import (
    NONE,
    UNKNOWN,
    Builtin,
    Class,
    Fields,
    Instance,
    Parameter,
    Record,
    Symbol,
    Value,
    interesting,
)


class Statements(Definitions):
    """Execution by kind of statement."""

    def _expr(self, node: ast.Expr) -> None:
        self.ev(node.value)

    def _assign(self, node: ast.Assign) -> None:
        value = self.ev(node.value)
        for target in node.targets:
            self.assign(target, value)
        if (
            isinstance(node.value, ast.Call)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and any(isinstance(atom, Record) and atom.direct for atom in value)
        ):
            self._fetched(node.targets[0].id, node.value)

    def _fetched(self, name: str, call: ast.Call) -> None:
        """A record fetched into a local name: for a test only, when every use of the name is one."""
        facts = self.functions.get(self.scope.function)
        if self.scope.kind != "function" or facts is None or isinstance(facts.node, ast.Lambda):
            return
        how = probed(facts.node.body, name)
        if how and name not in self.scope.globals | self.scope.nonlocals:
            self.probe_call(call, call, fixable=how == "truth")

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        declared = self.annotation(node.annotation)
        if node.value is None:
            if isinstance(node.target, ast.Name):
                if self.scope.kind == "class":
                    facts = self.classes.get(self.scope.owner)
                    if facts is not None:
                        facts.annotated[node.target.id] = UNKNOWN if declared is None else declared
                elif declared is not None and interesting(declared):
                    self.bind(node.target.id, declared)
            elif isinstance(node.target, ast.Attribute) and declared is not None:
                base = self.quiet(node.target.value)
                if any(isinstance(atom, (Instance, Class)) for atom in base):
                    self.store_attribute(base, node.target.attr, declared)
            return
        value = self.ev(node.value)
        if declared is not None and _says_nothing(value):
            value = declared
        if self.scope.kind == "class" and isinstance(node.target, ast.Name):
            facts = self.classes.get(self.scope.owner)
            if facts is not None:
                facts.annotated[node.target.id] = UNKNOWN if declared is None else declared
                if declared is not None and not interesting(value):
                    value = declared
        self.assign(node.target, value)

    def _aug_assign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            held = self._name(target)
            value = self.use(node.value)
            for atom in held:
                if isinstance(atom, Fields) and atom.live:
                    self.write(frozenset({atom.record}), "*", self.token(target))
            self.bind(target.id, self._operate(node.op, held, value))
            return
        value = self.use(node.value)
        self.assign(target, UNKNOWN, augmented=True)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.assign(target, UNKNOWN)

    def _assert(self, node: ast.Assert) -> None:
        self.test(node.test)
        if node.msg is not None:
            self.use(node.msg)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            parts = alias.name.split(".")
            self.known_modules.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
            if alias.asname is not None:
                self.bind(alias.asname, self._path(alias.name))
            else:
                self.bind(parts[0], self._path(parts[0]))

    def _import_from(self, node: ast.ImportFrom) -> None:
        base = self.absolute(node)
        for alias in node.names:
            if alias.name == "*":
                for name in sorted(self.world.star(base)):
                    self.bind(name, self._path(f"{base}.{name}"))
            else:
                path = f"{base}.{alias.name}" if base else alias.name
                self.bind(alias.asname or alias.name, self._path(path))

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that an import names, relative ones from this module's package."""
        if not node.level:
            return node.module or ""
        parts = self.module.parent.split(".") if self.module.parent else []
        if node.level > 1:
            parts = parts[: max(0, len(parts) - (node.level - 1))]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def _path(self, path: str) -> Value:
        if path.startswith("builtins."):
            return frozenset({Builtin(path.removeprefix("builtins."))})
        found = self.world.name(path)
        return frozenset({Symbol(path)}) if found is None else found

    def _type_alias(self, node: Any) -> None:
        if isinstance(node.name, ast.Name):
            self.bind(node.name.id, UNKNOWN)

    def _nothing(self, node: ast.stmt) -> None:
        return

    def run(self, node: ast.stmt) -> None:
        """One statement."""
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)


def _says_nothing(value: Value) -> bool:
    return all(atom in UNKNOWN or atom in NONE or isinstance(atom, (Parameter, Symbol)) for atom in value)


_HANDLERS: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Expr: Statements._expr,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._ann_assign,
    ast.AugAssign: Statements._aug_assign,
    ast.Delete: Statements._delete,
    ast.Return: Statements.return_statement,
    ast.Raise: Statements.raise_statement,
    ast.Assert: Statements._assert,
    ast.Break: Statements.break_statement,
    ast.Continue: Statements.continue_statement,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.If: Statements.branch_statement,
    ast.For: Statements.for_statement,
    ast.AsyncFor: Statements.for_statement,
    ast.While: Statements.while_statement,
    ast.Try: Statements.try_statement,
    ast.With: Statements.with_statement,
    ast.AsyncWith: Statements.with_statement,
    ast.Match: Statements.match,
    ast.FunctionDef: Statements.function_def,
    ast.AsyncFunctionDef: Statements.function_def,
    ast.ClassDef: Statements.class_def,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = Statements.try_statement
if hasattr(ast, "TypeAlias"):
    _HANDLERS[ast.TypeAlias] = Statements._type_alias
