"""What a process reads: plain slotted objects made from the pydantic models, one class for each and for its holes.

A field that is still `auto` is a hole: reading it raises. A class with holes has a property in the place of each, and
slots for the rest, so that every other read costs what it costs without holes; `__getattr__` would make all slower.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from confbag.errors import UnresolvedError
from confbag.namespaces.bodies import kept
from confbag.namespaces.fields import MODEL, Namespace
from confbag.schema.leaves import may_be_auto, model_of
from confbag.words.provenance import AUTO
from confbag.words.table import immutable

M = TypeVar("M", bound=BaseModel)

_PLACE = "_place"


def freeze(model: M, place: str = "") -> M:
    """The object that holds a model's values, typed as the model. place: its dotted name; empty for a whole Config."""
    prefix = f"{place}." if place else ""
    values = {
        name: freeze(value, f"{prefix}{name}") if model_of(type(model).model_fields[name]) else _fixed(value)
        for name, value in _held(model).items()
    }
    return cast("M", restore(type(model), place, values))


def restore(model: type[BaseModel], place: str, values: Mapping[str, Any]) -> Any:
    """The object of a model's class that holds these values, the fields without one being holes.

    Unpickling and deep copies come through here: a class that is generated cannot be found by its name, its model can.
    """
    holes = frozenset(model.model_fields) - frozenset(values)
    made = object.__new__(frozen_class(model, holes))
    for name, value in values.items():
        object.__setattr__(made, name, value)
    object.__setattr__(made, _PLACE, place)
    return made


@functools.cache
def frozen_class(model: type[BaseModel], holes: frozenset[str] = frozenset()) -> type[Any]:
    """The class of a model's objects: of the same name, with its fields, and what else its body holds."""
    body: dict[str, Any] = {
        **kept(model, Namespace),
        **{name: _hole(name) for name in holes},
        "__slots__": (*(name for name in model.model_fields if name not in holes), _PLACE),
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        MODEL: model,
        "__setattr__": _unchangeable,
        "__delattr__": _unchangeable,
        "__eq__": _same,
        "__hash__": _hash,
        "__reduce__": _reduce,
    }
    body.setdefault("__repr__", _show)
    return type(model.__name__, (), body)


def _held(model: BaseModel) -> dict[str, Any]:
    """The model's values by name, those that are still auto left out."""
    undecided = may_be_auto(type(model))
    values = ((name, getattr(model, name)) for name in type(model).model_fields)
    return {name: value for name, value in values if name not in undecided or value != AUTO}


def _fixed(value: Any) -> Any:
    """A value as no reader can change it: of what annotations allow, pydantic makes mappings of a kind that can."""
    return immutable(value) if isinstance(value, (dict, list)) else value


def _hole(name: str) -> property:
    def unresolved(frozen: Any) -> Any:
        key = f"{frozen._place}.{name}"
        raise UnresolvedError(
            f"{key} is still auto: a plan fills it, so read it of make_plan(bag).bag, or set it; "
            f'bag["{key}"] shows what it holds'
        )

    return property(unresolved)


def _values(frozen: Any) -> dict[str, Any]:
    return {name: getattr(frozen, name) for name in type(frozen).__slots__ if name != _PLACE}


def _unchangeable(frozen: Any, name: str, *value: Any) -> None:
    raise AttributeError(
        f"{type(frozen).__name__}.{name} cannot be changed; bag.override(source, {{key: value}}) makes another bag"
    )


def _reduce(frozen: Any) -> tuple[Any, ...]:
    return restore, (getattr(frozen, MODEL), frozen._place, _values(frozen))


def _same(frozen: Any, other: object) -> Any:
    if getattr(type(other), MODEL, None) is not getattr(frozen, MODEL):
        return NotImplemented
    return _values(frozen) == _values(other)


def _hash(frozen: Any) -> int:
    return hash((getattr(frozen, MODEL), *_values(frozen).items()))


def _show(frozen: Any) -> str:
    values = _values(frozen)
    fields = ", ".join(f"{name}={values.get(name, AUTO)!r}" for name in getattr(frozen, MODEL).model_fields)
    return f"{type(frozen).__name__}({fields})"
