"""Scopes, bindings and sites of one tree: what the rules beside the record rules ask about names.

One walk without recursion. Which binding a use sees is `reach`'s question, what an expression is `naming`'s.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from confbag.ratchets.names.opening import FUNCTIONS, SPECIAL, Work
from confbag.ratchets.names.scopes import Arm, Binding, Position, Scope, Site
from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.tree import children

_BEHIND = (1 << 61, 0)
# What rules ask the sites of.
_ASKED = (
    *FUNCTIONS, ast.ClassDef, ast.Lambda, ast.Assign, ast.AnnAssign, ast.Return, ast.Name, ast.Attribute,
    ast.Subscript, ast.Call, ast.IfExp,
)  # fmt: skip


def lexicon(module: Module) -> Lexicon:
    """The lexicon of a module, made once and kept with it."""
    kept: dict[str, object] = module.__dict__
    found = kept.get("lexicon")
    if not isinstance(found, Lexicon):
        found = kept["lexicon"] = Lexicon(module)
    return found


def release(module: Module) -> None:
    """Forget the lexicon of a module, so that its tree goes at once and not when the collector comes by."""
    found = module.__dict__.pop("lexicon", None)
    if isinstance(found, Lexicon):
        for scope in found.scopes:
            scope.bindings.clear()
            scope.parent = None
        found.scopes.clear()
        found.sites.clear()
        found.stars.clear()


class Lexicon:
    """Everything that one walk saw. `sites` holds, by type of node, what stands where, in source order."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.top = Scope("module", None, "<module>", module.tree)
        self.scopes: list[Scope] = [self.top]
        self.scope_of: dict[ast.AST, Scope] = {module.tree: self.top}
        self.sites: dict[type, list[Site]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.stars: list[tuple[str, Binding]] = []
        self._walk()
        self._give_away()

    def of(self, *kinds: type) -> list[Site]:
        """The sites of nodes of these types, all of `_ASKED`, in source order."""
        found = [site for kind in kinds for site in self.sites[kind]]
        found.sort(key=lambda site: (site.node.lineno, site.node.col_offset))
        return found

    def any(self, *kinds: type) -> Iterator[Site]:
        """The sites of nodes of these types, all of `_ASKED`, in no order."""
        for kind in kinds:
            yield from self.sites[kind]

    # The walk

    def _walk(self) -> None:
        stack: list[Work] = [(self.module.tree.body, self.top, None, None)]
        push = stack.append
        parents = self.parents
        asked: dict[type, Callable[[Site], None]] = {kind: self.sites.setdefault(kind, []).append for kind in _ASKED}
        site = tuple.__new__
        while stack:
            node, scope, arm, statement = work = stack.pop()
            # Asked of each of millions: by class, which a parser makes no subclasses of.
            kind = node.__class__
            if kind is list:
                stack.extend([(one, scope, arm, one) for one in reversed(node)])
                continue
            note = asked.get(kind)
            if note is not None:
                # A named tuple's own way takes three times as long.
                note(site(Site, work))
            # Two of three nodes are names and attributes.
            if kind is ast.Name:
                continue
            if kind is ast.Attribute:
                parents[node.value] = node
                push((node.value, scope, arm, statement))
                continue
            special = SPECIAL.get(kind)
            for child in children(node) if special is None else special(self, stack, site(Site, work)):
                parents[child] = node
                if child.__class__ is not ast.Constant:
                    push((child, scope, arm, statement))

    def _give_away(self) -> None:
        """What a function stores by `global` or `nonlocal` is bound outside of it."""
        for scope in self.scopes:
            for name in [name for name in scope.bindings if name in scope.globals or name in scope.nonlocals]:
                target = self.top if name in scope.globals else _owner(scope, name)
                if target is None:
                    continue
                for binding in scope.bindings.pop(name):
                    binding.stored = True
                    binding.position = _BEHIND
                    target.bindings.setdefault(name, []).append(binding)
        for scope in self.scopes:
            for bindings in scope.bindings.values():
                if len(bindings) > 1:
                    bindings.sort(key=lambda binding: binding.position)

    def bind(
        self,
        name: str,
        kind: str,
        node: ast.AST,
        scope: Scope,
        arm: Arm | None,
        statement: ast.stmt,
        position: Position,
        path: str = "",
        value: ast.expr | None = None,
    ) -> None:
        """Note that a name gets a value."""
        if isinstance(node, ast.NamedExpr):
            while scope.kind == "comprehension" and scope.parent is not None:
                scope = scope.parent
        scope.bindings.setdefault(name, []).append(
            Binding(name, kind, node, scope, position, arm, statement, path, value)
        )

    def target(
        self,
        target: ast.expr,
        value: ast.expr | None,
        end: Position,
        scope: Scope,
        arm: Arm | None,
        statement: ast.stmt,
    ) -> None:
        """Bind the names of an assignment's target, each to its part of the value where that can be told."""
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(target, value)]
        while pairs:
            one, given = pairs.pop()
            if isinstance(one, ast.Name):
                kind = "assign" if given is not None else "other"
                self.bind(one.id, kind, one, scope, arm, statement, end, value=given)
            elif isinstance(one, ast.Starred):
                pairs.append((one.value, None))
            elif isinstance(one, (ast.Tuple, ast.List)):
                parts: list[ast.expr | None] = [None] * len(one.elts)
                if (
                    isinstance(given, (ast.Tuple, ast.List))
                    and len(given.elts) == len(one.elts)
                    and not any(isinstance(part, ast.Starred) for part in (*given.elts, *one.elts))
                ):
                    parts = list(given.elts)
                pairs.extend(zip(one.elts, parts, strict=True))

    def scope(self, kind: str, parent: Scope, name: str, node: ast.AST, arm: Arm | None) -> Scope:
        """Open a scope; lambdas and comprehensions add nothing to the qualname."""
        qualname = (
            parent.qualname if not name else name if parent.qualname == "<module>" else f"{parent.qualname}.{name}"
        )
        made = Scope(kind, parent, qualname, node, arm)
        self.scopes.append(made)
        self.scope_of[node] = made
        return made


def _owner(scope: Scope, name: str) -> Scope | None:
    for outer in scope.outward():
        if outer is not scope and outer.kind in ("function", "lambda") and name in outer.bindings:
            return outer
    return None
