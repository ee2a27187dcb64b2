"""The object that bind returns: its attributes are the implementations, so a call through it dispatches nothing.

It is a class, made for one plan, that nobody instantiates. On CPython 3.11 only an exact module or a class whose
metaclass is `type` keeps the interpreter's specialised attribute-and-call path: measured 1.02 of a direct call, a
slots instance 1.5, a module with `__getattr__` 1.8, a metaclass 1.5. A class can hold descriptors, so a name that is
not bound raises an error that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

from confbag.errors import ConfbagError

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding


class NotBoundError(ConfbagError, AttributeError):
    """An op was touched that this plan does not use, or that bind was told to leave out."""


class Ops(Protocol):
    """How a type checker sees bound ops: every attribute is a function with its contract's parameters.

    An op that declares layers is a tuple of such functions, one a layer, `ops.mix[3](x)`; or by name, where its layers
    have names, `ops.mix["mlp"](x)`. Two layers of one implementation hold one function.
    """

    def __getattr__(self, name: str, /) -> Any: ...


class Absent:
    """A name that is not bound; touching it raises. `hasattr` is False, for every such error is an AttributeError."""

    __slots__ = ("_error", "_message")

    def __init__(self, error: type[AttributeError], message: str) -> None:
        self._error = error
        self._message = message

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise self._error(self._message)


def assemble(
    functions: Mapping[str, Any], bindings: Mapping[str, tuple[Binding, ...]], absent: Mapping[str, Absent]
) -> Ops:
    """The ops object: by attribute a function, or what `by_layer` made of several; the bindings that each came from;
    and the names that raise."""
    rows = [f"{name}={'+'.join(str(each.provider) for each in bindings[name])}" for name in functions]
    body: dict[str, Any] = {name: held(function) for name, function in functions.items()}
    body.update(absent)
    body["__slots__"] = ()
    body["__module__"] = "confbag"
    body["__doc__"] = "\n".join(["The ops that the plan bound.", "", *(rows or ["none"])])
    body["__bindings__"] = MappingProxyType(dict(bindings))
    made = type("ops", (), body)
    made.__qualname__ = f"ops({', '.join(rows)})"
    return cast(Ops, made)


def by_layer(functions: Iterable[Callable[..., Any]], bindings: Iterable[Binding]) -> Any:
    """The functions of an op's parts by layer: a tuple where layers are numbered, else a read-only mapping of names."""
    found = {
        layer: function for function, binding in zip(functions, bindings, strict=True) for layer in binding.layers or ()
    }
    if all(name.isdecimal() for name in found):
        return tuple(found[name] for name in sorted(found, key=int))
    return MappingProxyType(found)


def held(function: Callable[..., Any]) -> Any:
    """The function as a class attribute that gives the function itself back."""
    # A Python function does by itself, and stays on the fast path; another callable may have a __get__ of its own.
    return (
        function if isinstance(function, FunctionType) or not hasattr(function, "__get__") else staticmethod(function)
    )


def bindings_of(ops: Ops) -> Mapping[str, tuple[Binding, ...]]:
    """Attribute -> the binding it came from, or those of its layers' parts, in the plan's order."""
    return cast("Mapping[str, tuple[Binding, ...]]", vars(cast(type, ops))["__bindings__"])
