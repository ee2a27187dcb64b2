"""Functions whose answers are cached, and what they use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from confbag.ratchets.finding import Place
from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming, Paths
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.references import paths_of
from confbag.ratchets.names.scopes import Scope, Site
from confbag.ratchets.source.parse import Module

_CACHES = frozenset({"functools.lru_cache", "functools.cache", "functools.lru_cache()"})


@dataclass(frozen=True, slots=True)
class Cached:
    """A cached function and the paths that it and its helpers of this module use."""

    name: str
    uses: Paths
    place: Place


class Caching:
    """The cached functions of one module: decorated, or handed to a cache by a call."""

    def __init__(self, module: Module, lexicon: Lexicon, naming: Naming) -> None:
        self.module = module
        self.lexicon = lexicon
        self.naming = naming
        self.prefix = f"{module.name}." if module.name else ""

    def all(self) -> Iterator[Cached]:
        """Each cached function."""
        if b"cache" not in self.module.source or b"functools" not in self.module.source:
            return
        wrapped: set[str] = set()
        found: list[tuple[str, Scope, Place]] = []
        for site in self.lexicon.any(ast.Call):
            if site.node.args and self.naming.of(site.node.func, site) & _CACHES:
                given = self._given(site.node.args[0], site)
                if isinstance(given, ast.Lambda):
                    found.append((self._name(site.node), self.lexicon.scope_of[given], self._place(site)))
                else:
                    wrapped |= self.naming.of(given, site)
        for site in self.lexicon.of(ast.FunctionDef, ast.AsyncFunctionDef):
            scope = self.lexicon.scope_of[site.node]
            decorated = any(self.naming.of(part, site) & _CACHES for part in site.node.decorator_list)
            if decorated or self.prefix + scope.qualname in wrapped:
                at = place(self.module, site.node, Site(site.node, site.scope, site.arm, site.node), scope.qualname)
                found.append((site.node.name, scope, at))
        inside = _Inside(self.lexicon, self.naming, self._key) if found else None
        for name, scope, at in found:
            uses: set[str] = set()
            edge = [self._key(scope)]
            while edge and inside is not None:
                more = inside.uses(edge.pop()) - uses
                uses |= more
                edge.extend(more & inside.scopes.keys())
            yield Cached(name, frozenset(uses), at)

    def _given(self, node: ast.expr, site: Site) -> ast.expr:
        """The function that is cached, out of functools.partial."""
        while isinstance(node, ast.Call) and node.args and "functools.partial" in self.naming.of(node.func, site):
            node = node.args[0]
        return node

    def _name(self, node: ast.Call) -> str:
        """What a cached lambda is called."""
        parent = self.lexicon.parents.get(node)
        target = parent.targets[0] if isinstance(parent, ast.Assign) else getattr(parent, "target", None)
        if isinstance(target, ast.Attribute):
            return target.attr
        return target.id if isinstance(target, ast.Name) else "<lambda>"

    def _place(self, site: Site) -> Place:
        return place(self.module, site.node, site)

    def _key(self, scope: Scope) -> str:
        if scope.kind == "lambda":
            return f"<lambda>{scope.node.lineno}:{scope.node.col_offset}"  # type: ignore[attr-defined]
        return self.prefix + scope.qualname


class _Inside:
    """The paths that functions use, those within them included; only of functions that are asked for."""

    def __init__(self, lexicon: Lexicon, naming: Naming, key: Callable[[Scope], str]) -> None:
        self.naming = naming
        self.scopes: dict[str, list[Scope]] = {}
        for scope in lexicon.scopes:
            for outer in scope.outward():
                if outer.deferred:
                    self.scopes.setdefault(key(outer), []).append(scope)
        self._sites: dict[Scope, list[Site]] = {}
        for site in lexicon.any(ast.Name, ast.Attribute):
            if isinstance(site.node.ctx, ast.Load):
                self._sites.setdefault(site.scope, []).append(site)

    def uses(self, key: str) -> set[str]:
        """The paths that a function uses."""
        return {
            path
            for scope in self.scopes.get(key, ())
            for site in self._sites.get(scope, ())
            for path in paths_of(site.node, site, self.naming)
            if "." in path
        }
