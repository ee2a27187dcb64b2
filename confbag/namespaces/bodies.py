"""What a namespace's class body holds beside its fields: kept for who reads it, or refused when the class is declared.

A process reads a plain slotted object, not the pydantic model that validated it. Methods, properties, class methods,
static methods and class variables work on both, so they are kept. What rests on the model itself cannot be, and a
read that only fails in production is worse than a class that cannot be declared.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from pydantic import BaseModel

from confbag.errors import RegistrationError

_GENERATED = frozenset(
    {
        *("__init__", "__new__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__slots__"),
        *("__eq__", "__ne__", "__hash__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
        *("__copy__", "__deepcopy__", "__init_subclass__", "__class_getitem__"),
    }
)
"""What the slotted class has of its own."""

_BODIES = (FunctionType, property, classmethod, staticmethod, functools.cached_property)
_OF_THE_MODEL = frozenset(name for name in dir(BaseModel) if not name.startswith("__"))


def kept(model: type[BaseModel], base: type[BaseModel]) -> dict[str, Any]:
    """Name -> what the slotted class of a namespace holds under it, a subclass's own before its parents'.

    base: where namespaces end. RegistrationError for what cannot be kept, with what to write instead.
    """
    found: dict[str, Any] = {}
    for part in reversed(model.__mro__):
        if part is base or issubclass(base, part):
            continue
        if not issubclass(part, base):
            raise _refused(model, part.__name__, "is a base that is no namespace; write what it has into the class")
        _check_model(part)
        found.update(_members(part))
    return found


def _check_model(part: type[BaseModel]) -> None:
    """Refuse what only the pydantic model can do."""
    for name in part.__private_attributes__:
        raise _refused(part, name, "is a private attribute, which only the validating model has; write a field")
    for name in part.__pydantic_decorators__.computed_fields:
        raise _refused(part, name, "is a computed field; write a plain property")
    for setting, wanted in (("frozen", True), ("extra", "forbid")):
        if part.model_config.get(setting) != wanted:
            raise _refused(part, "model_config", f"makes {setting} other than {wanted!r}; leave it out")
    for name, field in part.model_fields.items():
        if isinstance(field.default, _BODIES):  # pydantic takes it for the default of a parent's field
            raise _refused(part, name, "has the name of a field of a parent; call it something else")
        if field.alias is not None or field.validation_alias is not None:
            raise _refused(part, name, "has an alias; a setting has one name, so call the field by it")


def _members(part: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    decorators = part.__pydantic_decorators__
    of_pydantic = {
        name
        for kind in ("validators", "field_validators", "root_validators", "model_validators")
        for name in getattr(decorators, kind, ())
    } | {*decorators.field_serializers, *decorators.model_serializers}
    for name, value in vars(part).items():
        own = isinstance(value, _BODIES)
        if name in of_pydantic or name in part.model_fields:
            continue
        if name.startswith("__") and name.endswith("__"):
            if not own or not _written_in(part, name, value):
                continue
            if name in _GENERATED:
                raise _refused(part, name, "is made for the object that a process reads; leave it out")
        elif not own and not (name in part.__class_vars__ or hasattr(value, "__get__") or isinstance(value, type)):
            continue
        yield name, _member(part, name, value)


def _written_in(part: type[BaseModel], name: str, value: Any) -> bool:
    """Whether a dunder stands in the class body; pydantic puts some there itself."""
    return isinstance(value, FunctionType) and value.__qualname__ == f"{part.__qualname__}.{name}"


def _member(part: type[BaseModel], name: str, value: Any) -> Any:
    if isinstance(value, functools.cached_property):
        raise _refused(part, name, "is a cached property, and there is no place to keep its value; write a property")
    if isinstance(value, property):
        if value.fset is not None or value.fdel is not None:
            raise _refused(part, name, "is a property that can be set, and a namespace is frozen; leave the setter out")
        _check_function(part, name, value.fget)
        return value
    if isinstance(value, classmethod):
        _check_function(part, name, value.__func__)
        # Called on the class that was declared, which is what a type checker says.
        return staticmethod(getattr(part, name))
    if isinstance(value, (FunctionType, staticmethod)):
        _check_function(part, name, value.__func__ if isinstance(value, staticmethod) else value)
        return value
    if hasattr(value, "__set__") and not isinstance(value, type):
        raise _refused(part, name, "is a descriptor that can be set, and a namespace is frozen; write a property")
    return value


def _check_function(part: type[BaseModel], name: str, function: Any) -> None:
    """Refuse a function that reaches into the validating model."""
    for code in _codes(getattr(function, "__code__", None)):
        if "__class__" in code.co_freevars:
            raise _refused(
                part, name, "calls super(), which leads into the validating model; call the parent's method by name"
            )
        used = sorted(_OF_THE_MODEL.intersection(code.co_names) - set(part.model_fields))
        if used:
            raise _refused(part, name, f"uses {used[0]} of the validating model, which no process reads; leave it out")


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    if code is not None:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _codes(constant)


def _refused(part: type[Any], name: str, why: str) -> RegistrationError:
    return RegistrationError(f"{part.__module__}.{part.__qualname__}.{name} {why}")
