"""Which binding of a module a name is, seen from a place: by Python's own rules, on the whole tree."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence

from confbag.ratchets.source.tree import children, parameters

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_DEFINITIONS, ast.Lambda, *_COMPREHENSIONS)


class Scopes:
    """The scopes of a tree, what they bind, and what stands above each node."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents: dict[ast.AST, ast.AST] = {}
        self.scope: dict[ast.AST, ast.AST] = {}
        self.bindings: dict[ast.AST, dict[str, list[ast.AST]]] = {tree: {}}
        self.loads: dict[str, list[ast.Name]] = {}
        self._globals: dict[ast.AST, set[str]] = {}
        self._nonlocals: dict[ast.AST, set[str]] = {}
        self._walk()

    def resolved(self, place: ast.AST, name: str) -> tuple[ast.AST, list[ast.AST]] | None:
        """The scope that binds a name which is read at a place, and the nodes that do; None where none does."""
        current: ast.AST | None = self.scope[place]
        here = True
        while current is not None:
            if name in self._globals.get(current, ()):
                current = self.tree
            found = self.bindings[current].get(name)
            # What a class's body binds is seen in the body itself, not in what is defined there.
            if found and (here or not isinstance(current, ast.ClassDef)):
                return current, found
            # A comprehension in a class's body does not see it either.
            here = False
            current = None if current is self.tree else self.scope[current]
        return None

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        current = self.parents.get(node)
        while current is not None:
            yield current
            current = self.parents.get(current)

    def within(self, node: ast.AST, tops: Container[ast.AST]) -> bool:
        """Whether a node is one of some, or stands in one."""
        return node in tops or any(above in tops for above in self.above(node))

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is or stands in."""
        current = node
        while not isinstance(current, ast.stmt):
            current = self.parents[current]
        return current

    # Building

    def _walk(self) -> None:
        late: list[tuple[ast.AST, ast.AST, str]] = []
        stack: list[tuple[ast.AST, ast.AST]] = []
        self._push(self.tree, children(self.tree), self.tree, stack)
        while stack:
            node, scope = stack.pop()
            self.scope[node] = scope
            if isinstance(node, ast.Global):
                self._globals.setdefault(scope, set()).update(node.names)
            elif isinstance(node, ast.Nonlocal):
                self._nonlocals.setdefault(scope, set()).update(node.names)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.loads.setdefault(node.id, []).append(node)
            late.extend((node, self._binder(node, scope), name) for name in binds(node))
            if isinstance(node, _SCOPES):
                self.bindings[node] = {}
                outer = _outside(node)
                self._push(node, [part for part in children(node) if part in outer], scope, stack)
                self._push(node, [part for part in children(node) if part not in outer], node, stack)
            elif isinstance(node, ast.arguments):
                # The parameters are the function's; their defaults, and below their annotations, are not.
                self._push(node, parameters(node), scope, stack)
                self._push(node, [*node.defaults, *filter(None, node.kw_defaults)], self.scope[scope], stack)
            elif isinstance(node, ast.arg):
                self._push(node, children(node), self.scope[scope], stack)
            elif isinstance(node, ast.comprehension) and node is getattr(scope, "generators", [None])[0]:
                # What is gone through first is evaluated where the comprehension stands.
                self._push(node, [node.iter], self.scope[scope], stack)
                self._push(node, [node.target, *node.ifs], scope, stack)
            else:
                self._push(node, children(node), scope, stack)
        for node, binder, name in late:
            self.bindings[self._named(binder, name)].setdefault(name, []).append(node)

    def _push(
        self, node: ast.AST, parts: Sequence[ast.AST], scope: ast.AST, stack: list[tuple[ast.AST, ast.AST]]
    ) -> None:
        for part in parts:
            self.parents[part] = node
            stack.append((part, scope))

    def _binder(self, node: ast.AST, scope: ast.AST) -> ast.AST:
        """The scope that a binding belongs to; `:=` in a comprehension binds around it."""
        if isinstance(node, ast.Name) and isinstance(self.parents[node], ast.NamedExpr):
            while isinstance(scope, _COMPREHENSIONS):
                scope = self.scope[scope]
        return scope

    def _named(self, scope: ast.AST, name: str) -> ast.AST:
        while True:
            if name in self._globals.get(scope, ()):
                return self.tree
            if name not in self._nonlocals.get(scope, ()) or scope is self.tree:
                return scope
            scope = self.scope[scope]


def _outside(node: ast.AST) -> list[ast.AST]:
    """The parts of a definition that are evaluated where it stands."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*node.decorator_list, *([node.returns] if node.returns is not None else [])]
    return []


def binds(node: ast.AST) -> list[str]:
    """The names that a node itself binds, or takes away."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    name = getattr(node, "name", None)
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) or type(node).__name__ in _PARAMETERS:
        return [name] if isinstance(name, str) else []
    return []


# PEP 695; the running Python may not know them.
_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")
