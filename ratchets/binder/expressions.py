"""Expressions to values. Every part is evaluated once on each path, so that nothing in it goes unseen."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from confbag.ratchets.binder.attributes import Attributes
from confbag.ratchets.binder.scopes import Names, Scope
from confbag.ratchets.binder.state import FunctionFacts
from confbag.ratchets.binder.values import (
    NONE,
    NOTHING,
    OTHER,
    UNKNOWN,
    Accessor,
    Box,
    Builtin,
    Const,
    Fields,
    Function,
    Namespace,
    Record,
    Symbol,
    Value,
    box,
    constant,
    content,
    join,
    opaque,
    records,
)

_BUILTINS = frozenset(dir(__import__("builtins")))


class Expressions(Attributes):
    """Evaluation by kind of node."""

    def ev(self, node: ast.expr) -> Value:
        """The value of an expression."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.use(child)
            return UNKNOWN
        value: Value = handler(self, node)
        return value

    def use(self, node: ast.expr) -> Value:
        """The value of an expression that goes somewhere the binder does not follow `vars(record)`."""
        value = self.ev(node)
        for atom in value:
            if isinstance(atom, Fields):
                self.escape(value)
                break
        return value

    def _name(self, node: ast.Name) -> Value:
        found = self.lookup(node.id)
        if found is not None:
            return found
        if node.id == "__package__":
            return frozenset({Const(self.module.parent)})
        if node.id == "__name__":
            return frozenset({Const(self.module.name)})
        if node.id in _BUILTINS:
            return frozenset({Builtin(node.id)})
        return UNKNOWN

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return frozenset({Const(value)})
        return NONE if value is None else OTHER

    def _attribute(self, node: ast.Attribute) -> Value:
        base = self.ev(node.value)
        return self.attribute(base, node.attr, node)

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.ev(node.value)
        key = self.use(node.slice)
        holder = node.value
        if isinstance(holder, ast.Attribute) and holder.attr == "__dict__" and isinstance(holder.value, ast.Name):
            name = constant(key)
            if isinstance(name, str) and not any(isinstance(atom, (Fields, Namespace)) for atom in base):
                found = self.stored(holder.value.id, name)
                return self.attribute(self._name(holder.value), name, node.slice) if found is None else found
        return self.item(base, key, node.slice)

    def item(self, base: Value, key: Value, place: ast.AST) -> Value:
        """What a subscript gives."""
        values: list[Value] = []
        name = constant(key)
        for atom in base:
            if isinstance(atom, Box):
                values.append(self._from_box(atom, key, place))
            elif isinstance(atom, Fields):
                if isinstance(name, str):
                    self.read(frozenset({atom.record}), name, self.token(place))
                else:
                    self.escape(frozenset({atom}))
                values.append(UNKNOWN)
            elif isinstance(atom, Namespace) and isinstance(name, str):
                values.append(self.global_of(atom, name))
            elif isinstance(atom, Symbol) and atom.path == "sys.modules" and isinstance(name, str):
                values.append(frozenset({Symbol(name)}))
            elif isinstance(atom, Record):
                values.append(UNKNOWN)
            else:
                values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def global_of(self, namespace: Namespace, name: str) -> Value:
        """A module's name by text."""
        if namespace.module == self.module.name:
            found = self.module_value(name, live=self.scope is self.module_scope)
            return UNKNOWN if found is None else found
        return self.attribute(frozenset({Symbol(namespace.module)}), name, ast.Constant(name))

    def _from_box(self, atom: Box, key: Value, place: ast.AST) -> Value:
        name = constant(key)
        if isinstance(place, ast.Slice):
            return frozenset({Box(False, (), content(atom))})
        if name is None:
            return opaque(content(atom)) or UNKNOWN
        if isinstance(name, int) and name < 0 and not atom.mapping:
            name += len(atom.items) if not atom.rest else 0
        for held, value in atom.items:
            if held == name:
                return join([value, atom.rest])
        if atom.rest:
            return atom.rest
        return UNKNOWN

    def _named(self, node: ast.NamedExpr) -> Value:
        value = self.ev(node.value)
        self.assign(node.target, value)
        return value

    def _if(self, node: ast.IfExp) -> Value:
        self.test(node.test)
        return join([self.ev(node.body), self.ev(node.orelse)])

    def _bool(self, node: ast.BoolOp) -> Value:
        values = [self.ev(part) for part in node.values]
        if isinstance(node.op, ast.And):
            for part in node.values[:-1]:
                self.probe(part)
        if isinstance(node.op, ast.Or):
            values[:-1] = [value - NONE for value in values[:-1]]
        return join(values) or UNKNOWN

    def _not(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            self.test(node.operand)
            return OTHER
        value = self.use(node.operand)
        number = constant(value)
        if isinstance(node.op, ast.USub) and isinstance(number, int):
            return frozenset({Const(-number)})
        return OTHER

    def test(self, node: ast.expr) -> None:
        """An expression of which only the truth is asked."""
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                self.test(part)
            return
        self.ev(node)
        self.probe(node)

    def probe(self, node: ast.expr) -> None:
        """The truth of a freshly fetched record says only whether one is published."""
        if isinstance(node, ast.Call):
            self.probe_call(node, node)

    def probe_call(self, call: ast.Call, whole: ast.expr, *, negated: bool = False, fixable: bool = True) -> None:
        """An accessor's call that only asks whether there is a record."""
        if call.args or call.keywords:
            return
        for atom in self.quiet(call.func):
            if isinstance(atom, Accessor):
                span = (self.module.start(whole), self.module.end(whole))
                callee = self.quiet(call.func)
                self.see(
                    "CB105",
                    Record(atom.spec, True),
                    "record",
                    self.token(call),
                    certain=fixable and len(callee) == 1,
                    span=span,
                    negated=negated,
                )

    def quiet(self, node: ast.expr) -> Value:
        """A callee that was evaluated already, once more."""
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self.resolve(node)
        return UNKNOWN

    def _compare(self, node: ast.Compare) -> Value:
        left = self.ev(node.left)
        left_node = node.left
        for operator, right_node in zip(node.ops, node.comparators, strict=False):
            right = self.ev(right_node)
            if isinstance(operator, (ast.In, ast.NotIn)):
                name = constant(left)
                for atom in right:
                    if isinstance(atom, Fields):
                        if isinstance(name, str):
                            self.read(frozenset({atom.record}), name, self.token(left_node))
                        else:
                            self.escape(frozenset({atom}))
                self.escape(left)
            else:
                self.escape(left)
                self.escape(right)
                if len(node.ops) == 1 and isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                    for one, other in ((left_node, right), (right_node, left)):
                        if other == NONE and isinstance(one, ast.Call):
                            self.probe_call(one, node, negated=isinstance(operator, (ast.Is, ast.Eq)))
            left, left_node = right, right_node
        return OTHER

    def _binary(self, node: ast.BinOp) -> Value:
        # A chain of operators leans to the left; it is walked, not recursed into.
        chain: list[ast.BinOp] = []
        current: ast.expr = node
        while isinstance(current, ast.BinOp):
            chain.append(current)
            current = current.left
        value = self.use(current)
        for part in reversed(chain):
            right = self.use(part.right)
            value = self._operate(part.op, value, right)
        return value

    def _operate(self, operator: ast.operator, left: Value, right: Value) -> Value:
        one, other = constant(left), constant(right)
        if isinstance(operator, ast.Add) and isinstance(one, str) and isinstance(other, str):
            return frozenset({Const(one + other)})
        lefts = [atom for atom in left if isinstance(atom, Box)]
        rights = [atom for atom in right if isinstance(atom, Box)]
        boxes = [*lefts, *rights]
        if boxes:
            if (
                isinstance(operator, ast.Add)
                and len(lefts) == len(rights) == 1
                and not lefts[0].rest
                and not rights[0].rest
                and not lefts[0].mapping
                and not rights[0].mapping
            ):
                offset = len(lefts[0].items)
                moved = [(key + offset, value) for key, value in rights[0].items if isinstance(key, int)]
                return box(False, [*lefts[0].items, *moved])
            if isinstance(operator, ast.BitOr) and all(atom.mapping for atom in boxes):
                merged: dict[str | int, Value] = {}
                for atom in boxes:
                    for key, value in atom.items:
                        merged[key] = join([merged.get(key, NOTHING), value])
                return box(True, merged.items(), join(atom.rest for atom in boxes))
            return box(boxes[0].mapping, (), join(content(atom) for atom in boxes))
        return UNKNOWN if left >= UNKNOWN or right >= UNKNOWN else OTHER

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        items: list[tuple[str | int, Value]] = []
        rest: list[Value] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                value = self.use(part.value)
                inner = [atom for atom in value if isinstance(atom, Box)]
                if len(inner) == 1 and len(value) == 1 and not inner[0].rest and not rest:
                    items.extend((len(items) + index, held) for index, (_, held) in enumerate(inner[0].items))
                else:
                    rest.append(self.element(value))
            elif rest:
                rest.append(self.use(part))
            else:
                items.append((len(items), self.use(part)))
        return box(False, items, join(rest))

    def _dict(self, node: ast.Dict) -> Value:
        items: dict[str | int, Value] = {}
        rest: list[Value] = []
        for key_node, value_node in zip(node.keys, node.values, strict=False):
            if key_node is None:
                inner = self.use(value_node)
                for atom in inner:
                    if isinstance(atom, Box):
                        items.update(atom.items)
                        rest.append(atom.rest)
                continue
            key = constant(self.use(key_node))
            value = self.use(value_node)
            if key is None:
                rest.append(opaque(value))
            else:
                items[key] = value
        return box(True, items.items(), join(rest))

    def element(self, value: Value) -> Value:
        """What iterating over a value gives."""
        self.escape(value)
        values = [content(atom) for atom in value if isinstance(atom, Box) and not atom.mapping]
        if len(values) < len(value) or not value:
            values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        first = self.ev(node.generators[0].iter)
        scope = Scope("comprehension", self.scope, self.scope.qualname, inline=True, function=f"{id(node)}")
        for generator in node.generators:
            for part in ast.walk(generator.target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    scope.bound.add(part.id)
        before = self.scope
        self.scope = scope
        try:
            for number, generator in enumerate(node.generators):
                source = first if number == 0 else self.ev(generator.iter)
                self.assign(generator.target, self.element(source))
                for condition in generator.ifs:
                    self.test(condition)
            if isinstance(node, ast.DictComp):
                key = constant(self.use(node.key))
                value = self.use(node.value)
                return box(True, ((key, value),)) if key is not None else box(True, (), opaque(value))
            return box(False, (), self.use(node.elt))
        finally:
            self.scope = before

    def _lambda(self, node: ast.Lambda) -> Value:
        key = self.key(node, self.qualname("<lambda>"))
        facts = self.functions.get(key)
        if facts is None:
            facts = FunctionFacts(key, self.scope.qualname, node, self.scope, "")
            self.functions[key] = facts
            self.queue.append(facts)
        self.take_defaults(facts)
        return frozenset({Function(key)})

    def names(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Names:
        """The names of a function body, collected once."""
        found = self.names_of.get(node)
        if found is None:
            found = self.names_of[node] = Names(node)
        return found

    def take_defaults(self, facts: FunctionFacts) -> None:
        """Defaults are evaluated where the function is defined."""
        arguments = facts.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        for argument, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
            facts.defaults[argument.arg] = self.use(default)
        for argument, maybe in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False):
            if maybe is not None:
                facts.defaults[argument.arg] = self.use(maybe)

    def _await(self, node: ast.Await) -> Value:
        return self.ev(node.value)

    def _starred(self, node: ast.Starred) -> Value:
        self.use(node.value)
        return UNKNOWN

    def _joined(self, node: ast.JoinedStr) -> Value:
        text: list[str] = []
        whole = True
        self.in_text += 1
        try:
            return self._pieces(node, text, whole)
        finally:
            self.in_text -= 1

    def _pieces(self, node: ast.JoinedStr, text: list[str], whole: bool) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.use(part.value)
                if part.format_spec is not None:
                    self.ev(part.format_spec)
                name = constant(value)
                if name is None or part.conversion != -1 or part.format_spec is not None:
                    whole = False
                else:
                    text.append(str(name))
            elif isinstance(part, ast.Constant):
                text.append(str(part.value))
            else:
                self.use(part)
                whole = False
        return frozenset({Const("".join(text))}) if whole else OTHER

    def _yield(self, node: ast.Yield) -> Value:
        value = self.use(node.value) if node.value is not None else NONE
        self.yielded(value)
        return UNKNOWN

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        value = self.use(node.value)
        self.yielded(self.element(value))
        return UNKNOWN

    def yielded(self, value: Value) -> None:
        """A value leaves a generator."""
        scope: Scope | None = self.scope
        while scope is not None and scope.inline:
            scope = scope.parent
        facts = self.functions.get(scope.function) if scope is not None else None
        if facts is not None:
            facts.yields = join([facts.yields, value])

    def _call(self, node: ast.Call) -> Value:
        return self.call(node)

    # What other parts do

    def call(self, node: ast.Call) -> Value:
        """The value of a call."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value) -> None:
        """A target takes a value."""
        raise NotImplementedError


_HANDLERS: dict[type[ast.expr], Callable[[Any, Any], Value]] = {
    ast.Name: Expressions._name,
    ast.Constant: Expressions._constant,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.NamedExpr: Expressions._named,
    ast.IfExp: Expressions._if,
    ast.BoolOp: Expressions._bool,
    ast.UnaryOp: Expressions._not,
    ast.Compare: Expressions._compare,
    ast.BinOp: Expressions._binary,
    ast.List: Expressions._sequence,
    ast.Tuple: Expressions._sequence,
    ast.Set: Expressions._sequence,
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.Lambda: Expressions._lambda,
    ast.Await: Expressions._await,
    ast.Starred: Expressions._starred,
    ast.JoinedStr: Expressions._joined,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.Call: lambda self, node: self.call(node),
}

__all__ = ["Expressions", "records"]
