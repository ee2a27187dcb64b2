"""Calls of functions of the tree, by their summaries: what they return, and the records that are handed to them."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder import starred
from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.tables import FunctionFacts
from confbag.ratchets.binder.values import (
    NOTHING,
    OTHER,
    UNKNOWN,
    Awaiting,
    Box,
    Function,
    Instance,
    Of,
    Parameter,
    Partial,
    Record,
    Value,
    awaiting,
    box,
    join,
)
from confbag.ratchets.binder.world import Summary


class Summaries(Part):
    """Arguments to parameters, and parameters to what is returned."""

    def of(self, key: str) -> Summary | None:
        """What is known of a function now."""
        facts = self.state.functions.get(key)
        if facts is None:
            return self.state.world.function(key)
        summary = facts.summary()
        if not facts.done and key in self.state.last_returns:
            returns, yields = self.state.last_returns[key]
            summary = replace(summary, returns=join([summary.returns, returns]), yields=join([summary.yields, yields]))
        return summary

    def call(self, function: Function, call: Call) -> Value:
        """A call of a function of the tree."""
        facts = self.state.functions.get(function.key)
        if facts is not None and isinstance(facts.node, ast.Lambda):
            return self.binder.lambdas.inline(facts, function, call)
        summary = self.of(function.key)
        if summary is None:
            if self.binder.elsewhere.matters(call):
                self.state.demand(function.key, gives=call.node is not self.state.dropped)
            return UNKNOWN
        given = self.match(summary, function, call)
        self.hand_off(function.key, summary.holds, given, call)
        if function.key in self.state.fills:
            bound = sum(1 for name in summary.parameters[:1] if given.get(name) is function.receiver is not None)
            self.binder.growing.filled(function.key, list(summary.parameters)[bound:], given, call)
        returns = summary.returns
        if summary.yields:
            returns = box(False, (), summary.yields)
            if returns == OTHER:
                returns = UNKNOWN
        if not returns:
            return UNKNOWN if facts is None else self.binder.bodies.unwalked(facts)
        if any(isinstance(atom, (Parameter, Box, Function, Partial, Awaiting)) for atom in returns):
            returns = self._substitute(returns, function.key, given, facts)
        return awaiting(returns) if summary.coroutine else returns

    def match(self, summary: Summary, function: Function, call: Call) -> dict[str, Value]:
        """The values that a call gives to parameters, by their names."""
        names = list(summary.parameters)
        given: dict[str, Value] = {}
        bound = function.receiver is not None and summary.method and summary.kind != "static"
        args = call.args
        if bound and function.receiver is not None:
            instance = any(isinstance(atom, (Instance, Of, Record)) for atom in function.receiver)
            if instance or summary.kind == "class":
                args = [function.receiver, *args]
        given.update(zip(names[: summary.positional], args, strict=False))
        self._take_surplus(summary, args[summary.positional :], given)
        for keyword, value, _ in call.keywords:
            if keyword is not None:
                self._take_named(summary, keyword, value, given)
        handed = [value for keyword, value, _ in call.keywords if keyword is None]
        if call.rest or handed:
            self._take_forwarded(summary, call.rest, handed, len(args), given)
        return given

    @staticmethod
    def _take_forwarded(
        summary: Summary, rest: Value, handed: list[Value], count: int, given: dict[str, Value]
    ) -> None:
        """What a caller's own starred parameters may give to those that have nothing yet."""
        for position, name in enumerate(summary.parameters):
            if name not in given and name not in (summary.star, summary.stars):
                values = [starred.forwarded(value, name) for value in handed]
                if count <= position < summary.positional:
                    values.append(starred.forwarded(rest, position - count))
                given[name] = join(values)

    @staticmethod
    def _take_surplus(summary: Summary, args: list[Value], given: dict[str, Value]) -> None:
        if summary.star and args:
            whole = starred.everything(summary.star, False)
            given[whole] = join(args)
            given.update((f"{whole}[{index}/{len(args)}]", value) for index, value in enumerate(args))

    @staticmethod
    def _take_named(summary: Summary, name: str, value: Value, given: dict[str, Value]) -> None:
        if name in summary.parameters and name not in (summary.star, summary.stars):
            given[name] = value
        elif summary.stars:
            whole = starred.everything(summary.stars, True)
            given[f"{whole}[{name}]"] = value
            given[whole] = join([given.get(whole, NOTHING), value])

    def _substitute(self, value: Value, key: str, given: dict[str, Value], facts: FunctionFacts | None) -> Value:
        values: list[Value] = []
        for atom in value:
            if isinstance(atom, Parameter) and atom.key == key:
                default = facts.defaults.get(atom.name, UNKNOWN) if facts else UNKNOWN
                values.append(self._given(atom.name, given) or default)
            elif isinstance(atom, Box):
                items = [(name, self._substitute(held, key, given, facts)) for name, held in atom.items]
                rest = self._substitute(atom.rest, key, given, facts) if atom.rest else NOTHING
                values.append(box(atom.mapping, items, rest))
            elif isinstance(atom, Awaiting):
                values.append(frozenset({Awaiting(self._substitute(atom.value, key, given, facts))}))
            elif isinstance(atom, Partial):
                args = tuple(self._substitute(part, key, given, facts) for part in atom.args)
                keywords = tuple((name, self._substitute(part, key, given, facts)) for name, part in atom.keywords)
                called = self._substitute(atom.function, key, given, facts)
                values.append(frozenset({Partial(called, args, keywords)}))
            else:
                values.append(frozenset({atom}))
        return join(values)

    @staticmethod
    def _given(name: str, given: dict[str, Value]) -> Value:
        """What a call gives for a parameter, or for one thing of a starred one."""
        if name in given or "[" not in name:
            return given.get(name, NOTHING)
        whole = name.partition("[")[0] + "["
        return join(value for held, value in given.items() if held.startswith(whole) and name in starred.ways(held))

    def hand_off(self, key: str, holds: frozenset[str], given: dict[str, Value], call: Call) -> None:
        """Records among the arguments go to the function; what callers gave for parameters goes on to it."""
        for name, value in given.items():
            if name.startswith("*") and "[" not in name:
                continue  # each of it is given by itself
            for atom in value:
                if isinstance(atom, Parameter) and key != atom.key:
                    self.state.pass_on(atom, key, name)
                elif isinstance(atom, Record):
                    self.state.demand(key)
                    if name not in holds:
                        self.sights.hand_off(atom, key, name, call.node)

    def returned(self, function: Function) -> Value:
        """What a generator returns in the end."""
        summary = self.of(function.key)
        found = NOTHING if summary is None else summary.returns
        return frozenset(atom for atom in found if not isinstance(atom, Parameter))

    def quiet_call(self, function: Function, call: Call) -> Value:
        """What a function gives for a receiver, without noting a call."""
        facts = self.state.functions.get(function.key)
        if facts is not None and isinstance(facts.node, ast.Lambda):
            return self.binder.lambdas.inline(facts, function, call)
        summary = self.of(function.key)
        returns = NOTHING if summary is None else summary.returns
        if summary is not None and summary.yields:
            returns = box(False, (), summary.yields)
        if summary is None or not returns:
            return UNKNOWN
        given = self.match(summary, function, call)
        if summary.parameters:
            given[summary.parameters[0]] = function.receiver or UNKNOWN
        return self._substitute(returns, function.key, given, facts)
