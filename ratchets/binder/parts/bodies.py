"""Bodies of functions, walked when the module has run: what parameters hold, what is promised and returned."""

from __future__ import annotations

import ast
import re

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.starred import everything
from confbag.ratchets.binder.tables import FunctionFacts
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Class,
    Instance,
    Of,
    Parameter,
    Record,
    Value,
    box,
    contents,
    interesting,
    join,
    records,
)
from confbag.ratchets.source.tree import parameters

_GIVES_ITSELF = re.compile(rb"\breturn[ \t(]+self[ \t)]*(?:[\r\n;#]|\Z)")


class Bodies(Part):
    """One function at a time."""

    def matters(self, facts: FunctionFacts) -> bool:
        """Whether a function can hold anything: its text has one of the words that can lead to a record."""
        if facts.key in self.state.demanded:
            return True
        of_record = facts.owner in self.state.record_classes
        if of_record and facts.kind == "class":
            # The record's class by no name that its text must have.
            return True
        words = set(self.state.words)
        scope: Scope | None = facts.scope
        while scope is not None:
            if scope.kind in ("function", "comprehension"):
                words.update(name for name, value in scope.closure.items() if self.binder.leading.leads_on(value))
                words.update(
                    name
                    for name, value in self.state.last_closures.get(scope.function, {}).items()
                    if self.binder.leading.leads_on(value)
                )
            scope = scope.parent
        node = facts.node
        body = self.module.utf8[self.module.start(node) : self.module.end(node)]
        if of_record and _GIVES_ITSELF.search(body):
            return True
        return any(word.encode() in body for word in words if word)

    def run(self, facts: FunctionFacts) -> None:
        """Walk a function's body; what it leaves, returns and reads is in its facts."""
        node = facts.node
        scope = Scope("function", facts.scope, facts.name, function=facts.key, names=self.names.of_body(facts.node))
        if isinstance(node, ast.Lambda):
            scope.qualname = facts.scope.qualname
        before = self.places.span
        with self.names.within(scope):
            self._parameters(facts)
            if isinstance(node, ast.Lambda):
                self.places.enter_lambda(node)
                facts.returns = self.binder.use(node.body)
            else:
                self.binder.flow.block(node.body)
                if not scope.dead:
                    scope.exits.append(scope.env)
                    facts.returns = join([facts.returns, NONE])
                for env in scope.exits:
                    self.binder.classes.leave(env)
                self._promised(facts)
                facts.returns = self.binder.record_class.as_records(facts.owner, facts.returns)
        facts.done = True
        self.places.span = before
        # What inner functions need stays; the flow of this one does not.
        scope.env = {}
        scope.exits = []

    def _parameters(self, facts: FunctionFacts) -> None:
        node = facts.node
        arguments = node.args
        starred = {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None}
        is_lambda = isinstance(node, ast.Lambda)
        for index, argument in enumerate(parameters(arguments)):
            name = argument.arg
            value: Value
            if index == 0 and facts.owner and facts.kind != "static" and not is_lambda and name not in starred:
                value = self._of_class(facts.owner) if facts.kind == "class" else frozenset({Instance(facts.owner)})
            else:
                value = self._parameter(facts, argument, name in starred, is_lambda)
            self.names.bind(name, value)

    def _of_class(self, owner: str) -> Value:
        """What a class method takes first; in the record's own class that is the record's class."""
        found = self.state.record_classes.get(owner)
        return frozenset({Class(owner) if found is None else found})

    def _parameter(self, facts: FunctionFacts, argument: ast.arg, starred: bool, is_lambda: bool) -> Value:
        name = argument.arg
        declared = self._declared(facts, argument)
        if starred:
            if declared is not None and interesting(declared):
                return box(argument is facts.node.args.kwarg, (), declared)
            if is_lambda and facts.key not in self.state.demanded:
                return UNKNOWN
            mapping = argument is facts.node.args.kwarg
            return box(mapping, (), frozenset({Parameter(facts.key, everything(name, mapping))}))
        default = facts.defaults.get(name, NOTHING)
        held = [Record(record.spec, record.direct) for record in records(default)]
        values: list[Value] = [default] if interesting(default) else []
        if declared is not None:
            values.append(declared)
        elif not held and name in self.state.holders:
            values.append(frozenset({Record(self.state.holders[name], False)}))
        value = join(values)
        if records(value):
            facts.holds.add(name)
        unasked = is_lambda and facts.key not in self.state.demanded
        own: Value = UNKNOWN if unasked else frozenset({Parameter(facts.key, name)})
        # What callers give is what the annotation or the name says, where they say something.
        if declared is not None or (records(value) and not held):
            return value
        return join([value, own])

    def _declared(self, facts: FunctionFacts, argument: ast.arg) -> Value | None:
        # An annotation is read where the function is defined.
        with self.names.within(facts.scope):
            return self.binder.annotations.of(argument.annotation)

    def unwalked(self, facts: FunctionFacts) -> Value:
        """What a function gives whose body is not walked, because nothing in it can lead to a record."""
        if facts.done or facts.coroutine or isinstance(facts.node, ast.Lambda) or facts.node.returns is None:
            return UNKNOWN
        if facts.promise is None:
            declared = self._declared_return(facts)
            objects = declared is not None and all(isinstance(atom, (Of, Instance)) for atom in declared - NONE)
            facts.promise = declared if declared and objects and not self.names.of_body(facts.node).yields else UNKNOWN
        return facts.promise

    def _declared_return(self, facts: FunctionFacts) -> Value | None:
        assert not isinstance(facts.node, ast.Lambda)
        with self.names.within(facts.scope):
            return self.binder.annotations.of(facts.node.returns)

    def _promised(self, facts: FunctionFacts) -> None:
        """A return annotation speaks where the body does not."""
        node = facts.node
        if isinstance(node, ast.Lambda) or node.returns is None or interesting(facts.returns):
            return
        declared = self._declared_return(facts)
        if declared is None or not (interesting(declared) or any(isinstance(atom, Of) for atom in declared)):
            return
        if self.names.of_body(node).yields:
            if not interesting(facts.yields):
                facts.yields = contents(declared)
        elif any(atom in UNKNOWN for atom in facts.returns) or facts.returns == NONE:
            facts.returns = declared
