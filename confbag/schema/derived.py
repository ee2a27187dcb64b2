"""A schema made from the settings that an engine has already: a dataclass, or a pydantic model, nested ones included.

Nothing is copied out of it: field by field, the annotation and the default are read, and what is no plain data is left
out and listed. What was read stays the engine's; `Bag.of` reads its values.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from pathlib import PurePath
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Field, SecretStr, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo

from confbag.errors import RegistrationError
from confbag.namespaces.fields import Namespace
from confbag.schema.config import Config
from confbag.schema.leaves import leaves
from confbag.words.given import expect
from confbag.words.secret import Secret
from confbag.words.suggest import nearest

_PLAIN = (bool, int, float, str, type(None))
_SEQUENCES = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_TORCH = ("dtype", "device")
"""Types of torch that have a name, which is what is held of them."""
_SECRET = re.compile(
    r"(api|access|auth|admin|private|secret)_?key|passw|secret|credential|(api|auth|access|hf|bearer)_?token"
)
_TAKEN = frozenset(name for name in dir(BaseModel) if not name.startswith("_"))


@dataclasses.dataclass(frozen=True)
class Derived:
    """Where a schema comes from.

    cls: the engine's own class.
    name: the namespace that holds its fields.
    record: the kind of record that it is, whose fields answer to keys of ours.
    answers: its fields, dotted where they are nested, that answer to keys of ours.
    fields: key -> how it is read of an object: the names to follow.
    left_out: dotted field -> why no key answers to it.
    """

    cls: type[Any]
    name: str
    record: str | None
    answers: Mapping[str, str]
    fields: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, str]


def schema_from(
    cls: type[Any],
    *,
    name: str | None = None,
    record: str | None = None,
    answers: Mapping[str, str] | None = None,
    leave_out: collections.abc.Collection[str] = (),
) -> type[Config]:
    """A schema with the fields of a dataclass or a pydantic model, for `Bag.of`.

    cls: the class; fields that are such classes themselves become namespaces within.
    name: of the namespace; None is the class's, `server_args` for ServerArgs.
    record: the kind of record that it is ("sglang", "vllm"): what its fields say of our keys is read too.
    answers: field -> the key of ours that it answers to, such as `{"parallel_config.tp": "parallel.tp_size"}`.
    leave_out: fields that no key shall answer to.

    An enum is held by its value, a path and a torch.dtype as text, and what is named like a secret is one. A name that
    pydantic keeps for itself has an underscore after it, `model_config_`. `"auto"` is a value like any other. Fields of
    other types, private ones, and those whose default is not of their own type are left out, and `bag.ignored` lists
    them.

    Raises RegistrationError for a class of another kind, and for a name that is there already.
    """
    fields = _fields_of(cls)
    if fields is None:
        what = cls.__qualname__ if isinstance(cls, type) else f"a {type(cls).__name__}"
        raise RegistrationError(f"schema_from takes a dataclass or a pydantic model, not {what}")
    for argument, value, kind, write in (
        ("name", name, str, "'server'"),
        ("record", record, str, "'sglang'"),
        ("answers", answers, Mapping, "{'tp': 'parallel.tp_size'}"),
    ):
        if value is not None:
            takes = "a text" if kind is str else "a mapping of fields to keys"
            expect(value, kind, f"schema_from({argument}=...)", takes, f"{argument}={write}")
    if isinstance(leave_out, str):
        leave_out = (leave_out,)
    called = name or _snake(cls.__name__)
    if not called.isidentifier() or called in Config.model_fields or called in _TAKEN:
        raise RegistrationError(f"schema_from: a namespace cannot be called {called!r}; write another with name=")
    walk = _Walk({called: ()}, {}, frozenset(leave_out))
    namespace = walk.namespace(cls, called, (), optional=False, above=())
    unknown = [path for path in (*leave_out, *(answers or {})) if path not in walk.seen]
    if unknown:
        hint = nearest(unknown[0], walk.seen)
        raise RegistrationError(
            f"schema_from: {cls.__qualname__} has no field {unknown[0]!r}" + (f"; did you mean {hint}?" if hint else "")
        )
    for path, key in (answers or {}).items():
        if key not in leaves():
            hint = nearest(key, leaves())
            raise RegistrationError(
                f"schema_from: {path} answers to no key {key!r}" + (f"; did you mean {hint}?" if hint else "")
            )
    del walk.paths[called]
    origin = Derived(
        cls,
        called,
        record,
        MappingProxyType(dict(answers or {})),
        MappingProxyType(walk.paths),
        MappingProxyType(walk.left_out),
    )
    made = types.new_class(
        f"{cls.__name__}Schema",
        (Config,),
        exec_body=lambda body: body.update(
            {
                "__module__": cls.__module__,
                "__qualname__": f"{cls.__qualname__}Schema",
                "__doc__": f"The settings of {cls.__qualname__}, beside confbag's own.",
                "__annotations__": {called: namespace, "derived": ClassVar[Derived]},
                called: Field(default_factory=namespace),
                "derived": origin,
            }
        ),
    )
    return typing.cast("type[Config]", made)


class _Field(NamedTuple):
    """A field of an engine's class: its annotation, whether it has a default, and how that is made."""

    annotation: Any
    has_default: bool
    default: Callable[[], Any]


@dataclasses.dataclass
class _Walk:
    """One walk over a class: key -> names to follow, dotted field -> why it is left out, and every field seen."""

    paths: dict[str, tuple[str, ...]]
    left_out: dict[str, str]
    leave_out: frozenset[str]
    seen: dict[str, None] = dataclasses.field(default_factory=dict)

    def namespace(
        self, cls: type[Any], key: str, path: tuple[str, ...], *, optional: bool, above: tuple[type[Any], ...]
    ) -> type[Namespace]:
        """The namespace of a class at a key. optional: nothing may stand in its place, and then every field is None."""
        made: dict[str, Any] = {}
        for name, field in (_fields_of(cls) or {}).items():
            dotted = ".".join((*path, name))
            self.seen[dotted] = None
            own = f"{name}_" if name in _TAKEN else name
            why = self.refused(name, dotted)
            nested, absent = _nested(field.annotation)
            if why is None and nested is not None:
                if nested in (cls, *above):
                    why = f"{nested.__qualname__} holds itself"
                else:
                    inner = self.namespace(
                        nested, f"{key}.{own}", (*path, name), optional=optional or absent, above=(*above, cls)
                    )
                    made[own] = (inner, Field(default_factory=inner))
                    continue
            if why is None:
                found = self.leaf(name, field, optional=optional)
                if isinstance(found, str):
                    why = found
                else:
                    made[own] = found
                    self.paths[f"{key}.{own}"] = (*path, name)
                    continue
            self.left_out[dotted] = why
        return create_model(cls.__name__, __base__=Namespace, __module__=cls.__module__, __doc__=cls.__doc__, **made)

    def refused(self, name: str, dotted: str) -> str | None:
        if dotted in self.leave_out:
            return "the schema leaves it out"
        if name.startswith("_"):
            return "it is private"
        return None

    def leaf(self, name: str, field: _Field, *, optional: bool) -> tuple[Any, Any] | str:
        """The annotation and default of a field's key; or why it has none."""
        annotation: Any = plain_type(field.annotation)
        if annotation is None:
            return f"{_said(field.annotation)} is no plain data"
        default: Any = None if optional else ...
        if field.has_default and not optional:
            try:
                default = plain_value(field.default())
            except TypeError:
                return "its default is no plain data"
            if default is not None and not fits(annotation, default):
                return f"its default is not what {_said(field.annotation)} says"
        if default is None:
            annotation = _union((annotation, None))
        if str in _members(annotation) and _SECRET.search(name):
            annotation = _union(Secret if part is str else part for part in _members(annotation))
        return annotation, default


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
        members = [plain_type(part) for part in parts]
        return None if None in members else _union(members)
    if (origin or annotation) in _SEQUENCES:
        members = [plain_type(part) for part in parts if part is not Ellipsis] or [Any]
        fixed = origin is tuple and Ellipsis not in parts and bool(parts)
        inner = tuple(members) if fixed else (members[0], ...)
        return None if None in members else tuple.__class_getitem__(inner)
    if (origin or annotation) in _MAPPINGS:
        members = [plain_type(part) for part in (parts or (str, Any))]
        mapping: Any = Mapping
        return None if None in members else mapping[tuple(members)]
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
    """Whether plain data is what an annotation says."""
    import json

    try:
        TypeAdapter(annotation).validate_json(json.dumps(value), strict=True)
    except (ValidationError, ValueError):
        return False
    return True


def _fields_of(cls: Any) -> dict[str, _Field] | None:
    """The fields of a dataclass or a pydantic model, in order; None for anything else."""
    if not isinstance(cls, type):
        return None
    if issubclass(cls, BaseModel):
        return {name: _of_pydantic(field) for name, field in cls.model_fields.items()}
    if dataclasses.is_dataclass(cls):
        return dict(_of_dataclass(cls))
    return None


def _of_pydantic(field: FieldInfo) -> _Field:
    return _Field(
        field.annotation,
        not field.is_required(),
        lambda: field.get_default(call_default_factory=True, validated_data={}),
    )


def _of_dataclass(cls: type[Any]) -> Iterator[tuple[str, _Field]]:
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
        elif factory is not dataclasses.MISSING:
            yield field.name, _Field(hints[field.name], True, factory)
        else:
            has = default is not dataclasses.MISSING
            yield field.name, _Field(hints[field.name], has, partial(_same, default))


def _nested(annotation: Any) -> tuple[type[Any] | None, bool]:
    """The class of a field that holds settings of its own, and whether nothing may stand in its place."""
    parts = [part for part in _members(annotation) if part is not type(None)]
    if len(parts) == 1 and _fields_of(parts[0]) is not None:
        return parts[0], len(_members(annotation)) > 1
    return None, False


def _members(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _of_torch(kind: type[Any]) -> bool:
    return kind.__module__ == "torch" and kind.__name__ in _TORCH


def _union(members: collections.abc.Iterable[Any]) -> Any:
    union: Any = Union
    return union[tuple(members)]


def _same(value: Any) -> Any:
    return value


def _said(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
