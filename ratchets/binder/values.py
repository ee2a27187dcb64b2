"""What the binder knows of a value: a set of atoms, joined where paths meet. The empty set is code not reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

Value: TypeAlias = "frozenset[Atom]"


@dataclass(frozen=True, slots=True)
class Plain:
    """Nothing known (`unknown`), certainly no record (`other`), None (`none`), or an attribute not stored here."""

    kind: str


@dataclass(frozen=True, slots=True)
class Const:
    """A constant that can be a key or a name."""

    value: str | int


@dataclass(frozen=True, slots=True)
class Record:
    """A record. `direct` came from an accessor; `guess` names the attribute (and receiver's class) it is guessed by."""

    spec: str
    direct: bool
    copied: str = ""  # "", "shallow", "deep"
    replaced: frozenset[str] = frozenset()
    opaque: bool = False
    guess: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Accessor:
    """A function that returns the published record."""

    spec: str


@dataclass(frozen=True, slots=True)
class Type:
    """The record's class."""

    spec: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something imported, by its dotted path; calls on the way are written `()`."""

    path: str


@dataclass(frozen=True, slots=True)
class Of:
    """An instance of an imported class that is not known further."""

    path: str


@dataclass(frozen=True, slots=True)
class Builtin:
    """A name of builtins, or a method of one (`object.__setattr__`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the tree by its key; `receiver` is what it is bound to."""

    key: str
    receiver: Value | None = None


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the tree by its key."""

    key: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class of the tree."""

    key: str


@dataclass(frozen=True, slots=True)
class Parent:
    """What `super()` gives in a class."""

    key: str


@dataclass(frozen=True, slots=True)
class Property:
    """What an attribute gives when it is read."""

    getter: Value


@dataclass(frozen=True, slots=True)
class Box:
    """A container: values by constant key (a sequence counts from 0), and the join of those under unknown keys."""

    mapping: bool
    items: tuple[tuple[str | int, Value], ...]
    rest: Value = frozenset()


@dataclass(frozen=True, slots=True)
class Partial:
    """functools.partial: what is called, and what with."""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Getter:
    """operator.attrgetter, itemgetter and methodcaller; no names where one is computed."""

    kind: str
    names: tuple[str | int, ...] | None


@dataclass(frozen=True, slots=True)
class Fields:
    """`vars(record)`, `record.__dict__` (live) or `asdict(record)`, made at a place of the file."""

    record: Record
    live: bool
    place: tuple[int, int, int, int]
    word: str


@dataclass(frozen=True, slots=True)
class Method:
    """A bound method of a record or a container: what it acts on and its name."""

    owner: Record | Fields | Box
    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a caller gives for a parameter of a function."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Namespace:
    """`globals()` and a module's `__dict__`, by the module's name."""

    module: str


Atom: TypeAlias = (
    Plain | Const | Record | Accessor | Type | Symbol | Of | Builtin | Function | Class | Instance | Parent | Property
    | Box | Partial | Getter | Fields | Method | Parameter | Namespace
)  # fmt: skip

NOTHING: Value = frozenset()
UNKNOWN: Value = frozenset({Plain("unknown")})
OTHER: Value = frozenset({Plain("other")})
NONE: Value = frozenset({Plain("none")})
ABSENT = Plain("absent")

_DULL = (Plain, Const, Symbol, Of, Builtin, Parameter, Getter, Namespace)
_LIMIT = 24
_DEPTH = 4


def join(values: Iterable[Value]) -> Value:
    """The least value above all of them; what grows without end becomes unknown."""
    joined: Value = frozenset().union(*values)
    return joined if len(joined) <= _LIMIT else narrow(joined)


def narrow(value: Value) -> Value:
    """A value of bounded size that keeps its records."""
    kept = {atom for atom in value if isinstance(atom, Record)}
    boxes = [atom for atom in value if isinstance(atom, Box)]
    if boxes:
        inside = join(content(atom) for atom in boxes)
        kept_boxes = {Box(boxes[0].mapping, (), inside)} if interesting(inside) else set()
        return frozenset(kept) | kept_boxes | UNKNOWN
    return frozenset(kept) | UNKNOWN


def content(box: Box) -> Value:
    """Everything a container may hold."""
    return join([*(value for _, value in box.items), box.rest])


def depth(value: Value) -> int:
    """How deep containers nest in a value."""
    deepest = 0
    for atom in value:
        if isinstance(atom, Box):
            deepest = max(deepest, 1 + depth(content(atom)))
        elif isinstance(atom, Partial):
            deepest = max(deepest, 1 + max((depth(part) for part in (atom.function, *atom.args)), default=0))
        elif isinstance(atom, Function) and atom.receiver is not None:
            deepest = max(deepest, 1 + depth(atom.receiver))
    return deepest


def box(mapping: bool, items: Iterable[tuple[str | int, Value]], rest: Value = NOTHING) -> Value:
    """A container, or a plain value where nothing in it can matter."""
    kept = tuple(items)
    inside = join([*(value for _, value in kept), rest])
    if not interesting(inside) and not (len(kept) <= 8 and _constant(inside)):
        return OTHER
    if depth(inside) >= _DEPTH:
        return UNKNOWN
    if len(kept) > 64:
        return frozenset({Box(mapping, (), inside)})
    return frozenset({Box(mapping, kept, rest)})


def _constant(value: Value) -> bool:
    return bool(value) and all(isinstance(atom, (Const, Symbol, Builtin, Getter)) for atom in value)


def interesting(value: Value) -> bool:
    """Whether a value can lead to a record."""
    for atom in value:
        if isinstance(atom, _DULL):
            continue
        if isinstance(atom, Box):
            if interesting(content(atom)):
                return True
            continue
        return True
    return False


def records(value: Value) -> list[Record]:
    """The records in a value."""
    return [atom for atom in value if isinstance(atom, Record)]


def constant(value: Value) -> str | int | None:
    """The one constant that a value is, if it is one."""
    if len(value) == 1:
        (atom,) = value
        if isinstance(atom, Const):
            return atom.value
    return None


def opaque(value: Value) -> Value:
    """The value, with its records marked as taken by a way that cannot be followed."""
    return frozenset(replace(atom, opaque=True) if isinstance(atom, Record) else atom for atom in value)


def certain(value: Value) -> bool:
    """Whether a value is a published record on every path and in every run."""
    return bool(value) and all(
        isinstance(atom, Record) and atom.direct and not atom.copied and not atom.opaque and atom.guess is None
        for atom in value
    )
