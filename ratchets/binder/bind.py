"""A module's tree to its facts: passes over the module until nothing that functions share changes any more."""

from __future__ import annotations

import ast
import sys

from confbag.ratchets.binder.facts import ModuleFacts
from confbag.ratchets.binder.offering import Offering
from confbag.ratchets.binder.scopes import Scope, parameters
from confbag.ratchets.binder.state import FunctionFacts
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Box,
    Class,
    Instance,
    Parameter,
    Record,
    Value,
    box,
    content,
    interesting,
    join,
    records,
)
from confbag.ratchets.binder.world import World
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source.parse import Module

_PASSES = 12
_Shared = tuple[
    dict[str, tuple[Value, Value]],
    dict[str, dict[str, Value]],
    dict[str, Value],
    dict[str, Value],
    frozenset[str],
    frozenset[str],
    frozenset[str],
]
_RECURSION = 12_000


def bind(
    module: Module, configuration: Configuration, world: World, wanted: frozenset[str] = frozenset()
) -> ModuleFacts:
    """The facts of a module. `wanted` are keys of its functions whose summaries another module asked for."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        return Binder(module, configuration, world, wanted).facts()
    finally:
        sys.setrecursionlimit(limit)


class Binder(Offering):
    """Runs the passes."""

    def __init__(self, module: Module, configuration: Configuration, world: World, asked_for: frozenset[str]) -> None:
        super().__init__(module, configuration, world)
        self.asked_for = asked_for
        self._spans: dict[ast.AST, tuple[int, int]] | None = None
        for key in asked_for:
            self.demanded.update((key, f"{key}.__init__"))

    def facts(self) -> ModuleFacts:
        """Passes to a fixpoint; what is seen counts in the last one."""
        before: _Shared | None = None
        for _ in range(_PASSES):
            self._pass()
            self.follow()
            words = frozenset(self.words)
            self._remember()
            after = self._shared()
            if after == before or not self._worth_another(after, words):
                break
            before = after
        return self.offer()

    def _pass(self) -> None:
        self.functions = {}
        self.classes = {}
        self.foreign = {}
        self.global_stores = {}
        self.exported = {}
        self.queue = []
        self.sights = {}
        self.inexact = False
        self.handoffs = {}
        self.heads = {}
        self.module_scope = Scope("module", None, "<module>")
        self.scope = self.module_scope
        self.block(self.module.tree.body)
        self.leave(self.module_scope.env)
        while self.queue:
            queue, self.queue = self.queue, []
            for facts in queue:
                if self._matters(facts):
                    self._run(facts)

    def _matters(self, facts: FunctionFacts) -> bool:
        """Whether a function can hold anything: its text has one of the words that can lead to a record."""
        if facts.key in self.demanded:
            return True
        words = set(self.words)
        scope: Scope | None = facts.scope
        while scope is not None:
            if scope.kind in ("function", "comprehension"):
                words.update(name for name, value in scope.closure.items() if self.leads_on(value))
                words.update(
                    name for name, value in self.last_closures.get(scope.function, {}).items() if self.leads_on(value)
                )
            scope = scope.parent
        node = facts.node
        body = self.module.utf8[self.module.start(node) : self.module.end(node)]
        return any(word.encode() in body for word in words if word)

    def _run(self, facts: FunctionFacts) -> None:
        node = facts.node
        scope = Scope("function", facts.scope, facts.name, function=facts.key, names=self.names(facts.node))
        if isinstance(node, ast.Lambda):
            scope.qualname = facts.scope.qualname
        self.scope = scope
        before_span = self.span
        self._parameters(facts, scope)
        if isinstance(node, ast.Lambda):
            self.span = (node.lineno, node.end_lineno or node.lineno)
            self.span = self._statement_of(node)
            facts.returns = self.use(node.body)
        else:
            self.block(node.body)
            if not scope.dead:
                scope.exits.append(scope.env)
                facts.returns = join([facts.returns, NONE])
            for env in scope.exits:
                self.leave(env)
            self._promised(facts)
        facts.done = True
        self.span = before_span
        self.scope = self.module_scope
        # What inner functions need stays; the flow of this one does not.
        scope.env = {}
        scope.exits = []

    def _statement_of(self, node: ast.AST) -> tuple[int, int]:
        """The lines of the statement that holds a lambda."""
        if self._spans is None:
            spans: dict[ast.AST, tuple[int, int]] = {}
            stack: list[tuple[ast.AST, tuple[int, int]]] = [(self.module.tree, (1, 1))]
            while stack:
                current, lines = stack.pop()
                if isinstance(current, ast.stmt):
                    body = getattr(current, "body", None)
                    first = current.lineno
                    decorators = getattr(current, "decorator_list", None)
                    if decorators:
                        first = decorators[0].lineno
                    last = current.end_lineno or first
                    if isinstance(body, list) and body and isinstance(body[0], ast.AST):
                        last = max(current.lineno, getattr(body[0], "lineno", last) - 1)
                    lines = (first, last)
                elif isinstance(current, ast.Lambda):
                    spans[current] = lines
                stack.extend((child, lines) for child in ast.iter_child_nodes(current))
            self._spans = spans
        return self._spans.get(node, (0, 0))

    def _parameters(self, facts: FunctionFacts, scope: Scope) -> None:
        node = facts.node
        arguments = node.args
        starred = {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None}
        names = parameters(node)
        is_lambda = isinstance(node, ast.Lambda)
        for index, argument in enumerate(names):
            name = argument.arg
            value: Value
            if index == 0 and facts.owner and facts.kind != "static" and not is_lambda and name not in starred:
                value = frozenset({Class(facts.owner) if facts.kind == "class" else Instance(facts.owner)})
            else:
                value = self._parameter(facts, argument, name in starred, is_lambda)
            self.bind(name, value)

    def _parameter(self, facts: FunctionFacts, argument: ast.arg, starred: bool, is_lambda: bool) -> Value:
        name = argument.arg
        declared = self._declared(facts, argument)
        if starred:
            if declared is not None and interesting(declared):
                return box(argument is facts.node.args.kwarg, (), declared)
            return UNKNOWN
        default = facts.defaults.get(name, NOTHING)
        held = [Record(record.spec, record.direct) for record in records(default)]
        values: list[Value] = [default] if interesting(default) else []
        if declared is not None:
            values.append(declared)
        elif not held and name in self.holders:
            values.append(frozenset({Record(self.holders[name], False)}))
        value = join(values)
        if records(value):
            facts.holds.add(name)
        own: Value = UNKNOWN if is_lambda else frozenset({Parameter(facts.key, name)})
        # What callers give is what the annotation or the name says, where they say something.
        if declared is not None or (records(value) and not held):
            return value
        return join([value, own])

    def _declared(self, facts: FunctionFacts, argument: ast.arg) -> Value | None:
        before = self.scope
        self.scope = facts.scope
        inline = facts.scope.inline
        try:
            return self.annotation(argument.annotation)
        finally:
            self.scope = before
            facts.scope.inline = inline

    def _promised(self, facts: FunctionFacts) -> None:
        """A return annotation speaks where the body does not."""
        node = facts.node
        if isinstance(node, ast.Lambda) or node.returns is None or interesting(facts.returns):
            return
        before = self.scope
        self.scope = facts.scope
        try:
            declared = self.annotation(node.returns)
        finally:
            self.scope = before
        if declared is None or not interesting(declared):
            return
        if self.names(node).yields:
            if not interesting(facts.yields):
                facts.yields = content_of(declared)
        elif any(atom in UNKNOWN for atom in facts.returns) or facts.returns == NONE:
            facts.returns = declared

    def _shared(self) -> _Shared:
        return (
            {
                key: (facts.returns, facts.yields)
                for key, facts in self.functions.items()
                if self.leads(facts.returns) or self.leads(facts.yields)
            },
            {
                key: {
                    name: value for name, value in facts.attributes.items() if self.leads(value) or name in self.holders
                }
                for key, facts in self.classes.items()
            },
            {name: value for name, value in self.foreign.items() if self.leads(value)},
            {name: value for name, value in self.global_stores.items() if self.leads(value)},
            frozenset(self.words),
            frozenset(self.demanded),
            frozenset(key for key, names in self.shared.items() if names),
        )

    def _remember(self) -> None:
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
        words = self.words
        for name, value in self.module_scope.env.items():
            if isinstance(name, str) and self.leads(value):
                words.add(name)
        for facts in self.functions.values():
            if facts.key in self.leading and not isinstance(facts.node, ast.Lambda):
                words.add(facts.name.rpartition(".")[2])
        for table in self.classes.values():
            for name, value in (*table.attributes.items(), *table.body.items(), *table.annotated.items()):
                if self.leads_on(value):
                    words.add(name)
        for stores in (self.foreign, self.global_stores):
            words.update(name.removesuffix(".set()") for name, value in stores.items() if self.leads_on(value))

    def _worth_another(self, after: _Shared, words: frozenset[str]) -> bool:
        returns, attributes, foreign, stores, now, demanded, shared = after
        return bool(returns or foreign or stores or demanded or shared or any(attributes.values()) or words != now)


def content_of(value: Value) -> Value:
    """What iterating over an annotated iterable gives."""
    return join(content(atom) for atom in value if isinstance(atom, Box)) or UNKNOWN


__all__ = ["Binder", "bind"]
