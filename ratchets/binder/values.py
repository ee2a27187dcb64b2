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
    """The record's class, or a subclass of it by its key."""

    spec: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a type that is no class: what an annotation by it promises."""

    promise: Value


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something imported, by its dotted path; calls on the way are written `()`, `taken` went into the last one."""

    path: str
    taken: frozenset[Record] = frozenset()


@dataclass(frozen=True, slots=True)
class Of:
    """An instance of an imported class that is not known further, with the records that it was made of."""

    path: str
    taken: frozenset[Record] = frozenset()


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
class Awaiting:
    """A coroutine or a future: what awaiting it gives."""

    value: Value


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
    Plain | Const | Record | Accessor | Type | Alias | Symbol | Of | Builtin | Function | Class | Instance | Parent
    | Property | Box | Partial | Awaiting | Getter | Fields | Method | Parameter | Namespace
)  # fmt: skip

NOTHING: Value = frozenset()
UNKNOWN: Value = frozenset({Plain("unknown")})
OTHER: Value = frozenset({Plain("other")})
NONE: Value = frozenset({Plain("none")})
ABSENT = Plain("absent")

_DULL = (Plain, Const, Symbol, Of, Builtin, Parameter, Getter, Namespace)
_LIMIT = 24
_DEPTH = 4
_MOST = 64


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


def merged(value: Value) -> Value:
    """The value, with its containers of one kind as one that may hold what any of them holds."""
    boxes = [atom for atom in value if isinstance(atom, Box)]
    if len(boxes) < 2:
        return value
    others: set[Atom] = {atom for atom in value if not isinstance(atom, Box)}
    for mapping in (False, True):
        alike = [one for one in boxes if one.mapping is mapping]
        if len(alike) < 2:
            others.update(alike)
            continue
        items: dict[str | int, Value] = {}
        for one in sorted(alike, key=lambda one: [str(key) for key, _ in one.items]):
            for key, held in one.items:
                items[key] = join([items.get(key, NOTHING), held])
        order = sorted(items.items(), key=lambda item: item[0] if isinstance(item[0], int) else 1 << 30)
        rest = join(one.rest for one in alike)
        if len(order) > _MOST:
            order, rest = [], join([*items.values(), rest])
        others.add(Box(mapping, tuple(order), rest))
    return frozenset(others)


def contents(value: Value) -> Value:
    """What iterating over the containers of a value gives."""
    return join(content(atom) for atom in value if isinstance(atom, Box)) or UNKNOWN


def depth(value: Value) -> int:
    """How deep containers nest in a value."""
    deepest = 0
    for atom in value:
        if isinstance(atom, Box):
            deepest = max(deepest, 1 + depth(content(atom)))
        elif isinstance(atom, Partial):
            deepest = max(deepest, 1 + max((depth(part) for part in (atom.function, *atom.args)), default=0))
        elif isinstance(atom, Awaiting):
            deepest = max(deepest, 1 + depth(atom.value))
        elif isinstance(atom, Function) and atom.receiver is not None:
            deepest = max(deepest, 1 + depth(atom.receiver))
    return deepest


def box(mapping: bool, items: Iterable[tuple[str | int, Value]], rest: Value = NOTHING) -> Value:
    """A container, or a plain value where nothing in it can matter."""
    kept = tuple(items)
    inside = join([*(value for _, value in kept), rest])
    if not carries(inside) and not (len(kept) <= 8 and _constant(inside)):
        return OTHER
    if depth(inside) >= _DEPTH:
        return UNKNOWN
    if len(kept) > _MOST:
        return frozenset({_large(mapping, kept, rest)})
    return frozenset({Box(mapping, kept, rest)})


def _large(mapping: bool, items: tuple[tuple[str | int, Value], ...], rest: Value) -> Box:
    """A container of many values: those that can matter by their keys, and how many there are of a sequence."""
    kept = tuple(item for item in items if interesting(item[1]))
    if len(kept) > _MOST:
        return Box(mapping, (), join([*(value for _, value in kept), rest]))
    return Box(mapping, kept if mapping or kept[-1:] == items[-1:] else (*kept, (items[-1][0], UNKNOWN)), rest)


def length(one: Box) -> int:
    """How many values a sequence has, as far as they have places."""
    return 1 + max((key for key, _ in one.items if isinstance(key, int)), default=-1)


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
        if isinstance(atom, Alias):
            if interesting(atom.promise):
                return True
            continue
        return True
    return False


def carries(value: Value) -> bool:
    """Whether a value can lead to a record, or could if a caller gave one."""
    for atom in value:
        if isinstance(atom, Box):
            if carries(content(atom)):
                return True
        elif isinstance(atom, Parameter) or not isinstance(atom, _DULL):
            return True
    return False


def is_something_else(atom: Atom) -> bool:
    """Whether an atom is known, and no record."""
    if isinstance(atom, Plain):
        return atom.kind in ("other", "none")
    return not isinstance(atom, (Parameter, Record, Symbol))


def says_nothing(value: Value) -> bool:
    """Whether a value leaves it to an annotation or a class to say what it is."""
    return all(atom in UNKNOWN or atom in NONE or isinstance(atom, (Parameter, Symbol)) for atom in value)


def awaiting(value: Value) -> Value:
    """What a call of a coroutine function gives, where what it returns can matter."""
    if not carries(value):
        return value
    return UNKNOWN if depth(value) >= _DEPTH else frozenset({Awaiting(value)})


def awaited(value: Value) -> Value:
    """What awaiting a value gives."""
    if not any(isinstance(atom, Awaiting) for atom in value):
        return value
    return join(atom.value if isinstance(atom, Awaiting) else frozenset({atom}) for atom in value)


def records(value: Value) -> list[Record]:
    """The records in a value."""
    return [atom for atom in value if isinstance(atom, Record)]


def in_order(value: Value) -> Iterable[Atom]:
    """The atoms of a value, in an order that is the same in every run."""
    return value if len(value) < 2 else sorted(value, key=repr)


def constant(value: Value) -> str | int | None:
    """The one constant that a value is, if it is one."""
    if len(value) == 1:
        (atom,) = value
        if isinstance(atom, Const):
            return atom.value
    return None


def text_of(value: Value) -> str | None:
    """The one text that a value is."""
    found = constant(value)
    return found if isinstance(found, str) else None


def opaque(value: Value) -> Value:
    """The value, with its records marked as taken by a way that cannot be followed."""
    return frozenset(replace(atom, opaque=True) if isinstance(atom, Record) else atom for atom in value)


def unsure(value: Value) -> Value:
    """What comes out of a container: whoever else has it may have put something else there."""
    return value | OTHER if any(isinstance(atom, Record) for atom in value) else value


def certain(value: Value) -> bool:
    """Whether a value is a published record on every path and in every run."""
    return bool(value) and all(
        isinstance(atom, Record) and atom.direct and not atom.copied and not atom.opaque and atom.guess is None
        for atom in value
    )
