"""The object that bind returns: its attributes are the implementations, so a call through it dispatches nothing.

It is a class, made for one plan, that nobody instantiates. On CPython 3.11 only an exact module or a class whose
metaclass is `type` keeps the interpreter's specialised attribute-and-call path: measured 1.02 of a direct call, a
slots instance 1.5, a module with `__getattr__` 1.8, a metaclass 1.5. A class can hold descriptors, so a name that is
not bound raises an error that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

from confbag.backends.words.place import Parts, parts
from confbag.errors import ConfbagError
from confbag.words.suggest import nearest
from confbag.words.text import listed

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding

Chain = tuple[tuple[int | None, Callable[..., Any]], ...]
"""Functions with the most of the op's measure that each takes, ascending; None is without bound."""


class NotBoundError(ConfbagError, AttributeError):
    """An op was touched that this plan does not use, or that bind was told to leave out."""


class Ops(Protocol):
    """How a type checker sees bound ops: every attribute is a function with its contract's parameters.

    `ops[op, site, regime]` is a slot by its whole name; site and regime are left out where the op has none. A slot of
    an op with a measure is an ordered tuple of (bound, function), of which the engine takes the first whose bound is
    enough. As an attribute, an op that declares sites is a tuple of what each site runs, `ops.mix[3](x)`, or a mapping
    where its sites have names, `ops.mix["mlp"](x)`; two sites of one implementation hold one function.
    """

    def __getattr__(self, name: str, /) -> Any: ...

    def __getitem__(self, slot: str | tuple[str | int | None, ...], /) -> Any: ...


class Absent:
    """A name that is not bound; touching it raises. `hasattr` is False, for every such error is an AttributeError."""

    __slots__ = ("_error", "_message")

    def __init__(self, error: type[AttributeError], message: str) -> None:
        self._error = error
        self._message = message

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise self._error(self._message)


def assemble(
    attributes: Mapping[str, Any],
    slots: Mapping[Parts, Any],
    bindings: Mapping[str, tuple[Binding, ...]],
    absent: Mapping[str, Absent],
) -> Ops:
    """The ops object: what each attribute holds, and each slot by its whole name; the bindings that each attribute came
    from; and the names that raise."""
    rows = [f"{name}={'+'.join(str(each.provider) for each in bindings[name])}" for name in attributes]
    body: dict[str, Any] = {name: _held(value) for name, value in attributes.items()}
    body.update(absent)
    body["__slots__"] = ()
    body["__module__"] = "confbag"
    body["__doc__"] = "\n".join(["The ops that the plan bound.", "", *(rows or ["none"])])
    body["__bindings__"] = MappingProxyType(dict(bindings))
    body["__class_getitem__"] = classmethod(_by_slot(slots))
    made = type("ops", (), body)
    made.__qualname__ = f"ops({', '.join(rows)})"
    return cast(Ops, made)


def _by_slot(slots: Mapping[Parts, Any]) -> Callable[[type, Any], Any]:
    def get(ops: type, slot: Any) -> Any:
        try:
            return slots[slot]  # named whole, as an engine does that asks often
        except (KeyError, TypeError):
            key = parts(slot, "ops")
        if key not in slots:
            raise NotBoundError(_unknown(key, slots))
        return slots[key]

    return get


def _unknown(key: Parts, slots: Mapping[Parts, Any]) -> str:
    op, site, regime = key
    sites = [name for name in dict.fromkeys(each[1] for each in slots if each[0] == op) if name is not None]
    regimes = [name for name in dict.fromkeys(each[2] for each in slots if each[0] == op) if name is not None]
    if not any(each[0] == op for each in slots):
        near = nearest(str(op), {each[0] for each in slots})
        return f"ops[{op!r}]: nothing of that name is bound; " + (f"did you mean {near}?" if near else "see __doc__")
    if (site is None) is bool(sites) or (site is not None and site not in sites):
        return f"ops[{op!r}, {site!r}]: {f'its sites are {listed(sites)}' if sites else 'it has no sites; write None'}"
    known = f"its regimes are {listed(regimes)}" if regimes else "it has no regimes; leave it out"
    return f"ops[{op!r}, {site!r}, {regime!r}]: {known}"


def by_site(values: Mapping[str, Any]) -> Any:
    """What each site runs: a tuple where sites are numbered, else a read-only mapping of names."""
    if all(name.isdecimal() for name in values):
        return tuple(values[name] for name in sorted(values, key=int))
    return MappingProxyType(dict(values))


def _held(value: Any) -> Any:
    """A class attribute that gives the value itself back."""
    # A Python function does by itself, and stays on the fast path; another callable may have a __get__ of its own.
    return value if isinstance(value, FunctionType) or not hasattr(value, "__get__") else staticmethod(value)


def bindings_of(ops: Ops) -> Mapping[str, tuple[Binding, ...]]:
    """Attribute -> the binding it came from, or those of its sites' parts, in the plan's order."""
    return cast("Mapping[str, tuple[Binding, ...]]", vars(cast(type, ops))["__bindings__"])
