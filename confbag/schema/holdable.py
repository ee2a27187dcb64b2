"""What the value of a key may be made of: what no reader can change, and `auto` only where a plan can see it."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import Counter, OrderedDict, abc, defaultdict, deque
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from confbag.errors import RegistrationError
from confbag.namespaces.fields import Namespace, OrAuto

_SEQUENCES = (list, deque, bytearray, abc.MutableSequence)
_MAPPINGS = (dict, defaultdict, OrderedDict, Counter, abc.MutableMapping)
_SETS = (set, abc.Set, abc.MutableSet)
_ONCE = (abc.Iterable, abc.Iterator, abc.Generator)
INSTEAD = (
    *((kind, "tuple[X, ...]") for kind in (*_SEQUENCES, *_ONCE)),
    *((kind, "Mapping[K, V], or tuples of pairs") for kind in _MAPPINGS),
    *((kind, "frozenset[X]") for kind in _SETS),
)
"""What could change under its readers, or can be read once, and what to write for it."""


class Part(NamedTuple):
    """A piece of an annotation: a type, a mark, or the value of a literal. inside: it is within something else, an
    element of a tuple or a field of a model that is a value."""

    piece: Any
    inside: bool


def parts(annotation: Any, *, inside: bool = False, within: tuple[Any, ...] = ()) -> Iterator[Part]:
    """Everything that an annotation is made of, the fields of models and dataclasses that are values included."""
    origin = get_origin(annotation)
    if origin is not None:
        yield Part(origin, inside)
        deeper = inside or origin not in (Annotated, Union, types.UnionType)
        for piece in get_args(annotation):
            if origin is Literal:
                yield Part(piece, deeper)
            else:
                yield from parts(piece, inside=deeper, within=within)
        return
    yield Part(annotation, inside)
    if has_fields(annotation) and annotation not in within:
        for below in _fields(annotation):
            yield from parts(below, inside=True, within=(*within, annotation))


def refuse(key: str, made_of: tuple[Part, ...]) -> None:
    """RegistrationError for what could change under its readers, or hides an `auto` from the plan that fills it."""
    for piece, inside in made_of:
        if isinstance(piece, OrAuto) and inside:
            raise RegistrationError(
                f"{key} has an `auto` inside its value, which no plan sees; only a field itself may be Auto[...]"
            )
        instead = next((write for kind, write in INSTEAD if piece is kind), None)
        if instead is not None:
            why = "can be read once" if piece in _ONCE else "could change under its readers"
            raise RegistrationError(f"{key} holds a {piece.__name__}, which {why}; write {instead}")
        if isinstance(piece, type) and issubclass(piece, BaseModel):
            no_namespace(key, piece)
        elif isinstance(piece, type) and dataclasses.is_dataclass(piece) and not _frozen(piece):
            raise RegistrationError(
                f"{key} holds a {piece.__name__}, a dataclass that could change under its readers; declare it with "
                "frozen=True"
            )


def no_namespace(key: str, model: type[BaseModel]) -> None:
    """RegistrationError for a pydantic model that is no Namespace."""
    if not issubclass(model, Namespace):
        raise RegistrationError(
            f"{key} holds a {model.__name__}, a pydantic model that is no Namespace, whose methods no process would "
            "read; derive it from confbag.Namespace"
        )


def has_fields(piece: Any) -> bool:
    """Whether a piece is a class whose fields are declared: a model, a dataclass, a TypedDict."""
    return isinstance(piece, type) and (
        issubclass(piece, BaseModel) or dataclasses.is_dataclass(piece) or typing.is_typeddict(piece)
    )


def _fields(piece: type[Any]) -> list[Any]:
    if issubclass(piece, BaseModel):
        return [whole(field) for field in piece.model_fields.values()]
    return list(typing.get_type_hints(piece, include_extras=True).values())


def whole(field: FieldInfo) -> Any:
    """A field's type, with its constraints and marks."""
    annotated: Any = Annotated
    pieces = (field.annotation, *field.metadata)
    return annotated[pieces] if field.metadata else field.annotation


def _frozen(piece: Any) -> bool:
    return bool(piece.__dataclass_params__.frozen)
