"""What a module offers to others once its passes are done."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from confbag.ratchets.binder.facts import ModuleFacts
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.tables import ClassFacts
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Atom,
    Class,
    Function,
    Instance,
    Parameter,
    Property,
    Record,
    Symbol,
    Value,
    depth,
    in_order,
    is_something_else,
    join,
    narrow,
)
from confbag.ratchets.binder.world import Summary, Table

_DEPTH = 8


class Offering(Part):
    """The facts that a module gives to others."""

    def offer(self) -> ModuleFacts:
        """Everything seen, and what other modules may ask."""
        exports, words = self._names()
        inner = self._left_elsewhere(exports, words)
        classes = self._classes(exports, words)
        prefix = self.module.name
        given = frozenset(name for name in self._env() if f"{prefix}.{name}" in exports)
        answers = {path: self.binder.answering.of(path) for path in self.state.asked_for}
        return ModuleFacts(
            prefix,
            {place: tuple(ways.values()) for place, ways in self.sights.seen.items()},
            tuple(self.sights.handoffs.values()),
            exports,
            {path: self._portable(value) for path, value in answers.items() if value is not None},
            self._functions(classes),
            classes,
            self.binder.answering.given(given),
            frozenset(words),
            self._declares(),
            self._base_paths(),
            dict(self.state.world.asked),
            frozenset(self.state.wanted),
            frozenset(self.state.unheard),
            self.state.words_of_others,
            self.places.inexact,
            inner,
        )

    def _env(self) -> dict[str, Value]:
        """The module's names, with what functions store to them."""
        env = {name: value for name, value in self.names.module_scope.env.items() if isinstance(name, str)}
        for name, stored in self.state.global_stores.items():
            env[name] = join([env.get(name, NOTHING), stored])
        return env

    def _names(self) -> tuple[dict[str, Value], set[str]]:
        """The names that others must know, by their paths, and the words by which files get at them."""
        telling = self.binder.leading.telling
        ours = {**self.state.functions, **self.state.classes}
        exports: dict[str, Value] = {}
        words: set[str] = set()
        for name, value in self._env().items():
            kept = frozenset(
                atom
                for atom in self._portable(value)
                if not (isinstance(atom, (Function, Class, Instance)) and atom.key in ours and atom.key not in telling)
            )
            if self.binder.leading.tells(kept):
                exports[f"{self.module.name}.{name}"] = kept
                words.add(name)
        return exports, words

    def _left_elsewhere(self, exports: dict[str, Value], words: set[str]) -> frozenset[str]:
        """What this module leaves in others, in their classes and in context variables; the attributes of classes."""
        tells, env = self.binder.leading.tells, self.names.module_scope.env
        inner: set[str] = set()
        for stores in (self.state.exported, self.state.parked):
            for path, value in stores.items():
                kept = self._portable(value)
                if tells(kept):
                    exports[path] = kept
                    owner, _, name = path.rpartition(".")
                    if stores is self.state.parked:
                        # An attribute's own name is no reason to read a file.
                        inner.add(name)
                        name = owner.rpartition(".")[2]
                    words.add(name)
        for name, value in self.state.foreign.items():
            variable = name.removesuffix(".set()")
            kept = self._portable(value)
            if variable != name and tells(kept):
                imported = [atom.path for atom in in_order(env.get(variable, NOTHING)) if isinstance(atom, Symbol)]
                home = imported[0] if imported else f"{self.module.name}.{variable}"
                exports[f"{home}.get()"] = kept
                words.add(home.rpartition(".")[2])
        return frozenset(inner)

    def _classes(self, exports: dict[str, Value], words: set[str]) -> dict[str, Table]:
        """The classes that others must know; those inside of classes are names too."""
        telling = self.binder.leading.telling
        found: dict[str, Table] = {}
        for key, facts in self.state.classes.items():
            if key in telling or key in self.state.asked_for:
                found[key] = self._table(facts)
            for name, value in facts.body.items():
                nested = frozenset(atom for atom in value if isinstance(atom, Class) and atom.key in telling)
                if nested:
                    exports[f"{key}.{name}"] = nested
                    words.add(name)
        return found

    def _functions(self, classes: Mapping[str, Table]) -> dict[str, Summary]:
        """The functions that lead to a record, those that others asked for, and what known classes have of them."""
        wanted = self.binder.leading.telling | self.state.demanded
        for table in classes.values():
            for value in table.body.values():
                for atom in value:
                    for part in atom.getter if isinstance(atom, Property) else (atom,):
                        facts = self.state.functions.get(part.key) if isinstance(part, Function) else None
                        if facts is not None and self.binder.leading.tells(self._portable(facts.returns)):
                            wanted = wanted | {facts.key}
        return {key: self._portable_summary(key) for key in self.state.functions if key in wanted}

    def _portable_summary(self, key: str) -> Summary:
        summary = self.state.functions[key].summary()
        return replace(
            summary,
            name=self._shown(key),
            returns=self._portable(summary.returns, key),
            yields=self._portable(summary.yields, key),
        )

    def _portable(self, value: Value, key: str = "") -> Value:
        """What another module can use of a value: of parameters only those of the function that it is about."""
        kept = frozenset(
            atom
            for atom in value
            if not (isinstance(atom, Parameter) and atom.key != key)
            # What a call gives that nothing is known of says something only on the way to an accessor.
            and not (isinstance(atom, Symbol) and "()" in atom.path and not self.state.world.leads(atom.path))
        )
        # Modules that put each other's values into their own must come to an end.
        return narrow(kept) if depth(kept) > _DEPTH else kept

    def _shown(self, key: str) -> str:
        """The name of a function for others: of a lambda the name that holds it."""
        facts = self.state.functions[key]
        if isinstance(facts.node, ast.Lambda):
            for name, value in self.names.module_scope.env.items():
                if isinstance(name, str) and Function(key) in value:
                    return name
        return facts.name

    def _table(self, facts: ClassFacts) -> Table:
        body = {**facts.annotated, **facts.body}
        made = f"{facts.key}.__init__"
        if "__init__" not in body and made in self.state.functions:
            body["__init__"] = frozenset({Function(made)})
        leading = self.binder.leading.names_in(facts, self.binder.leading.gives)
        return Table(
            facts.name,
            facts.bases,
            {
                name: self._portable(value)
                for name, value in facts.attributes.items()
                if name in leading or name in self.state.holders
            },
            {
                name: self._portable(value)
                for name, value in body.items()
                if name in leading
                or name in self.state.holders
                or any(isinstance(atom, (Function, Property)) for atom in value)
            },
            frozenset(leading),
        )

    def _declares(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for key, facts in self.state.classes.items():
            for holder in self.state.holders:
                value = facts.annotated.get(holder)
                if value is None or value == UNKNOWN:
                    value = join([facts.attributes.get(holder, NOTHING), facts.body.get(holder, NOTHING)]) or value
                if not value:
                    continue
                value = join(self._got(atom) for atom in value)
                if any(isinstance(atom, Record) for atom in value):
                    found.setdefault(key, {})[holder] = "record"
                elif all(is_something_else(atom) for atom in value) and value - NONE:
                    found.setdefault(key, {})[holder] = "other"
        return found

    def _got(self, atom: Atom) -> Value:
        """What reading an attribute gives: of a property what it returns."""
        if not isinstance(atom, Property):
            return frozenset({atom})
        getters = [self.state.functions.get(part.key) for part in atom.getter if isinstance(part, Function)]
        return join(facts.returns for facts in getters if facts is not None) or UNKNOWN

    def _base_paths(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for key, facts in self.state.classes.items():
            paths = []
            for base in facts.bases:
                for atom in in_order(base):
                    if isinstance(atom, Symbol):
                        paths.append(atom.path)
                    elif isinstance(atom, Class):
                        paths.append(atom.key)
            if paths:
                found[key] = tuple(paths)
        return found
