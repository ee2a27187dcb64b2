"""What a process reads: frozen slotted objects generated from the pydantic models, one class for each."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, TypeVar, cast

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)


def freeze(model: M) -> M:
    """The frozen object that holds a model's values. Typed as the model: a type checker sees every field of it."""
    values = [getattr(model, name) for name in type(model).model_fields]
    return cast(
        M, frozen_class(type(model))(*[freeze(value) if isinstance(value, BaseModel) else value for value in values])
    )


@functools.cache
def frozen_class(model: type[BaseModel]) -> type[Any]:
    """The class of a model's frozen objects: a slotted dataclass of the same name and fields, in this module."""
    generated = dataclasses.make_dataclass(
        model.__name__,
        [(name, field.annotation) for name, field in model.model_fields.items()],
        frozen=True,
        slots=True,
        repr=False,
        eq=False,
        namespace={
            "__doc__": model.__doc__,
            "__eq__": _same,
            "__hash__": _hash,
            "__reduce__": functools.partialmethod(_reduce, model),
            "__repr__": _show,
        },
    )
    generated.__module__ = __name__
    return generated


def restore(model: type[BaseModel], values: tuple[Any, ...]) -> Any:
    """Unpickling and deep copies come through here: a class that is generated cannot be found by its name, its model
    can."""
    return frozen_class(model)(*values)


def _values(frozen: Any) -> tuple[Any, ...]:
    return tuple([getattr(frozen, name) for name in type(frozen).__slots__])


def _reduce(frozen: Any, model: type[BaseModel]) -> tuple[Any, ...]:
    return restore, (model, _values(frozen))


def _same(frozen: Any, other: object) -> Any:
    if type(frozen) is not type(other):
        return NotImplemented
    return _values(frozen) == _values(other)


def _hash(frozen: Any) -> int:
    return hash((type(frozen), _values(frozen)))


def _show(frozen: Any) -> str:
    fields = ", ".join(f"{name}={getattr(frozen, name)!r}" for name in type(frozen).__slots__)
    return f"{type(frozen).__name__}({fields})"
