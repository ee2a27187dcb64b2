"""Containers that take one more value: whatever names one keeps what it holds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.containers import PASSING, as_mapping, holding, together
from confbag.ratchets.binder.names import root
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    OTHER,
    UNKNOWN,
    Box,
    Class,
    Fields,
    Function,
    Instance,
    Namespace,
    Of,
    Parent,
    Record,
    Symbol,
    Value,
    box,
    constant,
    contents,
    interesting,
    join,
    merged,
)

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder

Change = Callable[[Box], Value]
_ITERATING = frozenset({"extend", "extendleft"})
_MAPPING = frozenset({"update", "setdefault"})


class Growing(Part):
    """The place of a container is a name, an attribute, or an item of a container that has a place."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self._elsewhere = False  # whether what else names a container takes its part

    def item(self, node: ast.expr, base: Value, key: Value, value: Value) -> None:
        """`container[key] = value`."""
        name = constant(key)
        owner = self._owner_of(node, base)
        if owner is not None:
            if isinstance(name, str):
                self.keep(owner, name, value)
        elif interesting(value):
            self._put(node, base, lambda one: holding(one, name, value), mapping=not isinstance(name, int))
        elif name is not None and any(isinstance(atom, Box) for atom in base):
            # What the key held before is gone, where the container is known by this name alone.
            self._put(node, base, lambda one: holding(one, name, value), mapping=True, weakly=False)

    def method(self, function: ast.Attribute, base: Value, call: Call) -> Value | None:
        """A container's method that puts something in; None where it is something else."""
        name = function.attr
        owner = self._owner_of(function.value, base)
        if owner is not None:
            return self._attributes(owner, name, call)
        if name in PASSING and not any(isinstance(atom, Box) or _passes(atom) for atom in base):
            return None
        if self._is_something_else(base, name, function):
            return None
        change = self._change(name, call)
        if change is None:
            return None
        boxes = [atom for atom in base if isinstance(atom, Box)]
        given = UNKNOWN
        if name == "setdefault" and call.args:
            node = call.nodes[0]
            found = [self.binder.items.of(frozenset({one}), call.argument(0), node) for one in boxes]
            given = join([*found, call.argument(1), UNKNOWN])
        self._put(function.value, base, change, mapping=name in _MAPPING)
        return given

    def _owner_of(self, node: ast.expr, base: Value) -> ast.expr | None:
        """The object whose attributes an expression is: `x.__dict__` and `vars(x)`, of no record and no module."""
        owner: ast.expr | None = None
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            owner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars":
            owner = node.args[0] if len(node.args) == 1 else None
        if owner is None or any(isinstance(atom, (Fields, Namespace)) for atom in base):
            return None
        return owner

    def _attributes(self, owner: ast.expr, name: str, call: Call) -> Value | None:
        """`vars(x).update(…)` and its like: attributes by text."""
        if name == "setdefault":
            key = constant(call.argument(0))
            if isinstance(key, str):
                self.keep(owner, key, join([call.argument(1), UNKNOWN]))
            return call.argument(1) or UNKNOWN
        if name != "update":
            return None
        change = self._updated(call)
        if change is not None:
            for atom in change(Box(True, ())):
                for key, value in atom.items if isinstance(atom, Box) else ():
                    if isinstance(key, str):
                        self.keep(owner, key, value)
        return UNKNOWN

    def keep(self, owner: ast.expr, name: str, value: Value) -> None:
        """`owner.name` holds a value."""
        self.park(owner, name, value)
        if isinstance(owner, ast.Name):
            self.names.put_attribute(owner.id, name, value)
        elif _is_place(owner):
            self.binder.classes.store(self._again(owner), name, value)

    def park(self, owner: ast.expr, name: str, value: Value) -> None:
        """A function leaves something in an attribute of what it was given."""
        whose = self.names.part_of(owner.id) if isinstance(owner, ast.Name) and interesting(value) else None
        if whose is not None:
            self.state.fill(*whose, name, value)

    def filled(self, key: str, names: list[str], given: dict[str, Value], call: Call) -> None:
        """A call of a function that puts something into what it is given."""
        nodes = dict(zip(names, call.nodes, strict=False))
        nodes.update((name, node.value) for name, _, node in call.keywords if name and isinstance(node, ast.keyword))
        for (parameter, attribute), held in list(self.state.fills[key].items()):
            base, node = given.get(parameter, NOTHING), nodes.get(parameter)
            if attribute:
                if isinstance(node, ast.expr):
                    self.park(node, attribute, held)
                if any(isinstance(atom, (Instance, Class)) for atom in base):
                    self.binder.classes.store(base, attribute, held)
            elif isinstance(node, ast.expr) and _is_place(node):
                for atom in held:
                    if isinstance(atom, Box):
                        self._put(node, base, partial(together, atom), mapping=atom.mapping)

    def replace(self, node: ast.expr, value: Value) -> None:
        """What an expression names is something of which more is known now."""
        if isinstance(node, ast.Name):
            if self.names.holds(node.id):
                self.names.grow(node.id, value)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            self.names.put_attribute(node.value.id, node.attr, value)

    def _is_something_else(self, base: Value, name: str, function: ast.Attribute) -> bool:
        for atom in base:
            if isinstance(atom, (Record, Fields)):
                return True
            if isinstance(atom, (Instance, Class, Parent)) or (isinstance(atom, Symbol) and "()" not in atom.path):
                # An object with such a method of its own.
                found = self.binder.attributes.of(
                    frozenset({atom}), name, ast.copy_location(ast.Constant(name), function)
                )
                if any(isinstance(part, Function) for part in found):
                    return True
        return False

    def _change(self, name: str, call: Call) -> Change | None:
        """What a method does to a container; None where it brings nothing that can matter."""
        if name == "setdefault":
            value = call.argument(1)
            key = constant(call.argument(0))
            if not interesting(value):
                return None
            return lambda one: holding(one, key, join([*(held for name, held in one.items if name == key), value]))
        if name == "update":
            return self._updated(call)
        value = call.argument(1 if name == "insert" else 0)
        if name in _ITERATING:
            value = contents(value)
        if not interesting(value):
            return None
        return lambda one: frozenset({Box(one.mapping, one.items, join([one.rest, value]))})

    def _updated(self, call: Call) -> Change | None:
        items: dict[str | int, Value] = {}
        rest: list[Value] = []
        for value in call.args:
            for atom in as_mapping(value):
                if isinstance(atom, Box):
                    items.update(atom.items)
                    rest.append(atom.rest)
        items.update((keyword, value) for keyword, value, _ in call.keywords if keyword is not None)
        added = join(rest)
        if not interesting(join([*items.values(), added])):
            return None
        return lambda one: box(one.mapping, {**dict(one.items), **items}.items(), join([one.rest, added]))

    def _put(self, node: ast.expr, base: Value, change: Change, *, mapping: bool, weakly: bool = True) -> None:
        """What an expression names is a container that changed."""
        self._put_one(node, base, change, mapping=mapping, weakly=weakly)
        if weakly and not self._elsewhere:
            # Containers that hold each other have no end of names.
            self._elsewhere = True
            for other in self.names.others(node):
                self._put_one(other, self._again(other), change, mapping=mapping, weakly=True)
            self._elsewhere = False

    def _again(self, node: ast.expr) -> Value:
        """The value of an expression that was evaluated where it stands."""
        with self.sights.muted():
            return self.binder.evaluate(node)

    def _put_one(self, node: ast.expr, base: Value, change: Change, *, mapping: bool, weakly: bool) -> None:
        kept = frozenset(atom for atom in base if not isinstance(atom, Box)) - OTHER
        boxes = [atom for atom in merged(base) if isinstance(atom, Box)] or [Box(mapping, ())]
        grown = join([kept, *(change(one) for one in boxes)])
        if isinstance(node, ast.Name):
            if self.names.holds(node.id):
                self.names.grow(node.id, grown)
                whose = self.names.part_of(node.id) if weakly else None
                if whose is not None:
                    self.state.fill(*whose, "", change(Box(boxes[0].mapping, ())))
            elif weakly:
                self.names.add(node.id, change(Box(boxes[0].mapping, ())))
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                self.names.grow_attribute(node.value.id, node.attr, grown)
            elif weakly and _is_place(node.value):
                self.binder.classes.store(self._again(node.value), node.attr, grown)
        elif isinstance(node, ast.Subscript) and _is_place(node.value):
            outer = self._again(node.value)
            key = constant(self._again(node.slice))
            if weakly or key is not None:
                self._put(
                    node.value,
                    outer,
                    lambda one: holding(one, key, grown),
                    mapping=not isinstance(key, int),
                    weakly=weakly,
                )


def _passes(atom: object) -> bool:
    """Whether an atom is a queue or a future."""
    return isinstance(atom, Of) and atom.path.endswith(("Queue", "Future"))


def _is_place(node: ast.expr) -> bool:
    return root(node) is not None
