"""Calls of builtins: by name, by text, and over containers."""

from __future__ import annotations

import ast
import re

from confbag.ratchets.binder.calling import Call
from confbag.ratchets.binder.library import Library
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Accessor,
    Box,
    Class,
    Const,
    Fields,
    Instance,
    Namespace,
    Parameter,
    Parent,
    Property,
    Record,
    Symbol,
    Type,
    Value,
    box,
    content,
    interesting,
    join,
    records,
)

_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN = {
    "int",
    "float",
    "str",
    "bool",
    "bytes",
    "len",
    "range",
    "repr",
    "isinstance",
    "issubclass",
    "id",
    "hash",
    "print",
}


class Builtins(Library):
    """What they give, read and write."""

    def builtin(self, name: str, call: Call) -> tuple[Value, bool]:
        """A call of a builtin, and whether it took `vars(record)` among its arguments."""
        first = call.argument(0)
        if name in ("getattr", "object.__getattribute__", "type.__getattribute__", "inspect.getattr_static"):
            return self.read_by_name(first, call), False
        if name == "hasattr":
            return self.read_by_name(first, call) and OTHER, False
        if name in ("setattr", "delattr", "object.__setattr__", "object.__delattr__"):
            self.write_by_name(first, call, delete="del" in name)
            return OTHER, False
        if name == "vars":
            if not call.args:
                return UNKNOWN, True
            return self.fields_of(first, call, live=True), True
        if name in ("eval", "exec", "compile"):
            self._text(first, call)
            return UNKNOWN, False
        if name == "globals":
            return frozenset({Namespace(self.module.name)}), True
        if name == "__import__":
            path = self.text_of(first)
            if path:
                return frozenset({Symbol(path.partition(".")[0])}), True
            return UNKNOWN, True
        if name == "super":
            scope = self.scope
            while scope.parent is not None and not scope.owner:
                scope = scope.parent
            return (frozenset({Parent(scope.owner)}) if scope.owner else UNKNOWN), True
        if name == "<same>":
            return first, True
        if name == "object.__new__":
            made = frozenset(Instance(atom.key) for atom in first if isinstance(atom, Class))
            return made or UNKNOWN, False
        if name == "property":
            return frozenset({Property(first or call.keyword("fget"))}), True
        if name in ("staticmethod", "classmethod"):
            return first or UNKNOWN, True
        if name == "type" and len(call.args) == 1:
            kinds: set[object] = set()
            for atom in first:
                if isinstance(atom, Instance):
                    kinds.add(Class(atom.key))
                elif isinstance(atom, Record):
                    kinds.add(Type(atom.spec))
            return (frozenset(kinds) if kinds else UNKNOWN), False  # type: ignore[arg-type]
        return self._iteration(name, first, call)

    def _iteration(self, name: str, first: Value, call: Call) -> tuple[Value, bool]:
        if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"):
            if name == "sorted" and call.keyword("key"):
                self.apply(call.keyword("key"), Call(call.node, [self.element(first)], [call.node], []))
            boxes = [atom for atom in first if isinstance(atom, Box) and not atom.mapping]
            if not boxes:
                return UNKNOWN if first else OTHER, False
            if name in ("list", "tuple", "iter"):
                return frozenset(boxes), False
            return box(False, (), join(content(one) for one in boxes)), False
        if name == "dict":
            items: dict[str | int, Value] = {}
            rest: list[Value] = []
            for atom in first:
                if isinstance(atom, Box):
                    (items.update(atom.items) if atom.mapping else rest.append(UNKNOWN))
                    rest.append(atom.rest)
            for keyword, value, _ in call.keywords:
                if keyword is not None:
                    items[keyword] = value
            return box(True, items.items(), join(rest)), False
        if name == "next":
            return join([self.element(first), call.argument(1)]), False
        if name in ("enumerate", "zip"):
            parts = [self.element(value) for value in call.args]
            pair = box(False, enumerate([UNKNOWN, *parts] if name == "enumerate" else parts))
            return box(False, (), pair) if interesting(pair) else UNKNOWN, False
        if name == "map":
            elements = [self.element(value) for value in call.args[1:]]
            inner = Call(call.node, elements, [call.node] * len(elements), [])
            result = self.apply(first, inner)
            return box(False, (), result) if interesting(result) else UNKNOWN, False
        if name in ("filter", "min", "max", "sum"):
            source = call.argument(1) if name == "filter" else first
            element = self.element(source) if source else UNKNOWN
            function = first if name == "filter" else call.keyword("key")
            if function:
                self.apply(function, Call(call.node, [element], [call.node], []))
            if name == "filter":
                return (box(False, (), element) if interesting(element) else UNKNOWN), False
            return element, False
        return (OTHER if name in _PLAIN else UNKNOWN), False

    def read_by_name(self, value: Value, call: Call) -> Value:
        """getattr and its like."""
        if len(call.args) < 2:
            return UNKNOWN
        name = self.text_of(call.argument(1))
        default = call.argument(2)
        if name is None:
            self.unlisted(value, call)
            return UNKNOWN
        node = call.nodes[1]
        if isinstance(node, ast.Attribute):
            # The name is a constant kept elsewhere: the place is the expression, which is no access itself.
            node = ast.copy_location(ast.Constant(name), node)
        return join([self.attribute(value, name, node), default]) or UNKNOWN

    def write_by_name(self, value: Value, call: Call, *, delete: bool) -> None:
        """setattr and its like."""
        name = self.text_of(call.argument(1))
        held = records(value)
        if not held:
            if name is not None and not delete:
                self._store_by_name(value, name, call)
            if any(isinstance(atom, Parameter) for atom in value):
                self.note_parameter(value, name or "*")
            return
        if name is None:
            self.write(value, "*", self.token(call.node))
        else:
            node = call.nodes[1] if len(call.nodes) > 1 else call.node
            self.write(value, name, self.token(node))

    def _store_by_name(self, value: Value, name: str, call: Call) -> None:
        stored = call.argument(2) or UNKNOWN
        node = call.nodes[0] if call.nodes else None
        if isinstance(node, ast.Name):
            self.put_attribute(node.id, name, stored)
        else:
            self.store_attribute(value, name, stored)

    def put_attribute(self, base: str, name: str, value: Value) -> None:
        """`base.name` holds a value from here on."""
        self.scope.env[base, name] = value
        self.scope.attribute_bases.add(base)

    def fields_of(self, value: Value, call: Call, *, live: bool) -> Value:
        """`vars(record)` and its like."""
        found: set[Fields] = set()
        node = call.node.func if isinstance(call.node, ast.Call) else call.node
        while isinstance(node, ast.Call):
            node = node.func
        end_line, end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        line, start = node.lineno, node.col_offset  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute):
            line, start = end_line, end - len(node.attr.encode())
        for record in records(value):
            found.add(Fields(record, live and not record.copied, (line, start, end_line, end), "vars"))
        self.note_parameter(value, "*")
        for atom in value:
            if isinstance(atom, Symbol) and "()" not in atom.path:
                return frozenset({Namespace(atom.path)})
        return frozenset(found) or UNKNOWN

    def _text(self, value: Value, call: Call) -> None:
        texts = [atom.value for atom in value if isinstance(atom, Const) and isinstance(atom.value, str)]
        if call.nodes and isinstance(call.nodes[0], ast.JoinedStr):
            texts.extend(
                part.value
                for part in call.nodes[0].values
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
        names = {
            path.removesuffix("()").rpartition(".")[2]: spec.name
            for spec in self.configuration.records
            for path in spec.accessors
        }
        for text in texts:
            for word in _WORD.findall(text):
                spec = names.get(word)
                if spec is None:
                    found = self.lookup(word)
                    spec = next((atom.spec for atom in found or () if isinstance(atom, Accessor)), None)
                if spec is not None:
                    self.see("CB103", Record(spec, True), "record.*", self.token(call.node))
                    return

    def unlisted(self, value: Value, call: Call) -> None:
        """A record's field is used by a name that is not constant."""
        for record in records(value):
            self.see("CB103", record, "record.*", self.token(call.node))
        self.note_parameter(value, "*")
