"""Calls as they are written: the callee, the arguments, and methods that are known by their name alone."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.containers import PUTTING
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Builtin,
    Fields,
    Function,
    Getter,
    Method,
    Of,
    Partial,
    Record,
    Symbol,
    Value,
    interesting,
    join,
)

_MUTATORS = frozenset({
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
    "discard", "difference_update", "intersection_update", "symmetric_difference_update", "__setitem__", "__delitem__",
    "__iadd__", "__ior__", "__iand__", "__isub__", "__ixor__", "__imul__", "__setattr__", "__delattr__",
})  # fmt: skip
_SETTERS = frozenset({"setattr", "delattr", "object.__setattr__", "object.__delattr__"})
_CHANGING = frozenset(
    f"operator.{name}"
    for operation in ("setitem", "delitem", "iadd", "iconcat", "ior", "iand", "isub", "ixor", "imul")
    for name in (operation, f"__{operation}__")
)


class Calls(Part):
    """Evaluates the parts of a call, then applies."""

    def call(self, node: ast.Call) -> Value:
        """Evaluate callee and arguments, then apply."""
        function = node.func
        if isinstance(function, ast.Attribute) and (function.attr in _MUTATORS or function.attr in PUTTING):
            if function.attr in _MUTATORS and isinstance(function.value, (ast.Attribute, ast.Subscript, ast.Call)):
                base, done = self.binder.writes.through(function.value)
                if done:
                    self._arguments(node)
                    return UNKNOWN
            else:
                base = self.binder.evaluate(function.value)
            if function.attr in PUTTING and not any(isinstance(atom, (Record, Fields, Builtin)) for atom in base):
                return self._put(function, base, node)
            callee = self.binder.attributes.of(base, function.attr, function)
        elif isinstance(function, ast.Attribute):
            base = self.binder.evaluate(function.value)
            callee = self.binder.attributes.of(base, function.attr, function)
        else:
            base = NOTHING
            callee = self.binder.evaluate(function)
        if self._acts_on_field(callee, node):
            return UNKNOWN
        if isinstance(function, ast.Attribute):
            special = self._special(function, callee, node)
            if special is not None:
                return special
        handles = any(isinstance(atom, (Builtin, Symbol, Getter, Method, Partial)) for atom in callee)
        arguments = self._arguments(node, keep=handles)
        if isinstance(function, ast.Attribute):
            spawned = self.binder.spawning.method(function.attr, callee, arguments)
            if spawned is not None:
                return spawned
        if isinstance(function, ast.Attribute) and self.binder.elsewhere.matters(arguments):
            self.binder.elsewhere.looks(function.value, base)
            given = self.binder.elsewhere.method(base, function.attr, arguments)
            return join([self.binder.callees.apply(callee, arguments), given])
        return self.binder.callees.apply(callee, arguments)

    def _special(self, function: ast.Attribute, callee: Value, node: ast.Call) -> Value | None:
        """Methods of objects that are not known, by their names: context variables, exit stacks, defaults."""
        name = function.attr
        if name in ("set", "get") and isinstance(function.value, ast.Name):
            held = self.binder.expressions.name(function.value)
            if any(isinstance(atom, Of) and atom.path.rpartition(".")[2] == "ContextVar" for atom in held):
                given = [self.binder.use(part) for part in node.args]
                given.extend(atom.args[0] for atom in held if isinstance(atom, Partial) and atom.args)
                key = f"{function.value.id}.set()"
                if name == "set":
                    self.state.foreign[key] = join([self.state.foreign.get(key, NOTHING), *given])
                    return UNKNOWN
                kept = join([self.state.foreign.get(key, NOTHING), self.state.last_foreign.get(key, NOTHING), *given])
                # Another module may have set it.
                return join([kept, UNKNOWN])
        if name in ("enter_context", "enter_async_context") and len(node.args) == 1:
            held = self.binder.evaluate(node.args[0])
            return self.binder.contexts.entered(node.args[0], held, asynchronous="async" in name)
        if (
            name in ("get", "pop")
            and len(node.args) == 2
            and not any(isinstance(atom, (Method, Function)) for atom in callee)
        ):
            arguments = self._arguments(node)
            if interesting(arguments.args[-1]):
                return join([arguments.args[-1], UNKNOWN])
            return self.binder.callees.apply(callee, arguments)
        return None

    def _acts_on_field(self, callee: Value, node: ast.Call) -> bool:
        """setattr(record.field, …), list.append(record.field, …): a field's value is changed in place."""
        if not node.args or not isinstance(node.args[0], (ast.Attribute, ast.Subscript)):
            return False
        if not any(_changes_first(atom) for atom in callee):
            return False
        base, done = self.binder.writes.through(node.args[0])
        rest = [self.binder.use(part) for part in node.args[1:]]
        if not done:
            call = Call(node, [base, *rest], list(node.args), [])
            self.binder.callees.apply(callee, call)
        return True

    def _put(self, function: ast.Attribute, base: Value, node: ast.Call) -> Value:
        """A method by which a container takes something more, or one that is only called so."""
        arguments = self._arguments(node)
        grown = self.binder.growing.method(function, base, arguments)
        if grown is not None:
            return grown
        return self.binder.callees.apply(self.binder.attributes.of(base, function.attr, function), arguments)

    def _arguments(self, node: ast.Call, keep: bool = False) -> Call:
        evaluate = self.binder.evaluate if keep else self.binder.use
        args: list[Value] = []
        nodes: list[ast.AST] = []
        spread = False
        rest = NOTHING
        for part in node.args:
            if isinstance(part, ast.Starred):
                value = self.binder.use(part.value)
                boxes = [atom for atom in value if isinstance(atom, Box)]
                if len(boxes) == 1 and len(value) == 1 and not boxes[0].rest:
                    for _, held in boxes[0].items:
                        args.append(held)
                        nodes.append(part.value)
                else:
                    rest = rest if spread else value
                    spread = True
            elif spread:
                self.binder.use(part)
            else:
                args.append(evaluate(part))
                nodes.append(part)
        keywords: list[tuple[str | None, Value, ast.AST]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                value = self.binder.use(keyword.value)
                for atom in value:
                    if isinstance(atom, Box):
                        keywords.extend((str(key), held, keyword) for key, held in atom.items)
                keywords.append((None, value, keyword))
            else:
                keywords.append((keyword.arg, evaluate(keyword.value), keyword))
        return Call(node, args, nodes, keywords, spread, rest)


def _changes_first(atom: object) -> bool:
    """Whether a callee changes its first argument in place."""
    if isinstance(atom, Symbol):
        return atom.path in _CHANGING
    if not isinstance(atom, Builtin):
        return False
    kind, _, method = atom.name.partition(".")
    return atom.name in _SETTERS or (kind in ("list", "dict", "set") and method in _MUTATORS)
