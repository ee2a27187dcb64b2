"""Names while a module is walked: the current scope, what a name is in it, and what a name takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from confbag.ratchets.binder.scopes import BodyNames, Scope
from confbag.ratchets.binder.state import State
from confbag.ratchets.binder.values import NOTHING, UNKNOWN, Const, Value, join, merged

_ALIKE = 64  # so many names for other objects are remembered, the last ones
_NAMING = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
    """The name of a function's first parameter."""
    return next((argument.arg for argument in (*node.args.posonlyargs, *node.args.args)), "")


def root(node: ast.expr) -> str | None:
    """The name that an expression of attributes and items begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_attribute(node: ast.expr, base: str, name: str) -> bool:
    """Whether an expression is `base.name`, or begins with it."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name):
            return node.value.id == base
        node = node.value
    return False


def _dump(node: ast.expr) -> str:
    """An expression as text; whether it is read or written makes no difference."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")


_GLOBAL = re.compile(rb"\bglobal\b((?:[^\n;#\\]|\\\r?\n)*)")
_NAME = re.compile(rb"[\w\x80-\xff]+")


class Names:
    """The current scope, and the values of names seen from it."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.module_scope = Scope("module", None, "<module>")
        self.scope = self.module_scope
        self.bodies: dict[ast.AST, BodyNames] = {}

    def begin(self) -> None:
        """A pass begins, at module level."""
        self.module_scope = Scope("module", None, "<module>")
        self.scope = self.module_scope

    @contextmanager
    def within(self, scope: Scope) -> Iterator[Scope]:
        """Another scope is the current one for a while."""
        before = self.scope
        self.scope = scope
        try:
            yield scope
        finally:
            self.scope = before

    def qualname(self, name: str) -> str:
        """The qualname of something called `name` in the current scope."""
        here = self.scope.qualname
        return name if here == "<module>" else f"{here}.{name}"

    def lookup(self, name: str) -> Value | None:
        """The value of a name, None where it is bound nowhere in this module."""
        scope: Scope | None = self.scope
        live = True
        while scope is not None:
            if name in scope.globals:
                return self.module_value(name, live=False)
            if scope.kind == "module":
                return self.module_value(name, live=live)
            if scope.kind == "class":
                # Scopes inside a class body do not see its names.
                if scope is self.scope and name in scope.env:
                    return scope.env[name]
            elif name in scope.bound:
                before = self.state.last_closures.get(scope.function, {}).get(name, NOTHING)
                if not live:
                    return join([scope.closure.get(name, NOTHING), before]) or UNKNOWN
                found = scope.env.get(name, UNKNOWN)
                # Where an inner function stores to it, that happens whenever the function is called.
                return join([found, before]) if name in self.state.shared.get(scope.function, ()) else found
            elif live and name in scope.nonlocals and name in scope.env:
                return scope.env[name]
            live = live and scope.inline
            scope = scope.parent
        return None

    def module_value(self, name: str, *, live: bool) -> Value | None:
        """A module-level name: its value now, or (from a function) at the end joined with every global store."""
        found = self.module_scope.env.get(name)
        if live:
            return found
        stored = join([self.state.global_stores.get(name, NOTHING), self.state.last_globals.get(name, NOTHING)])
        if found is None:
            return stored or None
        if name in self.told_global and any(isinstance(atom, Const) for atom in found) and name in self.rebound:
            return join([found, stored, UNKNOWN])
        return join([found, stored])

    @cached_property
    def told_global(self) -> frozenset[str]:
        """Whatever stands after the word `global` in the module's text."""
        found = _GLOBAL.findall(self.state.module.utf8)
        return frozenset(word.decode() for names in found for word in _NAME.findall(names))

    @cached_property
    def rebound(self) -> set[str]:
        """The names that functions of this module store by `global`, walked or not."""
        found: set[str] = set()
        for node in ast.walk(self.state.module.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = self.of_body(node).globals
                if names:
                    found.update(
                        part.id
                        for part in ast.walk(node)
                        if isinstance(part, ast.Name) and part.id in names and not isinstance(part.ctx, ast.Load)
                    )
        return found

    def bind(self, name: str, value: Value) -> None:
        """A name gets a value in the current scope."""
        scope = self.scope
        while scope.kind == "comprehension" and name not in scope.bound and scope.parent is not None:
            scope = scope.parent
        if name in scope.globals:
            self.state.global_stores[name] = join([self.state.global_stores.get(name, NOTHING), value])
            return
        if name in scope.nonlocals:
            outer = scope.parent
            while outer is not None and not (outer.kind == "function" and name in outer.bound):
                outer = outer.parent
            if outer is not None:
                self.state.shared.setdefault(outer.function, set()).add(name)
                outer.closure[name] = join([outer.closure.get(name, NOTHING), value])
        if scope.same:
            scope.same = [one for one in scope.same if name not in one[2]]
        if name in scope.attribute_bases:
            scope.attribute_bases.discard(name)
            for key in [key for key in scope.env if isinstance(key, tuple) and key[0] == name]:
                scope.forget(key)
        scope.put(name, value)
        if scope.kind in ("function", "comprehension"):
            held = scope.closure.get(name)
            if held is None:
                scope.closure[name] = value
            elif held is not value:
                scope.closure[name] = join([held, value])

    def holds(self, name: str) -> bool:
        """Whether a name is one of the current scope's own."""
        scope = self.scope
        while scope.kind == "comprehension" and name not in scope.bound and scope.parent is not None:
            scope = scope.parent
        if scope.kind in ("module", "class"):
            return name in scope.env
        return name in scope.bound

    def grow(self, name: str, value: Value) -> None:
        """What a name of the current scope holds has changed in place."""
        scope = self.scope
        held = scope.same
        self.bind(name, value)
        scope.same = held

    def alike(self, name: str, node: ast.expr) -> None:
        """A name is given to what an expression names."""
        parts = list(ast.walk(node))
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if all(isinstance(part, _NAMING) for part in parts) and root(node) is not None and name not in names:
            same = self.scope.same
            same.append((name, node, frozenset({name, *names})))
            if len(same) > _ALIKE:
                del same[0]

    def others(self, node: ast.expr) -> list[ast.expr]:
        """What else names the object that an expression names."""
        same = self.scope.same
        found: list[ast.expr] = []
        seen = [node]
        while same and seen:
            current = seen.pop()
            for name, other, _ in same:
                if isinstance(current, ast.Name) and current.id == name:
                    more = other
                elif type(other) is type(current) and _dump(other) == _dump(current):
                    more = ast.Name(name, ast.Load())
                else:
                    continue
                if all(_dump(more) != _dump(one) for one in (node, *found)):
                    found.append(more)
                    seen.append(more)
        return found

    def part_of(self, name: str) -> tuple[str, str] | None:
        """The function whose parameter a name is, where it is never anything else."""
        scope = self.scope
        while scope.kind == "comprehension" and name not in scope.bound and scope.parent is not None:
            scope = scope.parent
        facts = self.state.functions.get(scope.function)
        if scope.kind != "function" or facts is None or name not in self.of_body(facts.node).kept:
            return None
        # What a method leaves in its own object is in its class.
        return None if facts.owner and facts.kind != "static" and name == _first(facts.node) else (facts.key, name)

    def add(self, name: str, value: Value) -> None:
        """What a name of an outer scope holds takes something more, whenever the current function runs."""
        scope: Scope | None = self.scope
        while scope is not None and scope.kind != "module":
            if name in scope.globals:
                break
            if scope.kind in ("function", "comprehension") and name in scope.bound:
                self.state.shared.setdefault(scope.function, set()).add(name)
                scope.closure[name] = merged(join([scope.closure.get(name, NOTHING), value]))
                return
            scope = scope.parent
        stores = self.state.global_stores
        stores[name] = merged(join([stores.get(name, NOTHING), value]))

    def stored(self, name: str, attribute: str) -> Value | None:
        """What the code before left in `name.attribute`, as far as this function knows."""
        key = (name, attribute)
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.env.get(key)
            if found is not None:
                return found
            if not scope.inline or name in scope.bound:
                return None
            scope = scope.parent
        return None

    def put_attribute(self, base: str, name: str, value: Value) -> None:
        """`base.name` holds a value from here on."""
        if self.scope.same:
            self.scope.same = [one for one in self.scope.same if not _is_attribute(one[1], base, name)]
        self.grow_attribute(base, name, value)

    def grow_attribute(self, base: str, name: str, value: Value) -> None:
        """What `base.name` holds has changed in place."""
        self.scope.put((base, name), value)
        self.scope.attribute_bases.add(base)

    def of_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> BodyNames:
        """The names of a function body, collected once."""
        found = self.bodies.get(node)
        if found is None:
            found = self.bodies[node] = BodyNames(node)
        return found
