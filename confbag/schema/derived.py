"""A schema made from the settings that an engine has already: a dataclass, or a pydantic model, nested ones included.

Nothing is copied out of it: field by field, the annotation and the default are read, and what is no plain data is left
out and listed. What was read stays the engine's; `Bag.of` reads its values.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import types
import typing
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import BaseModel, Field, create_model

from confbag.errors import RegistrationError
from confbag.namespaces.fields import Namespace
from confbag.schema.config import Config
from confbag.schema.engine_fields import MISSING, EngineField, fields_of, nested
from confbag.schema.engine_types import constrained, fits, members, plain_type, plain_value, said, union_of
from confbag.schema.leaves import leaves
from confbag.words.given import expect
from confbag.words.secret import Secret
from confbag.words.suggest import nearest

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

    @functools.cached_property
    def keys_answered(self) -> dict[str, str]:
        """Key of a field -> the key of ours that it answers to."""
        paths = {".".join(path): key for key, path in self.fields.items()}
        return {paths[path]: key for path, key in self.answers.items() if path in paths}


def schema_from(
    cls: type[Any],
    *,
    name: str | None = None,
    record: str | None = None,
    answers: Mapping[str, str] | None = None,
    leave_out: Collection[str] = (),
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
    them. What any source says of a field in `answers` it says of our key too.

    The schema is called what the module that made it calls it: `Schema = schema_from(...)` at module level is
    `package.module:Schema`, for `--schema`, in locks, and for other processes.

    Raises RegistrationError for a class of another kind, and for a name that is there already.
    """
    caller = sys._getframe(1).f_globals.get("__name__", "__main__")
    if fields_of(cls) is None:
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
    if not called.isidentifier() or called[0] == "_" or called in {*Config.model_fields, *_TAKEN, "derived", "retired"}:
        raise RegistrationError(f"schema_from: a namespace cannot be called {called!r}; write another with name=")
    walk = _Walk({}, {}, frozenset(leave_out))
    namespace = walk.namespace(cls, called, ())
    unknown = [path for path in (*leave_out, *(answers or {})) if path not in walk.seen]
    if unknown:
        hint = nearest(unknown[0], walk.seen)
        raise RegistrationError(
            f"schema_from: {cls.__qualname__} has no field {unknown[0]!r}" + (f"; did you mean {hint}?" if hint else "")
        )
    for path, key in (answers or {}).items():
        if path in walk.nested:
            below = [name for name in walk.seen if name.startswith(f"{path}.")]
            raise RegistrationError(
                f"schema_from: answers: {path} is a class of settings, and one of its fields answers to {key}; "
                f"write {' or '.join(below[:8]) or 'another'}"
            )
        if key not in leaves():
            hint = nearest(key, leaves())
            raise RegistrationError(
                f"schema_from: {path} answers to no key {key!r}" + (f"; did you mean {hint}?" if hint else "")
            )
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
                # Of the module that holds it; `named` finds the name that it is bound to there.
                "__module__": caller,
                "__qualname__": f"schema_from({cls.__qualname__})",
                "__doc__": f"The settings of {cls.__qualname__}, beside confbag's own.",
                "__annotations__": {called: namespace, "derived": ClassVar[Derived]},
                called: Field(default_factory=namespace),
                "derived": origin,
            }
        ),
    )
    return typing.cast("type[Config]", made)


@dataclasses.dataclass
class _Walk:
    """One walk over a class: key -> names to follow, dotted field -> why it is left out, every field seen, and those
    that hold settings of their own."""

    paths: dict[str, tuple[str, ...]]
    left_out: dict[str, str]
    leave_out: frozenset[str]
    seen: dict[str, None] = dataclasses.field(default_factory=dict)
    nested: set[str] = dataclasses.field(default_factory=set)

    def namespace(
        self,
        cls: type[Any],
        key: str,
        path: tuple[str, ...],
        held: Any = MISSING,
        *,
        optional: bool = False,
        above: tuple[type[Any], ...] = (),
    ) -> type[Namespace]:
        """The namespace of a class at a key.

        held: the object that stands there by default, whose values are the defaults; None where nothing does; MISSING
            where the class alone says what they are.
        optional: nothing may stand there, and then every field is None.
        """
        made: dict[str, Any] = {}
        fields = fields_of(cls) or {}
        for name, field in fields.items():
            dotted = ".".join((*path, name))
            self.seen[dotted] = None
            own = _own(name, {*fields, *made})
            inner, absent = nested(field.annotation)
            default = self.default(name, field, held)
            why = self.refused(name, dotted) or (default if isinstance(default, _Why) else None)
            if why is None and inner is not None:
                self.nested.add(dotted)
                if inner in (cls, *above):
                    why = _Why(f"{inner.__qualname__} holds itself")
                else:
                    may_lack = optional or absent or default is None
                    if default is MISSING and may_lack:
                        default = None
                    below = self.namespace(
                        inner, f"{key}.{own}", (*path, name), default, optional=may_lack, above=(*above, cls)
                    )
                    made[own] = (below, Field(default_factory=below))
                    continue
            found = why or self.leaf(name, field, default, optional=optional)
            if isinstance(found, _Why):
                self.left_out[dotted] = str(found)
            else:
                made[own] = found
                self.paths[f"{key}.{own}"] = (*path, name)
        return create_model(cls.__name__, __base__=Namespace, __module__=cls.__module__, __doc__=cls.__doc__, **made)

    def refused(self, name: str, dotted: str) -> _Why | None:
        if dotted in self.leave_out:
            return _Why("the schema leaves it out")
        return _Why("it is private") if name.startswith("_") else None

    def default(self, name: str, field: EngineField, held: Any) -> Any:
        """The default of a field; MISSING without one."""
        if held is None:
            return None
        if held is not MISSING:
            return getattr(held, name, MISSING)
        try:
            return field.default()
        except Exception as error:  # whatever an engine's factory raises
            return _Why(f"its default cannot be made: {type(error).__name__}")

    def leaf(self, name: str, field: EngineField, default: Any, *, optional: bool) -> tuple[Any, Any] | _Why:
        """The annotation and default of a field's key; or why it has none."""
        annotation: Any = plain_type(field.annotation)
        if annotation is None:
            return _Why(f"{said(field.annotation)} is no plain data")
        if default is MISSING:
            default = ...
        else:
            try:
                default = plain_value(default)
            except TypeError:
                return _Why("its default is no plain data")
            if default is not None and not fits(annotation, default):
                return _Why(f"its default is not what {said(field.annotation)} says")
        annotation = constrained(annotation, field.marks, ... if default is None else default)
        if default is None or optional:
            annotation = union_of((annotation, None))
        if str in members(annotation) and _SECRET.search(name):
            annotation = union_of(Secret if part is str else part for part in members(annotation))
        return annotation, default


class _Why(str):
    """Why no key answers to a field."""

    __slots__ = ()


def _own(name: str, taken: Collection[str]) -> str:
    """The name of a field's key: its own, with underscores after one that pydantic keeps for itself."""
    own = name
    while own in _TAKEN or (own != name and own in taken):
        own += "_"
    return own


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
