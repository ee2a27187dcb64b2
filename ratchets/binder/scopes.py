"""Lexical scopes: which names a function binds, and where a name that it does not bind is looked up."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from confbag.ratchets.binder.values import ABSENT, Value, join
from confbag.ratchets.source.tree import children, parameters

Key = str | tuple[str, str]
Env = dict[Key, Value]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class BodyNames:
    """The names of one function body: bound here, declared global, declared nonlocal."""

    __slots__ = ("bound", "globals", "kept", "nonlocals", "yields")

    def __init__(self, node: FunctionNode) -> None:
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.yields = False
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        self._collect(body)
        given = {argument.arg for argument in parameters(node.args)}
        self.kept = given - self.bound  # parameters that are never bound to something else
        self.bound |= given
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
            stack.extend(children(node))

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
        inside = [node]
        while inside:
            part = inside.pop()
            if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
                self.bound.add(part.target.id)
            inside.extend(part.args.defaults if isinstance(part, ast.Lambda) else children(part))
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


_LEAVES = frozenset({ast.Constant, ast.Pass, ast.Break, ast.Continue})
_BINDS: dict[type[ast.AST], Callable[[Any, Any, list[ast.AST]], bool]] = {
    ast.FunctionDef: BodyNames._definition,
    ast.AsyncFunctionDef: BodyNames._definition,
    ast.ClassDef: BodyNames._definition,
    ast.Lambda: BodyNames._lambda,
    ast.ListComp: BodyNames._comprehension,
    ast.SetComp: BodyNames._comprehension,
    ast.DictComp: BodyNames._comprehension,
    ast.GeneratorExp: BodyNames._comprehension,
    ast.Import: BodyNames._import,
    ast.ImportFrom: BodyNames._import,
    ast.Global: BodyNames._global,
    ast.Nonlocal: BodyNames._nonlocal,
    ast.Yield: BodyNames._yield,
    ast.YieldFrom: BodyNames._yield,
    ast.ExceptHandler: BodyNames._named,
    ast.MatchAs: BodyNames._named,
    ast.MatchStar: BodyNames._named,
    ast.MatchMapping: BodyNames._mapping,
}


class Scope:
    """One scope while it is walked, and afterwards what inner functions see of it.

    `inline` scopes (class bodies, comprehensions, lambdas called at once) run where they stand, so they see the
    values of the moment; other functions run at any time and see the join of all bindings.
    """

    __slots__ = (
        "attribute_bases", "bound", "closure", "dead", "declared", "env", "exits", "function", "globals", "inline",
        "kind", "loops", "nonlocals", "owner", "parent", "qualname", "same", "thrown",
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
        names: BodyNames | None = None,
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
        # Names, what else names the same object, and every name in both.
        self.same: list[tuple[str, ast.expr, frozenset[str]]] = []
        self.loops: list[tuple[list[Env], list[Env]]] = []
        self.thrown: list[Env] = []  # what a throw leaves, for each open block that catches one
        self.declared: dict[str, Value] = {}
        self.dead = False

    def put(self, key: Key, value: Value) -> None:
        """A key holds a value from here on; a throw anywhere after it finds it so."""
        self.env[key] = value
        for env in self.thrown:
            held = env.get(key)
            if held is None:
                env[key] = value | {ABSENT} if isinstance(key, tuple) else value
            elif held is not value:
                env[key] = join([held, value])

    def forget(self, key: Key) -> None:
        """A key holds nothing that is known."""
        del self.env[key]
        for env in self.thrown:
            if key in env:
                env[key] = env[key] | {ABSENT}


def join_env(envs: Iterable[Env]) -> Env:
    """The env where paths meet: a name unbound on one of them keeps the others' value."""
    found = list(envs)
    if len(found) == 1:
        return found[0]
    joined: Env = dict(found[0])
    keys: set[Key] = set(joined)
    for env in found[1:]:
        for key, value in env.items():
            held = joined.get(key)
            if held is None:
                joined[key] = value | {ABSENT} if isinstance(key, tuple) else value
            elif held is not value and held != value:
                joined[key] = join([held, value])
        for key in keys - env.keys():
            if isinstance(key, tuple):
                joined[key] = joined[key] | {ABSENT}
        keys = set(joined)
    return joined
