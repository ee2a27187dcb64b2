"""The keys of a schema: every leaf with its type and default, the namespaces above them, the retired ones."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, PlainSerializer
from pydantic.fields import FieldInfo

from confbag.errors import RegistrationError
from confbag.namespaces.fields import Covers, Merged, OrAuto
from confbag.schema.config import Config
from confbag.schema.holdable import no_namespace, parts, refuse, whole
from confbag.words.plain import finite
from confbag.words.secret import Secret


class Leaf(NamedTuple):
    """One key that can be set: a field that is not itself a namespace.

    key: dotted.
    annotation: the whole type, with its constraints.
    default: what it is when nobody sets it; None where it is required.
    auto: whether a plan may decide it.
    secret: whether it holds secrets.
    fingerprint: whether it counts in one; `json_schema_extra={"fingerprint": False}` opts out.
    description: for editors and `confbag why`.
    required: no default exists.
    given: the namespace's default instance says another default than the field.
    lock: whether a lock file may hold it; a path or a host opts out by `json_schema_extra={"lock": False}`.
    covers: the keys for which it speaks where none of them was set as high.
    merged: whether its mappings merge by entry over the layers.
    serializer: makes what is held what a file says; None where they are one.
    """

    key: str
    annotation: Any
    default: Any
    auto: bool
    secret: bool
    fingerprint: bool
    description: str
    required: bool = False
    given: bool = False
    lock: bool = True
    covers: tuple[str, ...] = ()
    merged: bool = False
    serializer: Callable[[Any], Any] | None = None

    def written(self, value: Any) -> Any:
        """A value of this key as plain data, as a file would say it: a pin, which is held as pairs, is a mapping."""
        # Only what is held has the serializer's form; a source may have given another.
        held = self.serializer is not None and isinstance(value, tuple)
        return finite(self.serializer(value) if held and self.serializer is not None else value)


@functools.cache
def leaves(schema: type[Config] = Config) -> Mapping[str, Leaf]:
    """Every key of a schema, in the order of declaration: dotted key -> Leaf. RegistrationError for a schema that
    cannot be a bag."""
    found = {leaf.key: leaf for leaf in _walk(schema, "", None)}
    for leaf in found.values():
        for exact in leaf.covers:
            if exact not in found or not found[exact].auto:
                raise RegistrationError(f"{leaf.key} covers {exact}, which is no field that may be auto")
    return MappingProxyType(found)


@functools.cache
def namespaces(schema: type[Config] = Config) -> tuple[str, ...]:
    """The dotted names of every namespace, nested ones included: exec, exec.attention, ..."""
    return tuple(dict.fromkeys(key[:at] for key in leaves(schema) for at, letter in enumerate(key) if letter == "."))


@functools.cache
def may_be_auto(model: type[BaseModel]) -> frozenset[str]:
    """The fields of one model that a plan may decide, `Auto[...]` ones."""
    marks = {name: [part.piece for part in parts(whole(field))] for name, field in model.model_fields.items()}
    return frozenset(name for name, pieces in marks.items() if _is_auto(pieces))


def retired(schema: type[Config] = Config) -> Mapping[str, str]:
    """Old key of an engine's schema -> the key that replaces it."""
    return schema.retired


def model_of(field: FieldInfo) -> type[BaseModel] | None:
    """The pydantic model of a field that is a namespace; None for a leaf."""
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _walk(model: type[BaseModel], prefix: str, instance: BaseModel | None) -> Iterator[Leaf]:
    for name, field in model.model_fields.items():
        key = prefix + name
        nested = model_of(field)
        if nested is not None:
            no_namespace(key, nested)
            yield from _walk(nested, f"{key}.", _instance(field, nested, name, instance))
            continue
        if not prefix:
            raise RegistrationError(
                f"{model.__qualname__}.{name} is a value beside the namespaces; put it into a namespace"
            )
        yield _leaf(key, name, field, instance)


def _instance(field: FieldInfo, nested: type[BaseModel], name: str, instance: BaseModel | None) -> BaseModel | None:
    """The default instance of a namespace, where it may say other defaults than the namespace's fields do."""
    if instance is not None:
        value = getattr(instance, name)
        return value if isinstance(value, BaseModel) else None
    if field.is_required() or field.default_factory is nested:
        return None
    value = field.get_default(call_default_factory=True, validated_data={})
    return value if isinstance(value, BaseModel) else None


def _leaf(key: str, name: str, field: FieldInfo, instance: BaseModel | None) -> Leaf:
    annotation = whole(field)
    made_of = tuple(parts(annotation))
    refuse(key, made_of)
    marks = [part.piece for part in made_of if not part.inside]
    secret = any(part.piece is Secret for part in made_of)
    if getattr(field, "default_factory_takes_validated_data", False):
        raise RegistrationError(
            f"{key} has a default that is made of other fields, which a source may set later; leave it null or auto, "
            "and let a rule of the engine fill it"
        )
    required = field.is_required() and instance is None
    default = None if required else field.get_default(call_default_factory=True, validated_data={})
    given = instance is not None and (field.is_required() or getattr(instance, name) != default)
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, Mapping) else {}
    return Leaf(
        key=key,
        annotation=annotation,
        default=getattr(instance, name) if given else default,
        auto=_is_auto(marks),
        secret=secret,
        fingerprint=extra.get("fingerprint", True) is not False and not secret,
        description=field.description or "",
        required=required,
        given=given,
        lock=extra.get("lock", True) is not False,
        covers=tuple(
            f"{key[: -len(name)]}{exact}" for mark in marks if isinstance(mark, Covers) for exact in mark.fields
        ),
        merged=any(isinstance(mark, Merged) for mark in marks),
        serializer=_serializer(field),
    )


def _is_auto(marks: Iterable[Any]) -> bool:
    return any(isinstance(mark, OrAuto) for mark in marks)


def _serializer(field: FieldInfo) -> Callable[[Any], Any] | None:
    """The function of a field's PlainSerializer, which takes the value alone."""
    found: Any = next((mark.func for mark in field.metadata if isinstance(mark, PlainSerializer)), None)
    return cast("Callable[[Any], Any] | None", found)
