"""Calls: of accessors, and of functions and classes of the tree."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder.builtin import Builtins
from confbag.ratchets.binder.calling import Call
from confbag.ratchets.binder.facts import Handoff
from confbag.ratchets.binder.scopes import Scope, parameters
from confbag.ratchets.binder.state import FunctionFacts
from confbag.ratchets.binder.values import (
    NOTHING,
    OTHER,
    UNKNOWN,
    Accessor,
    Box,
    Builtin,
    Class,
    Fields,
    Function,
    Getter,
    Instance,
    Method,
    Of,
    Parameter,
    Partial,
    Property,
    Record,
    Symbol,
    Type,
    Value,
    box,
    constant,
    content,
    interesting,
    join,
)
from confbag.ratchets.binder.world import Summary

MUTATORS = frozenset({
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
    "discard", "difference_update", "intersection_update", "symmetric_difference_update", "__setitem__", "__delitem__",
    "__iadd__", "__ior__", "__iand__", "__isub__", "__ixor__", "__imul__", "__setattr__", "__delattr__",
})  # fmt: skip
_NOWHERE = ast.Constant(None, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


class Calls(Builtins):
    """What calls give and what they hand on."""

    def call(self, node: ast.Call) -> Value:
        """Evaluate callee and arguments, then apply."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in MUTATORS:
            if isinstance(function.value, (ast.Attribute, ast.Subscript, ast.Call)):
                base, done = self.through(function.value)
                if done:
                    self._arguments(node)
                    return UNKNOWN
            else:
                base = self.ev(function.value)
            grown = self._grow(function, base, node)
            if grown is not None:
                return grown
            callee = self.attribute(base, function.attr, function)
        else:
            callee = self.ev(function)
        if self._acts_on_field(callee, node):
            return UNKNOWN
        if isinstance(function, ast.Attribute):
            special = self._special(function, callee, node)
            if special is not None:
                return special
        handles = any(isinstance(atom, (Builtin, Symbol, Getter, Method, Partial)) for atom in callee)
        arguments = self._arguments(node, keep=handles)
        return self.apply(callee, arguments)

    def _special(self, function: ast.Attribute, callee: Value, node: ast.Call) -> Value | None:
        """Methods of objects that are not known, by their names: context variables, exit stacks, defaults."""
        name = function.attr
        if name in ("set", "get") and isinstance(function.value, ast.Name):
            held = self._name(function.value)
            if any(isinstance(atom, Of) and atom.path.rpartition(".")[2] == "ContextVar" for atom in held):
                given = [self.use(part) for part in node.args]
                key = f"{function.value.id}.set()"
                if name == "set":
                    self.foreign[key] = join([self.foreign.get(key, NOTHING), *given])
                    return UNKNOWN
                kept = join([self.foreign.get(key, NOTHING), self.last_foreign.get(key, NOTHING), *given])
                return kept or UNKNOWN
        if name in ("enter_context", "enter_async_context") and len(node.args) == 1:
            return self.entered(node.args[0], self.ev(node.args[0]))
        if (
            name in ("get", "setdefault", "pop")
            and len(node.args) == 2
            and not any(isinstance(atom, (Method, Function)) for atom in callee)
        ):
            arguments = self._arguments(node)
            if interesting(arguments.args[-1]):
                if name == "setdefault" and isinstance(function.value, ast.Name):
                    key_of = constant(arguments.args[0])
                    if key_of is not None:
                        self.bind(function.value.id, box(True, ((key_of, arguments.args[1]),)))
                return join([arguments.args[-1], UNKNOWN])
            return self.apply(callee, arguments)
        return None

    def entered(self, node: ast.expr, value: Value) -> Value:
        """What entering a context manager gives."""
        raise NotImplementedError

    def _acts_on_field(self, callee: Value, node: ast.Call) -> bool:
        """setattr(record.field, …) changes a field's value in place."""
        if not node.args or not isinstance(node.args[0], (ast.Attribute, ast.Subscript)):
            return False
        names = {"setattr", "delattr", "object.__setattr__", "object.__delattr__"}
        if not any(isinstance(atom, Builtin) and atom.name in names for atom in callee):
            return False
        base, done = self.through(node.args[0])
        rest = [self.use(part) for part in node.args[1:]]
        if not done:
            call = Call(node, [base, *rest], list(node.args), [])
            self.apply(callee, call)
        return True

    def _grow(self, function: ast.Attribute, base: Value, node: ast.Call) -> Value | None:
        """A container in a local name takes one more value."""
        if not isinstance(function.value, ast.Name) or function.attr not in (
            "append",
            "add",
            "insert",
            "extend",
            "update",
        ):
            return None
        arguments: Call | None = None
        if any(isinstance(atom, (Record, Fields)) for atom in base):
            return None
        arguments = self._arguments(node)
        given = join([*arguments.args, *(value for _, value, _ in arguments.keywords)])
        if interesting(given):
            kept = [atom for atom in base if not isinstance(atom, Box)]
            added = content_of(given) if function.attr in ("extend", "update") else given
            boxes = [atom for atom in base if isinstance(atom, Box)] or [Box(function.attr == "update", ())]
            grown = join(
                [
                    frozenset(kept) - OTHER,
                    *(frozenset({Box(one.mapping, one.items, join([one.rest, added]))}) for one in boxes),
                ]
            )
            if function.attr == "update" and arguments.keywords:
                items: dict[str | int, Value] = {key: value for key, value, _ in arguments.keywords if key is not None}
                grown = join([frozenset(kept), *(box(True, _merged(one, items).items(), one.rest) for one in boxes)])
            self.bind(function.value.id, grown)
            return UNKNOWN
        callee = self.attribute(base, function.attr, function)
        return self.apply(callee, arguments)

    def _arguments(self, node: ast.Call, keep: bool = False) -> Call:
        evaluate = self.ev if keep else self.use
        args: list[Value] = []
        nodes: list[ast.AST] = []
        spread = False
        for part in node.args:
            if isinstance(part, ast.Starred):
                value = self.use(part.value)
                boxes = [atom for atom in value if isinstance(atom, Box)]
                if len(boxes) == 1 and len(value) == 1 and not boxes[0].rest:
                    for _, held in boxes[0].items:
                        args.append(held)
                        nodes.append(part.value)
                else:
                    spread = True
            elif spread:
                self.use(part)
            else:
                args.append(evaluate(part))
                nodes.append(part)
        keywords: list[tuple[str | None, Value, ast.AST]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                value = self.use(keyword.value)
                for atom in value:
                    if isinstance(atom, Box):
                        keywords.extend((str(key), held, keyword) for key, held in atom.items)
                keywords.append((None, value, keyword))
            else:
                keywords.append((keyword.arg, evaluate(keyword.value), keyword))
        return Call(node, args, nodes, keywords, spread)

    def apply(self, callee: Value, call: Call) -> Value:
        """The join of what each callee gives; `vars(record)` among the arguments escapes unless one takes it."""
        values: list[Value] = []
        taken = bool(callee)
        for atom in callee:
            value, took = self._apply(atom, call)
            values.append(value)
            taken = taken and took
        if not taken:
            for value in (*call.args, *(value for _, value, _ in call.keywords)):
                self.escape(value)
        return join(values) or UNKNOWN

    def _apply(self, atom: object, call: Call) -> tuple[Value, bool]:
        if isinstance(atom, Accessor):
            return frozenset({Record(atom.spec, True)}), False
        if isinstance(atom, Type):
            return frozenset({Record(atom.spec, False)}), False
        if isinstance(atom, Function):
            return self._function(atom, call), False
        if isinstance(atom, Class):
            self._construct(atom, call)
            return frozenset({Instance(atom.key)}), False
        if isinstance(atom, Instance):
            found, _ = self.member(atom.key, "__call__")
            values = [
                self._function(Function(part.key, frozenset({atom})), call)
                for part in found or ()
                if isinstance(part, Function)
            ]
            return join(values) or UNKNOWN, False
        if isinstance(atom, Partial):
            merged = Call(
                call.node,
                [*atom.args, *call.args],
                [*([call.node] * len(atom.args)), *call.nodes],
                [*((name, value, call.node) for name, value in atom.keywords), *call.keywords],
            )
            return self.apply(atom.function, merged), True
        if isinstance(atom, Getter):
            return self.get_through(atom, call), True
        if isinstance(atom, Method):
            return self.method(atom, call)
        if isinstance(atom, Builtin):
            return self.builtin(atom.name, call)
        if isinstance(atom, Symbol):
            return self.library(atom, call)
        if isinstance(atom, Property):
            return UNKNOWN, False
        return UNKNOWN, False

    def summary(self, key: str) -> Summary | None:
        """What is known of a function now."""
        facts = self.functions.get(key)
        if facts is None:
            return self.world.function(key)
        summary = facts.summary()
        if not facts.done and key in self.last_returns:
            returns, yields = self.last_returns[key]
            summary = replace(summary, returns=join([summary.returns, returns]), yields=join([summary.yields, yields]))
        return summary

    def _function(self, function: Function, call: Call) -> Value:
        facts = self.functions.get(function.key)
        if facts is not None and isinstance(facts.node, ast.Lambda):
            return self._inline(facts, function, call)
        summary = self.summary(function.key)
        if summary is None:
            return UNKNOWN
        given = self._match(summary, function, call)
        self._hand_off(function.key, summary.holds, given, call, method=summary.method)
        returns = summary.returns
        if summary.yields:
            returns = box(False, (), summary.yields)
            if returns == OTHER:
                returns = UNKNOWN
        if not returns:
            return UNKNOWN
        if not any(isinstance(atom, (Parameter, Box, Function, Partial)) for atom in returns):
            return returns
        return self._substitute(returns, function.key, given, facts)

    def _match(self, summary: Summary, function: Function, call: Call) -> dict[str, Value]:
        names = list(summary.parameters)
        given: dict[str, Value] = {}
        bound = function.receiver is not None and summary.method and summary.kind != "static"
        args = call.args
        if bound and function.receiver is not None:
            instance = any(isinstance(atom, Instance) for atom in function.receiver)
            if instance or summary.kind == "class":
                args = [function.receiver, *args]
        for name, value in zip(names, args, strict=False):
            given[name] = value
        for keyword, value, _ in call.keywords:
            if keyword is not None and keyword in names:
                given[keyword] = value
        return given

    def _substitute(self, value: Value, key: str, given: dict[str, Value], facts: FunctionFacts | None) -> Value:
        values: list[Value] = []
        for atom in value:
            if isinstance(atom, Parameter) and atom.key == key:
                default = facts.defaults.get(atom.name, UNKNOWN) if facts else UNKNOWN
                values.append(given.get(atom.name, default) or UNKNOWN)
            elif isinstance(atom, Box):
                items = [(name, self._substitute(held, key, given, facts)) for name, held in atom.items]
                rest = self._substitute(atom.rest, key, given, facts) if atom.rest else NOTHING
                values.append(box(atom.mapping, items, rest))
            elif isinstance(atom, Partial):
                args = tuple(self._substitute(part, key, given, facts) for part in atom.args)
                values.append(frozenset({replace(atom, args=args)}))
            else:
                values.append(frozenset({atom}))
        return join(values)

    def _hand_off(
        self, key: str, holds: frozenset[str], given: dict[str, Value], call: Call, *, method: bool = False
    ) -> None:
        for name, value in given.items():
            for atom in value:
                if isinstance(atom, Parameter) and key != atom.key:
                    facts = self.functions.get(atom.key)
                    if facts is not None:
                        facts.passes.setdefault(atom.name, set()).add((key, name))
                        if key in self.functions:
                            if atom.key in self.demanded:
                                self.demanded.add(key)
                        elif atom.key in self.demanded:
                            self.wanted.add(key)
                elif isinstance(atom, Record):
                    (self.demanded if key in self.functions else self.wanted).add(key)
                    if name not in holds:
                        place = self.token(call.node)
                        self.handoffs[place, atom.spec, key, name] = Handoff(place, atom.spec, key, name, atom.guess)

    def _construct(self, cls: Class, call: Call) -> None:
        found, outside = self.member(cls.key, "__init__")
        for part in found or ():
            if isinstance(part, Function):
                summary = self.summary(part.key)
                if summary is not None:
                    given = self._match(summary, Function(part.key, frozenset({Instance(cls.key)})), call)
                    given.pop(summary.parameters[0] if summary.parameters else "", None)
                    self._hand_off(part.key, summary.holds, given, call)
        del outside
        if found is None:
            facts = self.classes.get(cls.key)
            if facts is not None and facts.annotated:
                # A dataclass: fields in the order of the class body.
                for name, value in zip(facts.annotated, call.args, strict=False):
                    if interesting(value):
                        facts.attributes[name] = join([facts.attributes.get(name, NOTHING), value])
                for keyword, value, _ in call.keywords:
                    if keyword in facts.annotated and interesting(value):
                        facts.attributes[keyword] = join([facts.attributes.get(keyword, NOTHING), value])

    def _inline(self, facts: FunctionFacts, function: Function, call: Call) -> Value:
        node = facts.node
        if not isinstance(node, ast.Lambda) or node in self.inlining or len(self.inlining) > 8:
            return UNKNOWN
        running: set[Scope] = set()
        current: Scope | None = self.scope
        while current is not None:
            running.add(current)
            current = current.parent
        scope = Scope(
            "function", facts.scope, facts.scope.qualname, inline=facts.scope in running, function=facts.key,
            names=self.names(node),
        )  # fmt: skip
        args = call.args
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if function.receiver is not None and any(isinstance(atom, Instance) for atom in function.receiver):
            args = [function.receiver, *args]
        for argument in parameters(node):
            scope.env[argument.arg] = facts.defaults.get(argument.arg, UNKNOWN)
        for name, value in zip(names, args, strict=False):
            scope.env[name] = value
        if node.args.vararg and len(args) > len(names):
            scope.env[node.args.vararg.arg] = box(False, enumerate(args[len(names) :]))
        for keyword, value, _ in call.keywords:
            if keyword in scope.env and keyword is not None:
                scope.env[keyword] = value
        scope.closure.update({name: value for name, value in scope.env.items() if isinstance(name, str)})
        before = self.scope
        self.scope = scope
        self.inlining.append(node)
        try:
            return self.ev(node.body)
        finally:
            self.inlining.pop()
            self.scope = before

    def got(self, prop: Property, receiver: Value) -> Value:
        """A property's getter, called on its object."""
        values: list[Value] = []
        for atom in prop.getter:
            if isinstance(atom, Function):
                values.append(self._quiet_call(replace(atom, receiver=receiver), Call(_NOWHERE, [], [], [])))
            else:
                values.append(self._apply(atom, Call(_NOWHERE, [], [], []))[0])
        return join(values) or UNKNOWN

    def _quiet_call(self, function: Function, call: Call) -> Value:
        facts = self.functions.get(function.key)
        if facts is not None and isinstance(facts.node, ast.Lambda):
            return self._inline(facts, function, call)
        summary = self.summary(function.key)
        if summary is None or not summary.returns:
            return UNKNOWN
        given = {summary.parameters[0]: function.receiver or UNKNOWN} if summary.parameters else {}
        return self._substitute(summary.returns, function.key, given, facts)

    def through(self, node: ast.expr) -> tuple[Value, bool]:
        """Evaluate the base of a write."""
        raise NotImplementedError


def _merged(held: Box, items: dict[str | int, Value]) -> dict[str | int, Value]:
    return {**dict(held.items), **items}


def content_of(value: Value) -> Value:
    """The values in the containers of a value."""
    return join(content(atom) for atom in value if isinstance(atom, Box)) or UNKNOWN
