"""Calls of builtins: by name, by text, and over containers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.containers import as_mapping
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Accessor,
    Atom,
    Box,
    Class,
    Const,
    Instance,
    Namespace,
    Parent,
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
    length,
    opaque,
    text_of,
)

Given = tuple[Value, bool]
_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN = (
    "int", "float", "str", "bool", "bytes", "len", "range", "repr", "isinstance", "issubclass", "id", "hash", "print",
)  # fmt: skip
_READERS = ("getattr", "object.__getattribute__", "type.__getattribute__", "inspect.getattr_static")
_WRITERS = ("setattr", "delattr", "object.__setattr__", "object.__delattr__")


class Builtins(Part):
    """What they give, read and write."""

    def call(self, name: str, call: Call) -> Given:
        """A call of a builtin, and whether it took `vars(record)` among its arguments."""
        known = _KNOWN.get(name)
        return (UNKNOWN, False) if known is None else known(self, name, call)

    def _truth(self, name: str, call: Call) -> Given:
        node = call.nodes[0] if call.nodes else None
        if isinstance(node, ast.expr):
            self.binder.presence.probe(node)
        return OTHER, False

    def _plain(self, name: str, call: Call) -> Given:
        return OTHER, False

    def _first(self, name: str, call: Call) -> Given:
        return call.argument(0) or UNKNOWN, True

    # By name and by text

    def _read(self, name: str, call: Call) -> Given:
        return self.binder.by_name.read(call.argument(0), call), False

    def _has(self, name: str, call: Call) -> Given:
        self.binder.by_name.read(call.argument(0), call)
        return OTHER, False

    def _write(self, name: str, call: Call) -> Given:
        self.binder.by_name.write(call.argument(0), call, delete="del" in name)
        return OTHER, False

    def _vars(self, name: str, call: Call) -> Given:
        return (self.binder.by_name.fields_of(call.argument(0), call, live=True) if call.args else UNKNOWN), True

    def _globals(self, name: str, call: Call) -> Given:
        return frozenset({Namespace(self.module.name)}), True

    def _import(self, name: str, call: Call) -> Given:
        path = text_of(call.argument(0))
        if not path:
            return UNKNOWN, True
        given = [node.value for name, _, node in call.keywords if name == "fromlist" and isinstance(node, ast.keyword)]
        named = given[0] if given else call.nodes[3] if len(call.nodes) > 3 else None
        # With names to take it gives the module itself, without them the first of its packages.
        listed = isinstance(named, (ast.List, ast.Tuple)) and named.elts
        return frozenset({Symbol(path if listed else path.partition(".")[0])}), True

    def _item(self, name: str, call: Call) -> Given:
        node = call.nodes[1] if len(call.nodes) > 1 else call.node
        found = self.binder.items.of(call.argument(0), call.argument(1), node)
        return join([found, call.argument(2)]), True

    def _run_text(self, name: str, call: Call) -> Given:
        spec = self._accessor_in(call)
        if spec is not None:
            self.sights.see("CB103", Record(spec, True), "record.*", self.places.token(call.node))
        return UNKNOWN, False

    def _accessor_in(self, call: Call) -> str | None:
        """The record whose accessor a text names."""
        texts = [atom.value for atom in call.argument(0) if isinstance(atom, Const) and isinstance(atom.value, str)]
        # Of a text put together with something unknown, every piece.
        for part in ast.walk(call.nodes[0]) if call.nodes else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                texts.append(part.value)
            elif isinstance(part, ast.Name):
                texts.extend(
                    atom.value
                    for atom in self.names.lookup(part.id) or ()
                    if isinstance(atom, Const) and isinstance(atom.value, str)
                )
        names = {
            path.removesuffix("()").rpartition(".")[2]: spec.name
            for spec in self.state.configuration.records
            for path in spec.accessors
        }
        for word in (word for text in texts for word in _WORD.findall(text)):
            if word in names:
                return names[word]
            for atom in self.names.lookup(word) or ():
                if isinstance(atom, Accessor):
                    return atom.spec
        return None

    # Classes

    def _super(self, name: str, call: Call) -> Given:
        scope = self.names.scope
        while scope.parent is not None and not scope.owner:
            scope = scope.parent
        return (frozenset({Parent(scope.owner)}) if scope.owner else UNKNOWN), True

    def _new(self, name: str, call: Call) -> Given:
        made: set[Atom] = {Instance(atom.key) for atom in call.argument(0) if isinstance(atom, Class)}
        made.update(Record(atom.spec, False) for atom in call.argument(0) if isinstance(atom, Type))
        return frozenset(made) or UNKNOWN, False

    def _property(self, name: str, call: Call) -> Given:
        return frozenset({Property(call.argument(0) or call.keyword("fget"))}), True

    def _type(self, name: str, call: Call) -> Given:
        kinds: set[Atom] = set()
        if len(call.args) == 1:
            kinds.update(Class(atom.key) for atom in call.args[0] if isinstance(atom, Instance))
            kinds.update(Type(atom.spec) for atom in call.args[0] if isinstance(atom, Record))
        return frozenset(kinds) or UNKNOWN, False

    # Containers

    def _sequence(self, name: str, call: Call) -> Given:
        first = call.argument(0)
        kept = frozenset(atom for atom in first if isinstance(atom, Box) and not atom.mapping)
        return kept or (UNKNOWN if first else OTHER), False

    def _reordered(self, name: str, call: Call) -> Given:
        first = call.argument(0)
        if name == "sorted" and call.keyword("key"):
            self._apply(call.keyword("key"), [self.binder.displays.element(first)], call)
        kept, took = self._sequence(name, call)
        boxes = [atom for atom in kept if isinstance(atom, Box)]
        return (box(False, (), join(content(one) for one in boxes)) if boxes else kept), took

    def _dict(self, name: str, call: Call) -> Given:
        items: dict[str | int, Value] = {}
        rest: list[Value] = []
        for atom in as_mapping(call.argument(0)):
            if isinstance(atom, Box):
                items.update(atom.items)
                rest.append(atom.rest)
        items.update((keyword, value) for keyword, value, _ in call.keywords if keyword is not None)
        return box(True, items.items(), join(rest)), False

    def _from_keys(self, name: str, call: Call) -> Given:
        value = call.argument(1)
        keys = {constant(key) for atom in call.argument(0) if isinstance(atom, Box) for _, key in atom.items}
        known = sorted((key for key in keys if key is not None), key=repr)
        if known and len(known) == len(keys):
            return box(True, [(key, value) for key in known]), False
        return box(True, (), opaque(value)), False

    def _next(self, name: str, call: Call) -> Given:
        return join([self.binder.displays.element(call.argument(0)), call.argument(1)]), False

    def _pairs(self, name: str, call: Call) -> Given:
        rows = self._rows(call) if name == "zip" else None
        if rows is not None:
            return rows, False
        parts = [self.binder.displays.element(value) for value in call.args]
        parts = [join([part, call.keyword("fillvalue")]) for part in parts]
        pair = box(False, enumerate([UNKNOWN, *parts] if name == "enumerate" else parts))
        return _iterable(pair), False

    def _rows(self, call: Call) -> Value | None:
        """zip of sequences of which all is known."""
        columns: list[Box] = []
        for value in call.args:
            held = [atom for atom in value if isinstance(atom, Box) and not atom.mapping and not atom.rest]
            if len(held) != 1 or len(value) != 1 or not 0 < length(held[0]) <= 8:
                return None
            columns.append(held[0])
        shortest = min((length(one) for one in columns), default=0)
        rows = [box(False, enumerate(dict(one.items).get(row, UNKNOWN) for one in columns)) for row in range(shortest)]
        return box(False, enumerate(rows)) if shortest and not call.keyword("fillvalue") else None

    def _map(self, name: str, call: Call) -> Given:
        elements = [self.binder.displays.element(value) for value in call.args[1:]]
        return _iterable(self._apply(call.argument(0), elements, call)), False

    def _filter(self, name: str, call: Call) -> Given:
        return _iterable(self._tested(call.argument(1), call.argument(0), call)), False

    def _extreme(self, name: str, call: Call) -> Given:
        if len(call.args) > 1 and name != "sum":
            given = join(call.args)
            if call.keyword("key"):
                self._apply(call.keyword("key"), [given], call)
            return given, False
        return join([self._tested(call.argument(0), call.keyword("key"), call), call.keyword("default")]), False

    def _tested(self, source: Value, function: Value, call: Call) -> Value:
        """An element of an iterable, with which a function is called."""
        element = self.binder.displays.element(source) if source else UNKNOWN
        if function:
            self._apply(function, [element], call)
        return element

    def _apply(self, function: Value, args: list[Value], call: Call) -> Value:
        return self.binder.callees.apply(function, Call(call.node, args, [call.node] * len(args), []))


def _iterable(element: Value) -> Value:
    return box(False, (), element) if interesting(element) else UNKNOWN


_KNOWN: dict[str, Callable[[Builtins, str, Call], Given]] = {
    **dict.fromkeys(_PLAIN, Builtins._plain),
    **dict.fromkeys(_READERS, Builtins._read),
    **dict.fromkeys(_WRITERS, Builtins._write),
    **dict.fromkeys(("eval", "exec", "compile"), Builtins._run_text),
    **dict.fromkeys(("staticmethod", "classmethod", "<same>"), Builtins._first),
    **dict.fromkeys(("list", "tuple", "iter"), Builtins._sequence),
    **dict.fromkeys(("set", "frozenset", "sorted", "reversed"), Builtins._reordered),
    **dict.fromkeys(("enumerate", "zip", "<product>"), Builtins._pairs),
    **dict.fromkeys(("min", "max", "sum"), Builtins._extreme),
    "bool": Builtins._truth,
    "hasattr": Builtins._has,
    "vars": Builtins._vars,
    "globals": Builtins._globals,
    "__import__": Builtins._import,
    "<item>": Builtins._item,
    "super": Builtins._super,
    "object.__new__": Builtins._new,
    "property": Builtins._property,
    "type": Builtins._type,
    "dict": Builtins._dict,
    "dict.fromkeys": Builtins._from_keys,
    "next": Builtins._next,
    "map": Builtins._map,
    "filter": Builtins._filter,
}
