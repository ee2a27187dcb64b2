"""Which names lead to a record: in this module, and for others that import from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.tables import ClassFacts
from confbag.ratchets.binder.values import (
    Accessor,
    Alias,
    Awaiting,
    Box,
    Class,
    Fields,
    Function,
    Instance,
    Parameter,
    Partial,
    Property,
    Record,
    Symbol,
    Type,
    Value,
    content,
    records,
)

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder


class Leading(Part):
    """Sets of keys, each a fixpoint."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self.inside: set[str] = set()
        self.giving: set[str] = set()
        self.telling: set[str] = set()

    def leads(self, value: Value) -> bool:
        """Whether a name that holds the value must be followed in this module."""
        return self._any(value, self.inside)

    def gives(self, value: Value) -> bool:
        """Whether a value is a record, or a call of it gives one: not by way of another object's attributes."""
        return self._any(value, self.giving, objects=False)

    def tells(self, value: Value) -> bool:
        """Whether another module must know the value."""
        return self._any(value, self.telling)

    def leads_on(self, value: Value) -> bool:
        """Whether a name must be followed because of the value, or of what a caller gave for it."""
        return self.leads(value) or any(
            isinstance(atom, Parameter) and atom.key in self.state.demanded for atom in value
        )

    def _any(self, value: Value, keys: set[str], *, objects: bool = True) -> bool:
        for atom in value:
            if isinstance(atom, Record):
                if atom.direct or self.state.by_name:
                    return True
            elif isinstance(atom, (Accessor, Fields)):
                return True
            elif isinstance(atom, Type):
                if self.state.by_name:
                    return True
            elif isinstance(atom, Symbol):
                if atom.path in self.state.on_the_way:
                    return True
            elif isinstance(atom, Awaiting):
                if self._any(atom.value, keys, objects=objects):
                    return True
            elif isinstance(atom, Alias):
                if self._any(atom.promise, keys, objects=objects):
                    return True
            elif isinstance(atom, Box):
                if self._any(content(atom), keys, objects=objects):
                    return True
            elif isinstance(atom, Partial):
                if any(self._any(part, keys, objects=objects) for part in (atom.function, *atom.args)):
                    return True
            elif isinstance(atom, Property):
                if self._any(atom.getter, keys, objects=objects):
                    return True
            elif isinstance(atom, Function):
                if atom.key in keys or atom.key not in self.state.functions:
                    return True
            elif (
                objects
                and isinstance(atom, (Class, Instance))
                and (atom.key in keys or atom.key not in self.state.classes)
            ):
                return True
        return False

    def follow(self) -> None:
        """Functions that return what leads to a record, and classes that keep it: to fixpoints."""
        self.inside, self.giving, self.telling = set(), set(), set()
        self._grow_keys(self.giving, self.gives, set(), self.gives)
        self._grow_keys(self.inside, self.leads, self.inside, self.leads)
        self.telling |= self.giving
        self._grow_keys(self.telling, self.tells, self.telling, self.gives)

    def _grow_keys(
        self,
        functions: set[str],
        returned: Callable[[Value], bool],
        classes: set[str],
        kept: Callable[[Value], bool],
    ) -> None:
        size = -1
        while size != len(functions) + len(classes):
            size = len(functions) + len(classes)
            for key, facts in self.state.functions.items():
                if key not in functions and (returned(facts.returns) or returned(facts.yields)):
                    functions.add(key)
            for key, table in self.state.classes.items():
                if key not in classes and (
                    self.names_in(table, kept) or any(self._inherits(base, classes) for base in table.bases)
                ):
                    classes.add(key)

    def _inherits(self, base: Value, classes: set[str]) -> bool:
        """Whether a class inherits what leads to a record."""
        return any(
            isinstance(atom, Type)
            or (isinstance(atom, Class) and (atom.key in classes or atom.key not in self.state.classes))
            for atom in base
        )

    def names_in(self, table: ClassFacts, kept: Callable[[Value], bool]) -> set[str]:
        """The names of a class that hold what leads to a record, but those that are holders by their name."""
        return {
            name
            for values in (table.attributes, table.annotated, table.body)
            for name, value in values.items()
            if kept(value) and (name not in self.state.holders or any(record.direct for record in records(value)))
        }
