"""Which names lead to a record: in this module, and for others that import from it."""

from __future__ import annotations

from collections.abc import Callable

from confbag.ratchets.binder.state import ClassFacts
from confbag.ratchets.binder.statements import Statements
from confbag.ratchets.binder.values import (
    Accessor,
    Box,
    Class,
    Fields,
    Function,
    Instance,
    Parameter,
    Partial,
    Property,
    Record,
    Type,
    Value,
    content,
    records,
)
from confbag.ratchets.binder.world import World
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source.parse import Module


class Leading(Statements):
    """Sets of keys, each a fixpoint."""

    def __init__(self, module: Module, configuration: Configuration, world: World) -> None:
        super().__init__(module, configuration, world)
        self.leading: set[str] = set()
        self.giving: set[str] = set()
        self.telling: set[str] = set()

    def leads(self, value: Value) -> bool:
        """Whether a name that holds the value must be followed in this module."""
        return self._any(value, self.leading)

    def gives(self, value: Value) -> bool:
        """Whether a value is a record, or a call of it gives one: not by way of another object's attributes."""
        return self._any(value, self.giving, objects=False)

    def tells(self, value: Value) -> bool:
        """Whether another module must know the value."""
        return self._any(value, self.telling)

    def _any(self, value: Value, keys: set[str], *, objects: bool = True) -> bool:
        for atom in value:
            if isinstance(atom, Record):
                if atom.direct or self.by_name:
                    return True
            elif isinstance(atom, (Accessor, Fields)):
                return True
            elif isinstance(atom, Type):
                if self.by_name:
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
                if atom.key in keys or atom.key not in self.functions:
                    return True
            elif objects and isinstance(atom, (Class, Instance)) and (atom.key in keys or atom.key not in self.classes):
                return True
        return False

    def follow(self) -> None:
        """Functions that return what leads to a record, and classes that keep it: to fixpoints."""
        self.leading, self.giving, self.telling = set(), set(), set()
        self._grow_keys(self.giving, self.gives, set(), self.gives)
        self._grow_keys(self.leading, self.leads, self.leading, self.leads)
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
            for key, facts in self.functions.items():
                if key not in functions and (returned(facts.returns) or returned(facts.yields)):
                    functions.add(key)
            for key, table in self.classes.items():
                if key not in classes and (
                    self._leading_names(table, kept) or any(self.tells_base(base, classes) for base in table.bases)
                ):
                    classes.add(key)

    def tells_base(self, base: Value, classes: set[str]) -> bool:
        """Whether a class inherits what leads to a record."""
        return any(isinstance(atom, Class) and (atom.key in classes or atom.key not in self.classes) for atom in base)

    def _leading_names(self, table: ClassFacts, kept: Callable[[Value], bool]) -> set[str]:
        return {
            name
            for values in (table.attributes, table.annotated, table.body)
            for name, value in values.items()
            if kept(value) and (name not in self.holders or any(record.direct for record in records(value)))
        }

    def leads_on(self, value: Value) -> bool:
        """Whether a name must be followed because of the value, or of what a caller gave for it."""
        return self.leads(value) or any(isinstance(atom, Parameter) and atom.key in self.demanded for atom in value)
