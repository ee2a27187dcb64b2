"""What functions of a module change that outlives them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from confbag.ratchets.finding import Place
from confbag.ratchets.names.glance import CHANGING, DUNDERS, MUTATORS
from confbag.ratchets.names.kinds import Kinds
from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming, Paths, text_of
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.scopes import Binding, Scope, Site
from confbag.ratchets.source.parse import Module

_IMPORTS = frozenset({"importlib.import_module", "__import__", "importlib.util.module_from_spec"})
_SETTERS = frozenset({"setattr", "delattr"})
_BUILTIN = frozenset({"object", "type", "list", "dict", "set", "bytearray", "collections.deque", "deque"})
_BY_CALL = MUTATORS | DUNDERS | _SETTERS | CHANGING
_DICT = ".__dict__"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that a function changes: `global` names, or paths whose first part of a module may be state.

    `how` is global, store (an attribute), item, call (a mutating method) or next (an iterator is moved on); `owner` is
    the outermost function.
    """

    paths: Paths
    how: str
    owner: str
    place: Place


class Changes:
    """The changes of one module; `owner` tells the outermost function of a scope."""

    def __init__(
        self, module: Module, lexicon: Lexicon, naming: Naming, kinds: Kinds, owner: Callable[[Scope], str | None]
    ) -> None:
        self.module = module
        self.lexicon = lexicon
        self.naming = naming
        self.kinds = kinds
        self.owner = owner
        self.prefix = f"{module.name}." if module.name else ""

    def all(self) -> tuple[Change, ...]:
        """Every change, in source order."""
        found = [*self._globals(), *self._targets(), *self._calls()]
        return tuple(sorted(found, key=lambda one: (one.place.line, one.place.column)))

    # `global`

    def _globals(self) -> Iterator[Change]:
        for name, bindings in self.lexicon.top.bindings.items():
            for binding in bindings:
                if not binding.stored or self._import(binding) or self.kinds.safe(binding.value):
                    continue
                if not _instead_of_import(binding, [one for one in bindings if self._import(one)]):
                    site = Site(binding.node, binding.scope, binding.arm, binding.statement)
                    yield from self._change({self.prefix + name}, "global", binding.node, site)

    def _import(self, binding: Binding) -> bool:
        """Whether a binding imports: by a statement, or by a call that does the same, and an attribute of it."""
        if binding.kind == "import":
            return True
        value = binding.value
        while isinstance(value, ast.Attribute):
            value = value.value
        site = Site(value, binding.scope, binding.arm, binding.statement)
        return isinstance(value, ast.Call) and bool(self.naming.of(value.func, site) & _IMPORTS)

    # Targets

    def _targets(self) -> Iterator[Change]:
        parents = self.lexicon.parents
        for site in self.lexicon.any(ast.Attribute):
            node = site.node
            if isinstance(node.ctx, ast.Load):
                # A method that changes its object, handed on for others to call.
                if node.attr in MUTATORS:
                    parent = parents.get(node)
                    if isinstance(parent, ast.keyword) or (isinstance(parent, ast.Call) and parent.func is not node):
                        yield from self._reached(node.value, "call", site)
            elif not _of_parameter(node.value, site.scope):
                for change in self._reached(node, "store", site):
                    if not self.kinds.safe(getattr(parents.get(node), "value", None)):
                        yield change
        for site in self.lexicon.any(ast.Subscript):
            if not isinstance(site.node.ctx, ast.Load) and not _of_parameter(site.node.value, site.scope):
                yield from self._reached(site.node.value, "item", site, text_of(site.node.slice))

    def _reached(self, node: ast.expr, how: str, site: Site, key: str | None = None) -> Iterator[Change]:
        if self.owner(site.scope) is not None and not _told(node):
            yield from self._change(self.naming.of(node, site), how, node if how == "item" else site.node, site, key)

    # Calls

    def _calls(self) -> Iterator[Change]:
        bound, moving = self._bound(), frozenset({"next", "builtins.next"})
        for site in self.lexicon.any(ast.Call):
            function, arguments = site.node.func, site.node.args
            if isinstance(function, ast.Attribute):
                name = function.attr
            elif isinstance(function, ast.Name):
                name = function.id
            else:
                continue
            if (name not in _BY_CALL and name not in bound and name != "next") or self.owner(site.scope) is None:
                continue
            if isinstance(function, ast.Attribute) and name in MUTATORS | DUNDERS:
                yield from self._method(function.value, name, site)
            elif name in _SETTERS:
                if self.naming.of(function, site) & {name, f"builtins.{name}"}:
                    yield from self._set(arguments, site)
            elif name == "next":
                if arguments and self.naming.of(function, site) & moving:
                    yield from self._change(self.naming.of(arguments[0], site), "next", site.node, site)
            else:
                paths = self.naming.of(function, site)
                if paths & _FIRST and arguments:
                    yield from self._change(self.naming.of(arguments[0], site), "item", site.node, site)
                elif not isinstance(function, ast.Attribute):
                    methods = {path.rpartition(".")[0] for path in paths if path.rpartition(".")[2] in MUTATORS}
                    yield from self._change(methods, "call", site.node, site)

    def _method(self, changed: ast.expr, name: str, site: Site) -> Iterator[Change]:
        if _told(changed):
            return
        arguments = site.node.args
        paths = self.naming.of(changed, site)
        if paths & _BUILTIN:
            # dict.update(X, …), object.__setattr__(X, "a", …)
            if not arguments:
                return
            paths, arguments = self.naming.of(arguments[0], site), arguments[1:]
        if name in ("__setattr__", "__delattr__"):
            yield from self._set([changed, *arguments], site, paths)
        else:
            yield from self._change(paths, "item" if name in DUNDERS else "call", site.node, site)

    def _set(self, arguments: list[ast.expr], site: Site, paths: Paths | None = None) -> Iterator[Change]:
        if len(arguments) > 1:
            name = text_of(arguments[1]) or "*"
            found = self.naming.of(arguments[0], site) if paths is None else paths
            yield from self._change({f"{path}.{name}" for path in found}, "store", site.node, site)

    def _bound(self) -> set[str]:
        """Names that may stand for a method or a function that changes what it is given."""
        found = set()
        for scope in self.lexicon.scopes:
            for name, bindings in scope.bindings.items():
                for one in bindings:
                    if (isinstance(one.value, ast.Attribute) and one.value.attr in MUTATORS) or one.path in _FIRST:
                        found.add(name)
        return found

    # What was found

    def _change(
        self, paths: Iterable[str], how: str, node: ast.AST, site: Site, key: str | None = None
    ) -> Iterator[Change]:
        by_how: dict[str, set[str]] = {}
        for path in paths:
            if "." not in path or "()" in path:
                continue
            one = how
            if path.endswith(_DICT) and how in ("item", "call"):
                path, one = f"{path.removesuffix(_DICT)}.{key or '*'}", "store"
            if one == "store" and path.rpartition(".")[0] == self.module.name:
                one = "global"
            if not self._own(path, site.scope):
                by_how.setdefault(one, set()).add(path)
        if by_how:
            owner = self.prefix + (self.owner(site.scope) or "")
            at = place(self.module, node, site)
            for one, found in by_how.items():
                yield Change(frozenset(found), one, owner, at)

    def _own(self, path: str, scope: Scope) -> bool:
        """Whether what is changed is an attribute of a class, or what it holds, from within that class."""
        return any(
            outer.kind == "class" and f"{path}.".startswith(f"{self.prefix}{outer.qualname}.")
            for outer in scope.outward()
        )


_FIRST = frozenset(
    {
        "random.shuffle", "numpy.random.shuffle", "bisect.insort", "bisect.insort_left", "bisect.insort_right",
        *(f"heapq.{name}" for name in CHANGING if name.startswith("heap")),
        *(f"operator.{name}" for name in ("setitem", "delitem", "iadd", "iconcat", "iand", "ior", "isub", "ixor")),
    }
)  # fmt: skip


def _of_parameter(node: ast.expr, scope: Scope) -> bool:
    """Whether something is an attribute of a parameter, or that: most of what is set is one of `self`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    bindings = scope.bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    return len(bindings) == 1 and isinstance(bindings[0].node, ast.arg)


def _told(node: ast.expr) -> bool:
    """Whether what is reached comes of a call that is a change by itself: X.setdefault(k, []).append(v)."""
    while True:
        if isinstance(node, ast.Call):
            node = node.func
            if isinstance(node, ast.Attribute) and node.attr == "setdefault":
                return True
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return False


def _instead_of_import(binding: Binding, imports: list[Binding]) -> bool:
    """Whether a binding stands in a handler of the `try` that would have imported the name: a part of the import."""
    arm = binding.arm
    while arm is not None:
        if isinstance(arm.root, ast.Try) and arm.number > 0:
            for one in imports:
                inner = one.arm
                while inner is not None:
                    if inner.root is arm.root and inner.number == 0 and one.scope is binding.scope:
                        return True
                    inner = inner.parent
        arm = arm.parent
    return False
