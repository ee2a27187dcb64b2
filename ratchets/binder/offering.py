"""What a module offers to others once its passes are done."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.facts import ModuleFacts
from confbag.ratchets.binder.leading import Leading
from confbag.ratchets.binder.state import ClassFacts
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Parameter,
    Plain,
    Property,
    Record,
    Symbol,
    Value,
    join,
)
from confbag.ratchets.binder.world import Summary, Table


class Offering(Leading):
    """The facts that a module gives to others."""

    def offer(self) -> ModuleFacts:
        """Everything seen, and what other modules may ask."""
        prefix = self.module.name
        exports: dict[str, Value] = {}
        functions: dict[str, Summary] = {}
        classes: dict[str, Table] = {}
        telling = {key for key in self.classes if key in self.telling}
        returning = {
            key
            for key, facts in self.functions.items()
            if key in self.telling and not isinstance(facts.node, ast.Lambda)
        }
        wanted_functions = {key for key in self.functions if key in self.demanded}
        env = {name: value for name, value in self.module_scope.env.items() if isinstance(name, str)}
        for name, stored in self.global_stores.items():
            env[name] = join([env.get(name, NOTHING), stored])
        words: set[str] = set()
        for name, value in env.items():
            path = f"{prefix}.{name}"
            kept = frozenset(
                atom
                for atom in _portable(value)
                if not (isinstance(atom, Function) and atom.key not in returning)
                and not (isinstance(atom, (Class, Instance)) and atom.key not in telling and atom.key in self.classes)
            )
            if self.tells(kept):
                exports[path] = kept
                words.add(name)
            elif path in self.asked_for:
                exports[path] = value
        for path, value in self.exported.items():
            kept = _portable(value)
            if self.tells(kept):
                exports[path] = kept
                words.add(path.rpartition(".")[2])
        for key in returning | wanted_functions:
            functions[key] = self._portable_summary(self.functions[key].summary())
        for key in self.classes:
            if key in telling or key in self.asked_for:
                facts = self.classes[key]
                classes[key] = self._table(facts)
        for table in classes.values():
            for value in table.body.values():
                for atom in value:
                    inner = atom.getter if isinstance(atom, Property) else frozenset({atom})
                    for part in inner:
                        if isinstance(part, Function) and part.key in self.functions and part.key not in functions:
                            facts_of = self.functions[part.key]
                            if not isinstance(facts_of.node, ast.Lambda) and self.tells(_portable(facts_of.returns)):
                                functions[part.key] = self._portable_summary(facts_of.summary())
        return ModuleFacts(
            prefix,
            {place: tuple(ways.values()) for place, ways in self.sights.items()},
            tuple(self.handoffs.values()),
            exports,
            functions,
            classes,
            frozenset(path.rpartition(".")[2] for path in exports if path.startswith(prefix + ".")),
            frozenset(words),
            self._declares(),
            self._base_paths(),
            dict(self.world.asked),
            frozenset(self.wanted),
            self.words_of_others,
            self.inexact,
        )

    def _portable_summary(self, summary: Summary) -> Summary:
        return Summary(
            summary.name,
            summary.parameters,
            _portable(summary.returns),
            _portable(summary.yields),
            summary.kind,
            summary.context,
            summary.reads,
            summary.passes,
            summary.method,
            summary.holds,
        )

    def _table(self, facts: ClassFacts) -> Table:
        body = {**facts.annotated, **facts.body}
        leading = self._leading_names(facts, self.gives)
        return Table(
            facts.name,
            facts.bases,
            {
                name: _portable(value)
                for name, value in facts.attributes.items()
                if name in leading or name in self.holders
            },
            {
                name: _portable(value)
                for name, value in body.items()
                if name in leading or any(isinstance(atom, (Function, Property)) for atom in value)
            },
            frozenset(leading),
        )

    def _declares(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for key, facts in self.classes.items():
            for holder in self.holders:
                value = facts.annotated.get(holder)
                if value is None or value == UNKNOWN:
                    value = join([facts.attributes.get(holder, NOTHING), facts.body.get(holder, NOTHING)]) or value
                if not value:
                    continue
                if any(isinstance(atom, Record) for atom in value):
                    found.setdefault(key, {})[holder] = "record"
                elif all(_is_something_else(atom) for atom in value) and value - NONE:
                    found.setdefault(key, {})[holder] = "other"
        return found

    def _base_paths(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for key, facts in self.classes.items():
            paths = []
            for base in facts.bases:
                for atom in base:
                    if isinstance(atom, Symbol):
                        paths.append(atom.path)
                    elif isinstance(atom, Class):
                        paths.append(atom.key)
            if paths:
                found[key] = tuple(paths)
        return found


def _is_something_else(atom: object) -> bool:
    if isinstance(atom, Plain):
        return atom.kind in ("other", "none")
    return not isinstance(atom, (Parameter, Record, Symbol))


def _portable(value: Value) -> Value:
    """What another module can use of a value: not the parameters of a function."""
    return frozenset(atom for atom in value if not isinstance(atom, Parameter))
