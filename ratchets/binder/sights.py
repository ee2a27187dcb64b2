"""What was seen: fields of records read and written, records that escape or are handed on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from confbag.ratchets.binder.facts import Handoff, Sight
from confbag.ratchets.binder.places import Places
from confbag.ratchets.binder.state import State
from confbag.ratchets.binder.values import Fields, Parameter, Record, Value, records
from confbag.ratchets.finding import Place

# What stands for every field.
_ACTING = frozenset({"__dict__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__"})


def is_dunder(name: str) -> bool:
    """Dunders are no fields."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


class Sights:
    """Accesses by their place; seeing one again on another path can only make it less certain."""

    def __init__(self, state: State, places: Places) -> None:
        self.module = state.module
        self.state = state
        self.places = places
        self.seen: dict[Place, dict[tuple[str, str, str], Sight]] = {}
        self.handoffs: dict[tuple[Place, str, str, str], Handoff] = {}
        self._muted = False

    @contextmanager
    def muted(self) -> Iterator[None]:
        """What is evaluated meanwhile was seen where it stands."""
        before = self._muted
        self._muted = True
        try:
            yield
        finally:
            self._muted = before

    def begin(self) -> None:
        """A pass begins; only what the last one sees counts."""
        self.seen = {}
        self.handoffs = {}

    def see(
        self,
        code: str,
        record: Record,
        symbol: str,
        place: Place,
        *,
        certain: bool = False,
        span: tuple[int, int] | None = None,
        negated: bool = False,
    ) -> None:
        """Note an access; seeing it again on another path keeps it certain only if both are."""
        if self._muted:
            return
        certain = certain and not self.module.large
        ways = self.seen.setdefault(place, {})
        key = (code, record.spec, symbol)
        sight = Sight(code, record.spec, symbol, record.guess, certain, span, negated)
        held = ways.get(key)
        if held is not None:
            guess = _surer(held.guess, record.guess)
            sight = Sight(code, record.spec, symbol, guess, held.certain and certain, span, negated)
        ways[key] = sight

    def note_parameter(self, value: Value, field_name: str) -> None:
        """Whatever a caller gave for these parameters, a field of it is used."""
        if is_dunder(field_name):
            if field_name not in _ACTING:
                return
            field_name = "*"
        for atom in value if not self._muted else ():
            if isinstance(atom, Parameter):
                facts = self.state.functions.get(atom.key)
                if facts is not None:
                    facts.reads.setdefault(atom.name, set()).add(field_name)

    def read(self, base: Value, name: str, place: Place) -> None:
        """A field is read off every record that a value can be."""
        for record in records(base):
            self.read_of(record, name, place)
        self.note_parameter(base, name)

    def read_of(
        self, record: Record, name: str, place: Place, *, certain: bool = False, span: tuple[int, int] | None = None
    ) -> None:
        """A field is read off a record; what a copy replaced is the copy's own."""
        if name not in record.replaced and not is_dunder(name):
            code = "CB103" if record.opaque else "CB101" if record.direct else "CB102"
            self.see(code, record, f"record.{name}", place, certain=certain and code == "CB101", span=span)

    def write(self, base: Value, name: str, place: Place, *, nested: bool = False) -> None:
        """A field is written; a copy's own field may be, what a shallow copy shares may not."""
        if is_dunder(name):
            return
        for record in records(base):
            if record.copied == "deep" or (record.copied and not nested):
                if nested and name not in record.replaced:
                    self.see("CB101" if record.direct else "CB102", record, f"record.{name}", place)
                continue
            if name in record.replaced:
                continue
            self.see("CB111", record, f"record.{name}", place)
        self.note_parameter(base, name)

    def hand_off(self, record: Record, callee: str, parameter: str, call: ast.AST) -> None:
        """A record is given to a function of the tree."""
        if self._muted:
            return
        place = self.places.token(call)
        key = (place, record.spec, callee, parameter)
        held = self.handoffs.get(key)
        guess = record.guess if held is None else _surer(held.guess, record.guess)
        self.handoffs[key] = Handoff(place, record.spec, callee, parameter, guess)

    def escape(self, value: Value) -> Value:
        """`vars(record)` and its like are used other than by a constant key."""
        for atom in value:
            if isinstance(atom, Fields):
                self.see("CB103", atom.record, "record.*", self.places.at(*atom.place))
        return value


def _surer(one: tuple[str, str] | None, other: tuple[str, str] | None) -> tuple[str, str] | None:
    """Of two ways to see one record: not guessed at all before a guess, and of two guesses always the same."""
    return None if one is None or other is None else min(one, other)
