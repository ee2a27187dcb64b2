"""Methods of records, of their fields, and of containers."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.calling import Call
from confbag.ratchets.binder.expressions import Expressions
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Box,
    Fields,
    Method,
    Record,
    Value,
    box,
    constant,
    content,
    join,
)


class Containers(Expressions):
    """What calls of such methods read and write."""

    def method(self, method: Method, call: Call) -> tuple[Value, bool]:
        """A call of a method of a record, of its fields or of a container."""
        owner = method.owner
        if isinstance(owner, Record):
            held: Value = frozenset({owner})
            shifted = Call(call.node, [held, *call.args], [call.node, *call.nodes], call.keywords)
            if method.name in ("__getattribute__", "__getattr__"):
                return self.read_by_name(held, shifted), False
            self.write_by_name(held, shifted, delete=method.name == "__delattr__")
            return OTHER, False
        if isinstance(owner, Fields):
            return self._of_fields(owner, method.name, call), False
        return self._of_box(owner, method.name, call), False

    def _of_fields(self, owner: Fields, name: str, call: Call) -> Value:
        key = call.argument(0)
        text = self.text_of(key)
        node = call.nodes[0] if call.nodes else call.node
        if name in ("get", "__getitem__", "__contains__"):
            if text is None:
                self.escape(frozenset({owner}))
            else:
                self.read(frozenset({owner.record}), text, self.token(node))
            return UNKNOWN
        if not owner.live:
            # A plain dict of its own: changing it writes nothing, taking a key out of it reads.
            if name in ("pop", "setdefault") and text is not None:
                self.read(frozenset({owner.record}), text, self.token(node))
            elif name in ("pop", "setdefault", "popitem"):
                self.escape(frozenset({owner}))
            else:
                for value in call.args:
                    self.escape(value)
            return UNKNOWN
        if name in ("pop", "setdefault", "__setitem__", "__delitem__"):
            self.write_key(owner, key, node)
        elif name in ("update", "__ior__"):
            self._update(owner, call)
        else:
            self.write(frozenset({owner.record}), "*", self.token(call.node))
        return UNKNOWN

    def _update(self, owner: Fields, call: Call) -> None:
        record: Value = frozenset({owner.record})
        for keyword, _, node in call.keywords:
            if keyword is not None and isinstance(node, ast.keyword):
                line, start = node.lineno, node.col_offset
                self.write(record, keyword, self.place(line, start, line, start + len(keyword.encode())))
            elif keyword is None:
                self.write(record, "*", self.token(call.node))
        for index, value in enumerate(call.args):
            node = call.nodes[index]
            if isinstance(node, ast.Dict) and all(
                isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys
            ):
                for key in node.keys:
                    if isinstance(key, ast.Constant):
                        self.write(record, str(key.value), self.token(key))
            else:
                self.escape(value)
                self.write(record, "*", self.token(call.node))

    def write_key(self, fields: Fields, key: Value, node: ast.AST) -> None:
        """`vars(record)[key]` is written."""
        if not fields.live:
            return
        text = self.text_of(key)
        self.write(frozenset({fields.record}), text if text is not None else "*", self.token(node))

    def _of_box(self, owner: Box, name: str, call: Call) -> Value:
        node = call.nodes[0] if call.nodes else call.node
        if name in ("get", "pop", "setdefault", "__getitem__"):
            if not call.args:
                return content(owner) or UNKNOWN
            if name == "pop" and not owner.mapping:
                return content(owner) or UNKNOWN
            found = self.item(frozenset({owner}), call.argument(0), node)
            return join([found, call.argument(1)])
        if name == "values":
            return box(False, (), content(owner))
        if name == "items":
            pair = box(False, ((0, UNKNOWN), (1, content(owner))))
            return box(False, (), pair)
        if name in ("copy", "__copy__"):
            return frozenset({owner})
        if name == "sort" and call.keyword("key"):
            self.apply(call.keyword("key"), Call(call.node, [content(owner)], [call.node], []))
            return OTHER
        if name in ("popleft", "__next__", "__enter__"):
            return content(owner) or UNKNOWN
        return UNKNOWN

    def text_of(self, value: Value) -> str | None:
        """The one text that a value is."""
        found = constant(value)
        return found if isinstance(found, str) else None

    # What other parts do

    def apply(self, callee: Value, call: Call) -> Value:
        """The join of what each callee gives."""
        raise NotImplementedError

    def read_by_name(self, value: Value, call: Call) -> Value:
        """getattr and its like."""
        raise NotImplementedError

    def write_by_name(self, value: Value, call: Call, *, delete: bool) -> None:
        """setattr and its like."""
        raise NotImplementedError

    def fields_of(self, value: Value, call: Call, *, live: bool) -> Value:
        """`vars(record)` and its like."""
        raise NotImplementedError

    def builtin(self, name: str, call: Call) -> tuple[Value, bool]:
        """A call of a builtin, and whether it took `vars(record)` among its arguments."""
        raise NotImplementedError

    def unlisted(self, value: Value, call: Call) -> None:
        """A record's field is used by a name that is not constant."""
        raise NotImplementedError
