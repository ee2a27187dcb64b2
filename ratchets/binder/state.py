"""What the parts of the binder share: tables of functions and classes, the current scope, and what was seen."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from confbag.ratchets.binder.facts import Handoff, Sight
from confbag.ratchets.binder.scopes import Env, FunctionNode, Key, Names, Scope, parameters
from confbag.ratchets.binder.values import (
    ABSENT,
    NOTHING,
    UNKNOWN,
    Class,
    Instance,
    Parameter,
    Record,
    Symbol,
    Value,
    interesting,
    join,
)
from confbag.ratchets.binder.world import Summary, World
from confbag.ratchets.configuration import Configuration, RecordSpec
from confbag.ratchets.finding import Place
from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.triage import by_name, record_words


@dataclass(eq=False)
class FunctionFacts:
    """One function of this module while it is read."""

    key: str
    name: str
    node: FunctionNode
    scope: Scope
    owner: str
    kind: str = ""
    context: bool = False
    defaults: dict[str, Value] = field(default_factory=dict)
    holds: set[str] = field(default_factory=set)
    returns: Value = NOTHING
    yields: Value = NOTHING
    reads: dict[str, set[str]] = field(default_factory=dict)
    passes: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    done: bool = False

    def summary(self) -> Summary:
        """What other functions may know of it."""
        return Summary(
            self.name,
            tuple(argument.arg for argument in parameters(self.node)),
            self.returns,
            self.yields,
            self.kind,
            self.context,
            {name: frozenset(fields) for name, fields in self.reads.items()},
            {name: frozenset(others) for name, others in self.passes.items()},
            bool(self.owner),
            frozenset(self.holds),
        )


@dataclass(eq=False)
class ClassFacts:
    """One class of this module while it is read: its body's names, and what methods leave in attributes."""

    key: str
    name: str
    node: ast.ClassDef
    bases: tuple[Value, ...] = ()
    body: dict[str, Value] = field(default_factory=dict)
    annotated: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)


class State:
    """Tables of one pass (`functions`, `classes`, …) and of the pass before (`last_…`)."""

    def __init__(self, module: Module, configuration: Configuration, world: World) -> None:
        self.module = module
        self.configuration = configuration
        self.world = world
        self.specs: dict[str, RecordSpec] = {spec.name: spec for spec in configuration.records}
        self.holders: dict[str, str] = {}
        inside = module.path.removeprefix(configuration.prefix)
        for spec in configuration.records:
            if not spec.holders_in or any(under(inside, folder) for folder in spec.holders_in):
                for holder in spec.holders:
                    self.holders.setdefault(holder, spec.name)
        self.words: set[str] = set(record_words(configuration))
        self.by_name = by_name(configuration)
        source = module.source
        self.words_of_others = frozenset(
            word for word in world.known.words | world.known.inner if word.encode() in source
        )
        self.words |= self.words_of_others
        self.known_modules: set[str] = set()
        for spec in configuration.records:
            for path in (*spec.accessors, *spec.types):
                parts = path.split(".")
                self.known_modules.update(".".join(parts[:count]) for count in range(1, len(parts)))
        self.keys: dict[ast.AST, str] = {}
        self.taken: set[str] = set()
        self.demanded: set[str] = set()
        self.wanted: set[str] = set()
        self.asked_for: frozenset[str] = frozenset()
        self.names_of: dict[ast.AST, Names] = {}
        self.annotations: dict[str, ast.expr | None] = {}

        self.functions: dict[str, FunctionFacts] = {}
        self.classes: dict[str, ClassFacts] = {}
        self.shared: dict[str, set[str]] = {}
        self.foreign: dict[str, Value] = {}
        self.global_stores: dict[str, Value] = {}
        self.last_returns: dict[str, tuple[Value, Value]] = {}
        self.last_closures: dict[str, dict[str, Value]] = {}
        self.last_attributes: dict[str, dict[str, Value]] = {}
        self.last_foreign: dict[str, Value] = {}
        self.last_globals: dict[str, Value] = {}
        self.exported: dict[str, Value] = {}
        self.queue: list[FunctionFacts] = []
        self.module_scope = Scope("module", None, "<module>")
        self.scope = self.module_scope
        self.sights: dict[Place, dict[tuple[str, str, str], Sight]] = {}
        self.handoffs: dict[tuple[Place, str, str, str], Handoff] = {}
        self.span = (0, 0)
        self.header: ast.stmt | ast.AST | None = None
        self.inexact = False
        self.in_text = 0
        self.inlining: list[ast.AST] = []
        self.heads: dict[ast.AST, Env] = {}

    # Keys

    def key(self, node: ast.AST, qualname: str) -> str:
        """The key of a function or class: equal names in one module get a number."""
        found = self.keys.get(node)
        if found is None:
            found = base = f"{self.module.name}.{qualname}"
            number = 1
            while found in self.taken:
                number += 1
                found = f"{base}#{number}"
            self.taken.add(found)
            self.keys[node] = found
        return found

    def qualname(self, name: str) -> str:
        """The qualname of something called `name` in the current scope."""
        here = self.scope.qualname
        return name if here == "<module>" else f"{here}.{name}"

    # Names

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
                if live and name in scope.env:
                    return scope.env[name]
            elif name in scope.bound:
                if live:
                    found = scope.env.get(name, UNKNOWN)
                    if name in self.shared.get(scope.function, ()):
                        # An inner function stores to it whenever it is called.
                        return join([found, self.last_closures.get(scope.function, {}).get(name, NOTHING)])
                    return found
                return (
                    join(
                        [
                            scope.closure.get(name, NOTHING),
                            self.last_closures.get(scope.function, {}).get(name, NOTHING),
                        ]
                    )
                    or UNKNOWN
                )
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
        stored = join([self.global_stores.get(name, NOTHING), self.last_globals.get(name, NOTHING)])
        if found is None:
            return stored or None
        return join([found, stored])

    def bind(self, name: str, value: Value) -> None:
        """A name gets a value in the current scope."""
        scope = self.scope
        while scope.kind == "comprehension" and name not in scope.bound and scope.parent is not None:
            scope = scope.parent
        if name in scope.globals:
            self.global_stores[name] = join([self.global_stores.get(name, NOTHING), value])
            return
        if name in scope.nonlocals:
            outer = scope.parent
            while outer is not None and not (outer.kind == "function" and name in outer.bound):
                outer = outer.parent
            if outer is not None:
                self.shared.setdefault(outer.function, set()).add(name)
                outer.closure[name] = join([outer.closure.get(name, NOTHING), value])
        if name in scope.attribute_bases:
            scope.attribute_bases.discard(name)
            for key in [key for key in scope.env if isinstance(key, tuple) and key[0] == name]:
                del scope.env[key]
        scope.env[name] = value
        if scope.kind in ("function", "comprehension"):
            held = scope.closure.get(name)
            if held is None:
                scope.closure[name] = value
            elif held is not value:
                scope.closure[name] = join([held, value])

    # Sights

    def place(self, line: int, start: int, end_line: int, end: int) -> Place:
        """The place of a token, from offsets as `ast` counts them."""
        module = self.module
        first, last = self.span
        return Place(
            line,
            module.column(line, start),
            end_line,
            module.column(end_line, end),
            self.scope.qualname,
            first,
            last,
        )

    def see(
        self,
        code: str,
        record: Record,
        symbol: str,
        place: Place,
        *,
        certain: bool = False,
        span: tuple[int, int] | None = None,
        negated: bool = False,
    ) -> None:
        """Note an access; seeing it again on another path keeps it certain only if both are."""
        certain = certain and not self.module.large
        ways = self.sights.setdefault(place, {})
        key = (code, record.spec, symbol)
        sight = Sight(code, record.spec, symbol, record.guess, certain, span, negated)
        held = ways.get(key)
        if held is not None:
            guess = None if held.guess is None or record.guess is None else held.guess
            sight = Sight(code, record.spec, symbol, guess, held.certain and certain, span, negated)
        ways[key] = sight

    def note_parameter(self, value: Value, field_name: str) -> None:
        """Whatever a caller gave for these parameters, a field of it is used."""
        for atom in value:
            if isinstance(atom, Parameter):
                facts = self.functions.get(atom.key)
                if facts is not None:
                    facts.reads.setdefault(atom.name, set()).add(field_name)

    # Attributes

    def store_attribute(self, base: Value, name: str, value: Value) -> None:
        """An attribute of some object keeps a value beyond the function."""
        for atom in base:
            if isinstance(atom, (Instance, Class)):
                facts = self.classes.get(atom.key)
                if facts is not None:
                    facts.attributes[name] = join([facts.attributes.get(name, NOTHING), value])
                    continue
            if isinstance(atom, Symbol) and "()" not in atom.path and interesting(value):
                path = f"{atom.path}.{name}"
                self.exported[path] = join([self.exported.get(path, NOTHING), value])
            if not isinstance(atom, (Instance, Class, Record)):
                self.foreign[name] = join([self.foreign.get(name, NOTHING), value])

    def leave(self, env: Env, base_env: Env | None = None) -> None:
        """At an exit of a function, attributes keep what they hold."""
        for key, value in env.items():
            if isinstance(key, tuple):
                kept = value - {ABSENT}
                if kept:
                    base = env.get(key[0])
                    if base is None:
                        found = self.lookup(key[0])
                        base = UNKNOWN if found is None else found
                    self.store_attribute(base, key[1], kept)


def under(path: str, folder: str) -> bool:
    """Whether a path is a file or lies in a folder, by path components."""
    folder = folder.rstrip("/")
    return folder in ("", ".") or path == folder or path.startswith(folder + "/")


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


__all__ = ["ClassFacts", "FunctionFacts", "State", "join_env", "under"]
