"""Calls of what operator.attrgetter, itemgetter, methodcaller and collections.namedtuple made."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import UNKNOWN, Const, Getter, Value, box


class Getters(Part):
    """What they read, by the names that they were made with."""

    def call(self, getter: Getter, call: Call) -> Value:
        """A call of one; a name that is not known can be any."""
        if getter.kind == "namedtuple":
            return self._named_tuple(getter, call)
        first = call.argument(0)
        if not getter.names:
            if getter.kind == "itemgetter":
                return self.binder.items.of(first, UNKNOWN, call.node)
            self.binder.by_name.unlisted(first, call)
            return UNKNOWN
        if getter.kind == "methodcaller":
            method = self.binder.attributes.of(first, str(getter.names[0]), call.node)
            return self.binder.callees.apply(method, Call(call.node, [], [], []))
        if getter.kind == "itemgetter":
            values = [self.binder.items.of(first, frozenset({Const(name)}), call.node) for name in getter.names]
        else:
            values = [self._dotted(first, str(name), call) for name in getter.names]
        return values[0] if len(values) == 1 else box(False, enumerate(values))

    def _dotted(self, value: Value, name: str, call: Call) -> Value:
        for part in name.split("."):
            value = self.binder.attributes.of(value, part, self._place(name, call))
        return value

    def _place(self, name: str, call: Call) -> ast.AST:
        """The text that names a field, where the getter is made in the call itself."""
        made = call.node.func if isinstance(call.node, ast.Call) else None
        for node in made.args if isinstance(made, ast.Call) else ():
            if isinstance(node, ast.Constant) and node.value == name:
                return node
        return call.node

    def _named_tuple(self, getter: Getter, call: Call) -> Value:
        held: dict[str | int, Value] = {}
        for position, name in enumerate(getter.names or ()):
            given = call.argument(position) or call.keyword(str(name)) or UNKNOWN
            held[position] = held[str(name)] = given
        return box(False, held.items())
