"""What an annotation says of a value: a record, an instance of a class, something else, or nothing."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NONE,
    OTHER,
    UNKNOWN,
    Alias,
    Builtin,
    Class,
    Instance,
    Of,
    Partial,
    Record,
    Symbol,
    Type,
    Value,
    awaiting,
    box,
    interesting,
    join,
)

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder

_WRAPPERS = {"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar"}
_SEQUENCES = {
    "list", "tuple", "set", "frozenset", "List", "Tuple", "Set", "FrozenSet", "Sequence", "Iterable", "Iterator",
    "Collection", "Generator", "MutableSequence", "deque", "Deque", "AsyncIterator", "AsyncIterable", "AsyncGenerator",
}  # fmt: skip
_MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict"}
_AWAITED = {"Awaitable", "Coroutine", "Future", "Task"}
_GENERIC = {*_WRAPPERS, *_SEQUENCES, *_MAPPINGS, *_AWAITED, "Union", "Callable"}
_SAME: Value = frozenset({Builtin("<same>")})
_SILENT = {"Any", "object", "TypeVar"}


class Annotations(Part):
    """Reads annotations without evaluating them: nothing in one is an access."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self._texts: dict[str, ast.expr | None] = {}

    def of(self, node: ast.expr | None) -> Value | None:
        """The value that an annotation promises, None where it says nothing."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            if node.value is None:
                return NONE
            if isinstance(node.value, str):
                return self.of(self._parsed(node.value))
            return None
        if isinstance(node, ast.BinOp):
            parts: list[Value] = []
            left: ast.expr = node
            while isinstance(left, ast.BinOp):
                found = self.of(left.right)
                if found is None:
                    return self._only_records(node)
                parts.append(found)
                left = left.left
            found = self.of(left)
            if found is None:
                return self._only_records(node)
            return join([*parts, found])
        if isinstance(node, ast.Subscript):
            return self._subscripted(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._instance(self.resolve(node), node)
        return None

    def alias(self, node: ast.Subscript | ast.BinOp) -> Value | None:
        """What a name is that stands for `Optional[…]`, `A | B` and their like."""
        if isinstance(node, ast.BinOp):
            return self.promised(node) if isinstance(node.op, ast.BitOr) else None
        return self.promised(node) if _last(node.value) in _GENERIC else None

    def promised(self, node: ast.expr) -> Value | None:
        """A name for what an annotation says, None where that is nothing."""
        promise = self.of(node)
        return None if promise is None else frozenset({Alias(promise)})

    def resolve(self, node: ast.expr) -> Value:
        """A dotted name, by what its first name is bound to."""
        if isinstance(node, ast.Name):
            found = self.names.lookup(node.id)
            return frozenset({Builtin(node.id)}) if found is None else found
        if isinstance(node, ast.Attribute):
            return self._attribute(self.resolve(node.value), node.attr)
        return UNKNOWN

    def _attribute(self, base: Value, name: str) -> Value:
        """An attribute of modules and classes."""
        values: list[Value] = []
        for atom in base:
            if isinstance(atom, Symbol):
                path = f"{atom.path}.{name}"
                found = self.state.world.name(path)
                values.append(frozenset({Symbol(path)}) if found is None else found)
            elif isinstance(atom, Class):
                facts = self.state.classes.get(atom.key)
                values.append(facts.body.get(name, UNKNOWN) if facts else UNKNOWN)
            else:
                values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def _only_records(self, node: ast.BinOp) -> Value | None:
        parts: list[Value] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            parts.append(self.of(left.right) or UNKNOWN)
            left = left.left
        parts.append(self.of(left) or UNKNOWN)
        found = join(parts)
        return found if interesting(found) else None

    def _instance(self, value: Value, node: ast.expr) -> Value | None:
        last = _last(node)
        values: list[Value] = []
        for atom in value:
            if isinstance(atom, Type):
                values.append(frozenset({Record(atom.spec, False)}))
            elif isinstance(atom, Alias):
                values.append(atom.promise)
            elif isinstance(atom, Class):
                values.append(frozenset({Instance(atom.key)}))
            elif isinstance(atom, Symbol):
                if last in _SILENT or atom.path.rpartition(".")[2] in _SILENT:
                    return None
                values.append(frozenset({Of(atom.path)}))
            elif isinstance(atom, Builtin):
                if atom.name in _SILENT or not hasattr(builtins, atom.name):
                    return None
                values.append(OTHER)
            else:
                return None
        return join(values) or None

    def _subscripted(self, node: ast.Subscript) -> Value | None:
        head = node.value
        last = _last(head)
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if last in _WRAPPERS and inner:
            return self.of(inner[0])
        if last == "Union":
            found = [self.of(part) for part in inner]
            known = [value for value in found if value is not None]
            union = join(known)
            if len(known) < len(found) and not interesting(union):
                return None
            return union
        if last in _AWAITED and inner:
            given = self.of(inner[-1])
            return None if given is None else awaiting(given)
        if last == "Callable" and len(inner) == 2:
            given = self.of(inner[1])
            # What it is called with does not matter.
            return frozenset({Partial(_SAME, (given,), ())}) if given is not None and interesting(given) else OTHER
        if last in ("type", "Type"):
            return self.resolve(inner[0]) if isinstance(inner[0], (ast.Name, ast.Attribute)) else OTHER
        if last in _SEQUENCES:
            if last in ("tuple", "Tuple") and not (len(inner) == 2 and _is_dots(inner[1])):
                return box(False, enumerate(self.of(part) or UNKNOWN for part in inner))
            return box(False, (), self.of(inner[0]) or UNKNOWN)
        if last in _MAPPINGS:
            return box(True, (), self.of(inner[-1]) or UNKNOWN)
        return self._instance(self.resolve(head), head)

    def _parsed(self, text: str) -> ast.expr | None:
        if text not in self._texts:
            try:
                self._texts[text] = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._texts[text] = None
        return self._texts[text]


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
