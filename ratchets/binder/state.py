"""What the parts of the binder share of a module: its functions and classes, and what is stored for all to see."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.tables import ClassFacts, FunctionFacts
from confbag.ratchets.binder.values import NOTHING, Parameter, Type, Value, join, merged
from confbag.ratchets.binder.world import World
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.paths import normal, within
from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.triage import by_name, record_words


class State:
    """Tables of one pass (`functions`, `classes`, …) and of the pass before (`last_…`)."""

    def __init__(self, module: Module, configuration: Configuration, world: World, asked_for: frozenset[str]) -> None:
        self.module = module
        self.configuration = configuration
        self.world = world
        self.holders: dict[str, str] = {}
        inside = module.path.removeprefix(configuration.prefix)
        for spec in configuration.records:
            if not spec.holders_in or any(within(inside, normal(folder)) for folder in spec.holders_in):
                for holder in spec.holders:
                    self.holders.setdefault(holder, spec.name)
        # Names that speak for a record in other folders: here a class has to.
        self.mute = {holder for spec in configuration.records for holder in spec.holders} - set(self.holders)
        self.by_name = by_name(configuration)
        source = module.source
        self.words_of_others = frozenset(
            word for word in world.known.words | world.known.inner if word.encode() in source
        )
        self.words: set[str] = {*record_words(configuration), *self.words_of_others}
        self.known_modules: set[str] = set()
        for spec in configuration.records:
            for path in (*spec.accessors, *spec.types):
                parts = path.split(".")
                self.known_modules.update(".".join(parts[:count]) for count in range(1, len(parts)))
        # What calls and attributes on the way to a record give: `get_context()` of `get_context().server_args`.
        self.on_the_way: set[str] = set()
        for spec in configuration.records:
            for path in spec.accessors:
                parts = path.split("()")
                self.on_the_way.update("()".join(parts[:count]) for count in range(1, len(parts)))
                self.on_the_way.update(
                    "()".join(parts[:count]) + "()" for count in range(1, len(parts)) if parts[count]
                )
        self.words.update(path.removesuffix("()").rpartition(".")[2] for path in self.on_the_way)
        # What accessors and types are called in their modules.
        self.at_home = frozenset(
            path.partition("(")[0].rpartition(".")[2]
            for spec in configuration.records
            for path in (*spec.accessors, *spec.types)
        )
        self.keys: dict[ast.AST, str] = {}
        self.taken: set[str] = set()
        self.asked_for = asked_for
        self.asked_names = frozenset(path.rpartition(".")[2] for path in asked_for)
        self.demanded: set[str] = {key for one in asked_for for key in (one, f"{one}.__init__", f"{one}.__new__")}
        self.wanted: set[str] = set()
        self.unheard: set[str] = set()
        self.handing = "CB104" in configuration.codes
        self.dropped: ast.expr | None = None  # the call of which nobody takes the value
        self.stars: dict[str, None] = {}  # the modules of which everything is imported, in order

        self.functions: dict[str, FunctionFacts] = {}
        self.classes: dict[str, ClassFacts] = {}
        self.shared: dict[str, set[str]] = {}
        self.fills: dict[
            str, dict[tuple[str, str], Value]
        ] = {}  # of a function: (parameter, attribute or "" for items)
        self.foreign: dict[str, Value] = {}
        self.global_stores: dict[str, Value] = {}
        # What attributes of other modules and of their classes keep, by path.
        self.exported: dict[str, Value] = {}
        self.parked: dict[str, Value] = {}
        self.queue: list[FunctionFacts] = []
        self.record_classes: dict[str, Type] = {}  # the record's class and its subclasses in this module

        self.last_returns: dict[str, tuple[Value, Value]] = {}
        self.last_closures: dict[str, dict[str, Value]] = {}
        self.last_attributes: dict[str, dict[str, Value]] = {}
        self.last_foreign: dict[str, Value] = {}
        self.last_globals: dict[str, Value] = {}

    def begin(self) -> None:
        """A pass begins."""
        self.functions = {}
        self.classes = {}
        self.foreign = {}
        self.global_stores = {}
        self.exported = {}
        self.parked = {}
        self.queue = []

    def remember(self, *, growing: bool = False) -> None:
        """A pass is over: keep what functions share for the next one, with what was kept before where it is to grow."""
        before = (self.last_returns, self.last_closures, self.last_attributes, self.last_foreign, self.last_globals)
        self.last_returns = {key: (facts.returns, facts.yields) for key, facts in self.functions.items()}
        closures: dict[str, dict[str, Value]] = {}
        for facts in self.functions.values():
            scope: Scope | None = facts.scope
            while scope is not None:
                if scope.kind in ("function", "comprehension") and scope.function not in closures:
                    closures[scope.function] = dict(scope.closure)
                scope = scope.parent
        self.last_closures = closures
        self.last_attributes = {key: dict(facts.attributes) for key, facts in self.classes.items()}
        self.last_foreign = dict(self.foreign)
        self.last_globals = dict(self.global_stores)
        if growing:
            returns, closures, attributes, foreign, stores = before
            for key, (returned, yielded) in returns.items():
                held = self.last_returns.get(key, (NOTHING, NOTHING))
                self.last_returns[key] = (join([held[0], returned]), join([held[1], yielded]))
            for into, tables in ((self.last_closures, closures), (self.last_attributes, attributes)):
                for key, table in tables.items():
                    _grow(into.setdefault(key, {}), table)
            _grow(self.last_foreign, foreign)
            _grow(self.last_globals, stores)

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

    def fill(self, key: str, parameter: str, attribute: str, value: Value) -> None:
        """A function puts something into what it is given."""
        held = self.fills.setdefault(key, {})
        place = (parameter, attribute)
        held[place] = merged(join([held.get(place, NOTHING), value]))

    def want(self, path: str) -> None:
        """What something of another module is must be known, whatever it is given."""
        self.wanted.add(path)
        self.unheard.add(path)

    def demand(self, key: str, *, gives: bool = False) -> None:
        """What a function makes of its parameters must be known: one of this module, or of another.

        `gives` says that what it returns matters; what it reads of them matters to CB104 alone.
        """
        if key in self.functions:
            self.demanded.add(key)
        elif gives or self.handing:
            self.wanted.add(key)

    def pass_on(self, parameter: Parameter, key: str, name: str) -> None:
        """What a caller gave for a parameter goes on to a parameter of another function."""
        facts = self.functions.get(parameter.key)
        if facts is not None:
            facts.passes.setdefault(parameter.name, set()).add((key, name))
            if parameter.key in self.demanded:
                self.demand(key)


def _grow(into: dict[str, Value], by: dict[str, Value]) -> None:
    for name, value in by.items():
        into[name] = join([into.get(name, NOTHING), value])
