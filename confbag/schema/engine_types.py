"""What of an engine's annotations and values is plain data, and how a bag holds it."""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import BaseMetadata, GroupedMetadata
from pydantic import PydanticUserError, SecretStr, TypeAdapter, ValidationError

from confbag.words.secret import Secret

_PLAIN = (bool, int, float, str, type(None))
_SEQUENCES = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_TORCH = ("dtype", "device")
"""Types of torch that have a name, which is what is held of them."""


def plain_type(annotation: Any) -> Any:
    """The annotation of plain data that holds what another one allows; None where that is no plain data."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN or annotation is Any or origin is Literal:
        return annotation
    if annotation is None:
        return type(None)
    if origin in (Annotated, typing.Final) or str(origin) in ("typing.Required", "typing.NotRequired"):
        return plain_type(parts[0])
    if isinstance(annotation, typing.NewType):
        return plain_type(annotation.__supertype__)
    if type(annotation).__name__ == "TypeAliasType":
        return plain_type(annotation.__value__)
    if origin in (Union, types.UnionType):
        found = [plain_type(part) for part in parts]
        return None if None in found else union_of(found)
    if (origin or annotation) in _SEQUENCES:
        found = [plain_type(part) for part in parts if part is not Ellipsis] or [Any]
        fixed = origin is tuple and Ellipsis not in parts and bool(parts)
        inner = tuple(found) if fixed else (found[0], ...)
        return None if None in found else tuple.__class_getitem__(inner)
    if (origin or annotation) in _MAPPINGS:
        found = [plain_type(part) for part in (parts or (str, Any))]
        mapping: Any = Mapping
        return None if None in found else mapping[tuple(found)]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        values = tuple(plain_value(member) for member in annotation)
        return Literal[values] if values and all(type(one) in _PLAIN for one in values) else None
    if isinstance(annotation, type) and (issubclass(annotation, PurePath) or _of_torch(annotation)):
        return str
    if annotation in (Secret, SecretStr):
        return Secret
    return None


def plain_value(value: Any) -> Any:
    """An engine's value as a bag holds it. TypeError for what is no plain data."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, (str, int, float)):  # of a subclass
        return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if _of_torch(type(value)):
        return str(value).removeprefix("torch.")
    if isinstance(value, Mapping):
        return {plain_value(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain_value(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    raise TypeError


def fits(annotation: Any, value: Any) -> bool:
    """Whether plain data is what an annotation says, and a bag would hold it as it is: JSON makes texts of a mapping's
    keys, and one of two that are then alike would be lost."""
    try:
        held = TypeAdapter(annotation).validate_json(json.dumps(value), strict=True)
    except (ValidationError, ValueError):
        return False
    return _kept(value, plain_value(held))


def constrained(annotation: Any, marks: Iterable[Any], default: Any) -> Any:
    """The annotation with the constraints of a pydantic field, where they speak of such a type and of its default."""
    kept = tuple(mark for mark in marks if isinstance(mark, (BaseMetadata, GroupedMetadata)))
    if not kept:
        return annotation
    pieces = (annotation, *kept)
    narrowed: Any = Annotated
    narrowed = narrowed[pieces]
    try:
        TypeAdapter(narrowed)
    except (PydanticUserError, TypeError):
        return annotation
    return narrowed if default is ... or fits(narrowed, default) else annotation


def _kept(value: Any, held: Any) -> bool:
    if isinstance(value, Mapping) and isinstance(held, Mapping):
        keys = {(type(key), key) for key in value} == {(type(key), key) for key in held}
        return keys and all(_kept(item, held[key]) for key, item in value.items())
    if isinstance(value, list) and isinstance(held, list):
        return len(value) == len(held) and all(map(_kept, value, held))
    return bool(value == held) or value != value


def members(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of an annotation; itself where it has none."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _of_torch(kind: type[Any]) -> bool:
    return kind.__module__ == "torch" and kind.__name__ in _TORCH


def union_of(alternatives: Iterable[Any]) -> Any:
    """An annotation of alternatives."""
    union: Any = Union
    return union[tuple(alternatives)]


def said(annotation: Any) -> str:
    """An annotation in the engine's own words."""
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
