"""Methods of records, of their fields, and of containers."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Box,
    Fields,
    Method,
    Record,
    Value,
    box,
    content,
    join,
    text_of,
)


class Methods(Part):
    """What calls of such methods read and write."""

    def call(self, method: Method, call: Call) -> tuple[Value, bool]:
        """A call of a method of a record, of its fields or of a container."""
        owner = method.owner
        if isinstance(owner, Record):
            held: Value = frozenset({owner})
            shifted = Call(call.node, [held, *call.args], [call.node, *call.nodes], call.keywords)
            if method.name in ("__getattribute__", "__getattr__"):
                return self.binder.by_name.read(held, shifted), False
            self.binder.by_name.write(held, shifted, delete=method.name == "__delattr__")
            return OTHER, False
        if isinstance(owner, Fields):
            return self._of_fields(owner, method.name, call), False
        return self._of_box(owner, method.name, call), False

    def _of_fields(self, owner: Fields, name: str, call: Call) -> Value:
        key = call.argument(0)
        text = text_of(key)
        node = call.nodes[0] if call.nodes else call.node
        if name in ("get", "__getitem__", "__contains__"):
            if text is None:
                self.sights.escape(frozenset({owner}))
            else:
                self.sights.read(frozenset({owner.record}), text, self.places.token(node))
            return UNKNOWN
        if not owner.live:
            # A plain dict of its own: changing it writes nothing, taking a key out of it reads.
            if name in ("pop", "setdefault") and text is not None:
                self.sights.read(frozenset({owner.record}), text, self.places.token(node))
            elif name in ("pop", "setdefault", "popitem"):
                self.sights.escape(frozenset({owner}))
            else:
                for value in call.args:
                    self.sights.escape(value)
            return UNKNOWN
        if name in ("pop", "setdefault", "__setitem__", "__delitem__"):
            self.write_key(owner, key, node)
        elif name in ("update", "__ior__"):
            self._update(owner, call)
        else:
            self.sights.write(frozenset({owner.record}), "*", self.places.token(call.node))
        return UNKNOWN

    def _update(self, owner: Fields, call: Call) -> None:
        record: Value = frozenset({owner.record})
        for keyword, _, node in call.keywords:
            if keyword is not None and isinstance(node, ast.keyword):
                line, start = node.lineno, node.col_offset
                self.sights.write(record, keyword, self.places.at(line, start, line, start + len(keyword.encode())))
            elif keyword is None:
                self.sights.write(record, "*", self.places.token(call.node))
        for index, value in enumerate(call.args):
            node = call.nodes[index]
            if isinstance(node, ast.Dict) and all(
                isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys
            ):
                for key in node.keys:
                    if isinstance(key, ast.Constant):
                        self.sights.write(record, str(key.value), self.places.token(key))
            else:
                self.sights.escape(value)
                self.sights.write(record, "*", self.places.token(call.node))

    def write_key(self, fields: Fields, key: Value, node: ast.AST) -> None:
        """`vars(record)[key]` is written."""
        if not fields.live:
            return
        text = text_of(key)
        self.sights.write(frozenset({fields.record}), text if text is not None else "*", self.places.token(node))

    def _of_box(self, owner: Box, name: str, call: Call) -> Value:
        node = call.nodes[0] if call.nodes else call.node
        if name in ("get", "pop", "setdefault", "__getitem__"):
            if not call.args:
                return content(owner) or UNKNOWN
            if name == "pop" and not owner.mapping:
                return content(owner) or UNKNOWN
            found = self.binder.items.of(frozenset({owner}), call.argument(0), node)
            return join([found, call.argument(1)])
        if name == "popitem":
            return box(False, ((0, UNKNOWN), (1, content(owner))))
        if name == "_replace":
            return self._replaced(owner, call)
        if name == "values":
            return box(False, (), content(owner))
        if name == "items":
            pair = box(False, ((0, UNKNOWN), (1, content(owner))))
            return box(False, (), pair)
        if name in ("copy", "__copy__"):
            return frozenset({owner})
        if name == "sort" and call.keyword("key"):
            self.binder.callees.apply(call.keyword("key"), Call(call.node, [content(owner)], [call.node], []))
            return OTHER
        if name in ("popleft", "__next__", "__enter__", "get_nowait", "result"):
            return content(owner) or UNKNOWN
        return UNKNOWN

    def _replaced(self, owner: Box, call: Call) -> Value:
        """A named tuple with some of its values replaced, under their names and at their places."""
        items = dict(owner.items)
        names = [key for key in items if isinstance(key, str)]
        for keyword, value, _ in call.keywords:
            if keyword in items:
                items[keyword] = items[names.index(keyword)] = value
        return box(False, items.items())
