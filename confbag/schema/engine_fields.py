"""The fields of an engine's own classes, dataclasses and pydantic models alike, with their defaults."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from confbag.errors import RegistrationError
from confbag.schema.engine_types import members

MISSING: Any = dataclasses.MISSING
"""In the place of a default where there is none."""


class EngineField(NamedTuple):
    """A field: its annotation, its constraints, and what makes its default."""

    annotation: Any
    marks: tuple[Any, ...] = ()
    factory: Callable[[], Any] | None = None

    def default(self) -> Any:
        """The default; MISSING without one. What an engine's factory raises is raised."""
        return MISSING if self.factory is None else self.factory()


def fields_of(cls: Any) -> dict[str, EngineField] | None:
    """The fields of a dataclass or a pydantic model, in order; None for anything else. RegistrationError for
    annotations that cannot be read."""
    if not isinstance(cls, type):
        return None
    if issubclass(cls, BaseModel):
        return {name: _of_pydantic(field) for name, field in cls.model_fields.items()}
    return dict(_of_dataclass(cls)) if dataclasses.is_dataclass(cls) else None


def nested(annotation: Any) -> tuple[type[Any] | None, bool]:
    """The class of a field that holds settings of its own, and whether nothing may stand in its place."""
    parts = [part for part in members(annotation) if part is not type(None)]
    if len(parts) == 1 and fields_of(parts[0]) is not None:
        return parts[0], len(members(annotation)) > 1
    return None, False


def unknown(cls: type[Any], held: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """What an object holds beyond the fields of the class that a schema was made from, dotted, with the reason."""
    known = fields_of(cls) or {}
    extra = getattr(held, "model_extra", None) or {}
    for name in dict.fromkeys((*(fields_of(type(held)) or {}), *extra)):
        if name not in known:
            yield ".".join((*path, name)), f"{cls.__qualname__} has no such field, of which the schema was made"
    for name, field in known.items():
        inner = nested(field.annotation)[0]
        value = getattr(held, name, None)
        if inner is not None and isinstance(value, inner):
            yield from unknown(inner, value, (*path, name))


def _of_pydantic(field: FieldInfo) -> EngineField:
    marks = tuple(field.metadata)
    # One that is made of other fields is known of an object alone.
    if field.is_required() or getattr(field, "default_factory_takes_validated_data", False):
        return EngineField(field.annotation, marks)
    return EngineField(field.annotation, marks, partial(field.get_default, call_default_factory=True))


def _of_dataclass(cls: type[Any]) -> Iterator[tuple[str, EngineField]]:
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception as error:  # an engine's annotations may name what only a type checker imports
        raise RegistrationError(
            f"schema_from: the annotations of {cls.__qualname__} cannot be read: {type(error).__name__}: {error}"
        ) from error
    for field in dataclasses.fields(cls):
        default: Any = field.default
        factory: Any = field.default_factory
        if isinstance(default, FieldInfo):  # of a pydantic dataclass
            yield field.name, _of_pydantic(default)._replace(annotation=hints[field.name])
        elif factory is not MISSING:
            yield field.name, EngineField(hints[field.name], (), factory)
        else:
            made = None if default is MISSING else partial(_same, default)
            yield field.name, EngineField(hints[field.name], (), made)


def _same(value: Any) -> Any:
    return value
