"""Lambdas: defined where they stand, walked in the place of their call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.tables import FunctionFacts
from confbag.ratchets.binder.values import UNKNOWN, Function, Instance, Value, box
from confbag.ratchets.source.tree import parameters

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder


class Lambdas(Part):
    """A lambda's value is that of its body, with what the call gives."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self.inlining: list[ast.AST] = []

    def define(self, node: ast.Lambda) -> Value:
        """A lambda where it stands; its body is walked when it is called, and once more by itself."""
        key = self.state.key(node, self.names.qualname("<lambda>"))
        facts = self.state.functions.get(key)
        if facts is None:
            facts = FunctionFacts(key, self.names.scope.qualname, node, self.names.scope, "")
            self.state.functions[key] = facts
            self.state.queue.append(facts)
        self.take_defaults(facts)
        return frozenset({Function(key)})

    def take_defaults(self, facts: FunctionFacts) -> None:
        """Defaults are evaluated where the function is defined."""
        arguments = facts.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        for argument, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
            facts.defaults[argument.arg] = self.binder.use(default)
        for argument, maybe in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False):
            if maybe is not None:
                facts.defaults[argument.arg] = self.binder.use(maybe)

    def inline(self, facts: FunctionFacts, function: Function, call: Call) -> Value:
        """What a call of a lambda gives: its body, walked with the arguments in place of the parameters."""
        node = facts.node
        if not isinstance(node, ast.Lambda) or node in self.inlining or len(self.inlining) > 8:
            return UNKNOWN
        running: set[Scope] = set()
        current: Scope | None = self.names.scope
        while current is not None:
            running.add(current)
            current = current.parent
        scope = Scope(
            "function", facts.scope, facts.scope.qualname, inline=facts.scope in running, function=facts.key,
            names=self.names.of_body(node),
        )  # fmt: skip
        args = call.args
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if function.receiver is not None and any(isinstance(atom, Instance) for atom in function.receiver):
            args = [function.receiver, *args]
        for argument in parameters(node.args):
            scope.env[argument.arg] = facts.defaults.get(argument.arg, UNKNOWN)
        for name, value in zip(names, args, strict=False):
            scope.env[name] = value
        if node.args.vararg and len(args) > len(names):
            scope.env[node.args.vararg.arg] = box(False, enumerate(args[len(names) :]))
        for keyword, value, _ in call.keywords:
            if keyword in scope.env and keyword is not None:
                scope.env[keyword] = value
        scope.closure.update({name: value for name, value in scope.env.items() if isinstance(name, str)})
        self.inlining.append(node)
        try:
            with self.names.within(scope):
                return self.binder.evaluate(node.body)
        finally:
            self.inlining.pop()
