"""Lexical scopes: which names a function binds, and where a name that it does not bind is looked up."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from confbag.ratchets.binder.values import Value

Key = str | tuple[str, str]
Env = dict[Key, Value]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Names:
    """The names of one function body: bound here, declared global, declared nonlocal."""

    __slots__ = ("bound", "globals", "nonlocals", "yields")

    def __init__(self, node: FunctionNode) -> None:
        self.bound: set[str] = {argument.arg for argument in parameters(node)}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.yields = False
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        self._collect(body)
        self.bound -= self.globals | self.nonlocals

    def _collect(self, stack: list[ast.AST]) -> None:
        bound = self.bound
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Name:
                if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                    bound.add(node.id)  # type: ignore[attr-defined]
                continue
            if kind in _LEAVES:
                continue
            handler = _BINDS.get(kind)
            if handler is not None and handler(self, node, stack):
                continue
            for name in node._fields:
                part = getattr(node, name, None)
                if part.__class__ is list:
                    stack.extend([one for one in part if isinstance(one, ast.AST)])
                elif isinstance(part, ast.AST):
                    stack.append(part)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, stack: list[ast.AST]) -> bool:
        self.bound.add(node.name)
        stack.extend(node.decorator_list)
        if isinstance(node, ast.ClassDef):
            stack.extend(node.bases)
        else:
            stack.extend(node.args.defaults)
            stack.extend(default for default in node.args.kw_defaults if default is not None)
        return True

    def _lambda(self, node: ast.Lambda, stack: list[ast.AST]) -> bool:
        stack.extend(node.args.defaults)
        return True

    def _comprehension(self, node: ast.AST, stack: list[ast.AST]) -> bool:
        # Targets belong to the comprehension, a walrus in it to the function.
        self.bound.update(
            inner.target.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name)
        )
        return True

    def _import(self, node: ast.Import | ast.ImportFrom, stack: list[ast.AST]) -> bool:
        for alias in node.names:
            self.bound.add(alias.asname or alias.name.partition(".")[0])
        return True

    def _global(self, node: ast.Global, stack: list[ast.AST]) -> bool:
        self.globals.update(node.names)
        return True

    def _nonlocal(self, node: ast.Nonlocal, stack: list[ast.AST]) -> bool:
        self.nonlocals.update(node.names)
        return True

    def _yield(self, node: ast.AST, stack: list[ast.AST]) -> bool:
        self.yields = True
        return False

    def _named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar, stack: list[ast.AST]) -> bool:
        if node.name:
            self.bound.add(node.name)
        return False

    def _mapping(self, node: ast.MatchMapping, stack: list[ast.AST]) -> bool:
        if node.rest:
            self.bound.add(node.rest)
        return False


_LEAVES = frozenset({ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Load, ast.Store, ast.Del})
_BINDS: dict[type[ast.AST], Callable[[Any, Any, list[ast.AST]], bool]] = {
    ast.FunctionDef: Names._definition,
    ast.AsyncFunctionDef: Names._definition,
    ast.ClassDef: Names._definition,
    ast.Lambda: Names._lambda,
    ast.ListComp: Names._comprehension,
    ast.SetComp: Names._comprehension,
    ast.DictComp: Names._comprehension,
    ast.GeneratorExp: Names._comprehension,
    ast.Import: Names._import,
    ast.ImportFrom: Names._import,
    ast.Global: Names._global,
    ast.Nonlocal: Names._nonlocal,
    ast.Yield: Names._yield,
    ast.YieldFrom: Names._yield,
    ast.ExceptHandler: Names._named,
    ast.MatchAs: Names._named,
    ast.MatchStar: Names._named,
    ast.MatchMapping: Names._mapping,
}


def parameters(node: FunctionNode) -> list[ast.arg]:
    """Every parameter in order; the starred ones last."""
    arguments = node.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.vararg:
        found.append(arguments.vararg)
    if arguments.kwarg:
        found.append(arguments.kwarg)
    return found


class Scope:
    """One scope while it is walked, and afterwards what inner functions see of it.

    `inline` scopes (class bodies, comprehensions, lambdas called at once) run where they stand, so they see the
    values of the moment; other functions run at any time and see the join of all bindings.
    """

    __slots__ = (
        "attribute_bases", "bound", "closure", "dead", "env", "exits", "function", "globals", "inline", "kind", "loops",
        "nonlocals", "owner", "parent", "qualname",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        parent: Scope | None,
        qualname: str,
        *,
        inline: bool = False,
        owner: str = "",
        function: str = "",
        names: Names | None = None,
    ) -> None:
        self.kind = kind
        self.parent = parent
        self.qualname = qualname
        self.inline = inline
        self.owner = owner
        self.function = function
        self.env: Env = {}
        self.closure: dict[str, Value] = {}
        self.bound: set[str] = names.bound if names else set()
        self.globals: set[str] = names.globals if names else set()
        self.nonlocals: set[str] = names.nonlocals if names else set()
        self.attribute_bases: set[str] = set()
        self.exits: list[Env] = []
        self.loops: list[tuple[list[Env], list[Env]]] = []
        self.dead = False
