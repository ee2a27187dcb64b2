"""What a subscript gives: of a container, of `vars(record)`, of a module's names."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.starred import element
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Box,
    Class,
    Const,
    Fields,
    Instance,
    Namespace,
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
    unsure,
)

_TYPED = ("typing.TypedDict", "typing_extensions.TypedDict")


class Items(Part):
    """Values by key."""

    def subscript(self, node: ast.Subscript) -> Value:
        """A subscript as it is written; `x.__dict__["name"]` is an attribute."""
        base = self.binder.evaluate(node.value)
        key = self._key(node.slice)
        holder = node.value
        if isinstance(holder, ast.Attribute) and holder.attr == "__dict__" and isinstance(holder.value, ast.Name):
            name = constant(key)
            if isinstance(name, str) and not any(isinstance(atom, (Fields, Namespace)) for atom in base):
                found = self.names.stored(holder.value.id, name)
                if found is not None:
                    return found
                return self.binder.attributes.of(self.binder.expressions.name(holder.value), name, node.slice)
        return self.of(base, key, node.slice)

    def _key(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return frozenset({Const(int(node.value))})
        return self.binder.use(node)

    def of(self, base: Value, key: Value, place: ast.AST) -> Value:
        """What a subscript gives."""
        values: list[Value] = []
        if any(isinstance(atom, Fields) or (isinstance(atom, Box) and interesting(base)) for atom in base):
            key = self.binder.elsewhere.constant(key)
        name = constant(key)
        for atom in base:
            if isinstance(atom, Box):
                values.append(self._from_box(atom, key, place))
            elif isinstance(atom, Fields):
                if isinstance(name, str):
                    self.sights.read(frozenset({atom.record}), name, self.places.token(place))
                else:
                    self.sights.escape(frozenset({atom}))
                values.append(UNKNOWN)
            elif isinstance(atom, Namespace) and isinstance(name, str):
                values.append(self.global_of(atom, name))
            elif isinstance(atom, (Class, Type)):
                values.append(frozenset({atom}))  # a generic one with its parameters
            elif isinstance(atom, Instance):
                values.append(self.of_instance(atom, key))
            elif isinstance(atom, Symbol) and atom.path == "sys.modules" and isinstance(name, str):
                values.append(frozenset({Symbol(name)}))
            else:
                values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def of_instance(self, instance: Instance, key: Value) -> Value:
        """What an object's own `[]` gives; a typed dict gives what its class declares."""
        name = constant(key)
        if isinstance(name, str):
            _, outside = self.binder.classes.lineage(instance.key)
            if any(path in _TYPED for path in outside):
                return self.binder.classes.member(instance.key, name)[0] or UNKNOWN
        return self.binder.callees.special(instance, ("__getitem__", "__missing__"), [key])

    def global_of(self, namespace: Namespace, name: str) -> Value:
        """A module's name by text."""
        if namespace.module == self.module.name:
            found = self.names.module_value(name, live=self.names.scope is self.names.module_scope)
            return UNKNOWN if found is None else found
        return self.binder.attributes.of(frozenset({Symbol(namespace.module)}), name, ast.Constant(name))

    def _from_box(self, atom: Box, key: Value, place: ast.AST) -> Value:
        name = constant(key)
        if isinstance(place, ast.Slice):
            return self._part_of(atom, place)
        if name is None:
            return opaque(content(atom)) or UNKNOWN
        if isinstance(name, int) and name < 0 and not atom.mapping:
            name += length(atom) if not atom.rest else 0
        for held, value in atom.items:
            if held == name:
                return unsure(join([value, atom.rest]))
        if atom.rest:
            return element(atom.rest, name)
        return UNKNOWN

    def _part_of(self, atom: Box, place: ast.Slice) -> Value:
        """A slice: the values at its places, where these are known."""
        bounds: list[int | None] = []
        for part in (place.lower, place.upper, place.step):
            found = None if part is None else constant(self.binder.evaluate(part))
            if part is not None and not isinstance(found, int):
                return frozenset({Box(False, (), content(atom))})
            bounds.append(found if isinstance(found, int) else None)
        if atom.rest or atom.mapping or bounds[2] == 0:
            return frozenset({Box(False, (), content(atom))})
        held = dict(atom.items)
        places = range(length(atom))[slice(*bounds)]
        return box(False, enumerate(held.get(index, UNKNOWN) for index in places))
