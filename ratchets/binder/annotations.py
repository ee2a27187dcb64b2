"""What an annotation says of a value: a record, an instance of a class, something else, or nothing."""

from __future__ import annotations

import ast
import builtins

from confbag.ratchets.binder.state import State
from confbag.ratchets.binder.values import (
    NONE,
    OTHER,
    UNKNOWN,
    Builtin,
    Class,
    Instance,
    Of,
    Record,
    Symbol,
    Type,
    Value,
    box,
    interesting,
    join,
)

_WRAPPERS = {"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar"}
_SEQUENCES = {
    "list", "tuple", "set", "frozenset", "List", "Tuple", "Set", "FrozenSet", "Sequence", "Iterable", "Iterator",
    "Collection", "Generator", "MutableSequence", "deque", "Deque", "AsyncIterator", "AsyncIterable", "AsyncGenerator",
}  # fmt: skip
_MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict"}
_SILENT = {"Any", "object", "TypeVar"}


class Annotations(State):
    """Reads annotations without evaluating them: nothing in one is an access."""

    def resolve(self, node: ast.expr) -> Value:
        """A dotted name, by what its first name is bound to."""
        if isinstance(node, ast.Name):
            found = self.lookup(node.id)
            return frozenset({Builtin(node.id)}) if found is None else found
        if isinstance(node, ast.Attribute):
            return self.static_attribute(self.resolve(node.value), node.attr)
        return UNKNOWN

    def static_attribute(self, base: Value, name: str) -> Value:
        """An attribute of modules and classes."""
        values: list[Value] = []
        for atom in base:
            if isinstance(atom, Symbol):
                path = f"{atom.path}.{name}"
                found = self.world.name(path)
                values.append(frozenset({Symbol(path)}) if found is None else found)
            elif isinstance(atom, Class):
                facts = self.classes.get(atom.key)
                values.append(facts.body.get(name, UNKNOWN) if facts else UNKNOWN)
            else:
                values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def annotation(self, node: ast.expr | None) -> Value | None:
        """The value that an annotation promises, None where it says nothing."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            if node.value is None:
                return NONE
            if isinstance(node.value, str):
                return self.annotation(self._parsed(node.value))
            return None
        if isinstance(node, ast.BinOp):
            parts: list[Value] = []
            left: ast.expr = node
            while isinstance(left, ast.BinOp):
                found = self.annotation(left.right)
                if found is None:
                    return self._only_records(node)
                parts.append(found)
                left = left.left
            found = self.annotation(left)
            if found is None:
                return self._only_records(node)
            return _union([*parts, found])
        if isinstance(node, ast.Subscript):
            return self._subscripted(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._instance(self.resolve(node), node)
        return None

    def _only_records(self, node: ast.BinOp) -> Value | None:
        parts: list[Value] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            parts.append(self.annotation(left.right) or UNKNOWN)
            left = left.left
        parts.append(self.annotation(left) or UNKNOWN)
        found = _union(parts)
        return found if interesting(found) else None

    def _instance(self, value: Value, node: ast.expr) -> Value | None:
        last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        values: list[Value] = []
        for atom in value:
            if isinstance(atom, Type):
                values.append(frozenset({Record(atom.spec, False)}))
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
        last = head.attr if isinstance(head, ast.Attribute) else head.id if isinstance(head, ast.Name) else ""
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if last in _WRAPPERS and inner:
            return self.annotation(inner[0])
        if last == "Union":
            found = [self.annotation(part) for part in inner]
            known = [value for value in found if value is not None]
            union = _union(known)
            if len(known) < len(found) and not interesting(union):
                return None
            return union
        if last in ("type", "Type"):
            return self.resolve(inner[0]) if isinstance(inner[0], (ast.Name, ast.Attribute)) else OTHER
        if last in _SEQUENCES:
            if last in ("tuple", "Tuple") and not (len(inner) == 2 and _is_dots(inner[1])):
                return box(False, enumerate(self.annotation(part) or UNKNOWN for part in inner))
            return box(False, (), self.annotation(inner[0]) or UNKNOWN)
        if last in _MAPPINGS:
            return box(True, (), self.annotation(inner[-1]) or UNKNOWN)
        return self._instance(self.resolve(head), head)

    def _parsed(self, text: str) -> ast.expr | None:
        if text not in self.annotations:
            try:
                self.annotations[text] = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self.annotations[text] = None
        return self.annotations[text]


def _union(parts: list[Value]) -> Value:
    return join(parts)


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
