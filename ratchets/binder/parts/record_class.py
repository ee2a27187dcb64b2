"""The record's own class: what its functions and those of its subclasses give, by the class or by a record."""

from __future__ import annotations

from collections.abc import Iterator

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Function,
    Instance,
    Property,
    Record,
    Type,
    Value,
    join,
    records,
)


class RecordClass(Part):
    """A function that gives a record gives one wherever it is called: `from_cli_args`, `with_defaults`, `twin`."""

    def of_class(self, cls: Type, name: str) -> Value:
        """What the class has under a name, where that is a function."""
        receiver: Value = frozenset({cls})
        values: list[Value] = []
        for atom in self._found(cls.spec, cls.key, name):
            if isinstance(atom, Function):
                values.append(frozenset({Function(atom.key, receiver)}))
        return join(values) or UNKNOWN

    def of_record(self, record: Record, name: str) -> Value:
        """What a record has under a name, where that gives another record."""
        held: Value = frozenset({Record(record.spec, False)})
        values: list[Value] = []
        for atom in self._found(record.spec, "", name):
            getters = atom.getter if isinstance(atom, Property) else ()
            if any(self._gives(part) for part in getters if isinstance(part, Function)):
                values.append(held)
            elif isinstance(atom, Function) and self._gives(atom):
                summary = self.binder.summaries.of(atom.key)
                is_property = summary is not None and summary.kind == "property"
                values.append(held if is_property else frozenset({Function(atom.key, held)}))
        return join(values)

    def as_records(self, owner: str, value: Value) -> Value:
        """What a method of the record's class returns: `self` is a record."""
        cls = self.state.record_classes.get(owner)
        if cls is None or Instance(owner) not in value:
            return value
        return (value - {Instance(owner)}) | {Record(cls.spec, False)}

    def _found(self, spec: str, key: str, name: str) -> Iterator[object]:
        """What the first of the classes has under a name; of other modules' what gives a record."""
        for path in self._classes(spec, key):
            if path in self.state.classes:
                found, _ = self.binder.classes.member(path, name)
                if found is not None:
                    yield from found
                    return
            elif name in self.state.world.leading(path):
                function = Function(f"{path}.{name}")
                if self._gives(function):
                    yield function
                    return

    def _classes(self, spec: str, key: str) -> Iterator[str]:
        if key:
            yield from self.binder.classes.lineage(key)[0]
        for record in self.state.configuration.records:
            if record.name == spec:
                yield from record.types

    def _gives(self, function: Function) -> bool:
        summary = self.binder.summaries.of(function.key)
        return summary is not None and bool(records(summary.returns))
