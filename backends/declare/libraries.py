"""A native library that registers ops with torch: data, which the registry holds and only bind acts on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from confbag.backends.declare.requires import NativeOp, Specified
from confbag.backends.words.rejection import Rejection
from confbag.backends.words.shapes import FLAG, TEXT, WORDS, Shape, is_whole, shaped, texts
from confbag.backends.words.spelling import Spelled
from confbag.errors import RegistrationError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


_SHAPES = {
    **dict.fromkeys(("name", "namespace", "environment", "package", "file", "component"), TEXT),
    "prerequisites": Shape("a module's name or a list of them", WORDS.holds),
    "ops": Shape(
        "a list of NativeOp, such as NativeOp('npu::x(Tensor y) -> Tensor')",
        lambda value: isinstance(value, (list, tuple)) and all(isinstance(op, NativeOp) for op in value),
    ),
    "probe_in_child": FLAG,
    "probe_seconds": Shape("a number of seconds", lambda value: is_whole(value) or isinstance(value, float)),
}


@dataclass(frozen=True, slots=True)
class Library(Spelled):
    """A native library that registers ops with torch when it is loaded.

    name: what requirements call it.
    namespace: of `torch.ops`.
    environment: the one variable that may hold the path of its file; it wins over package. A path never comes from
        configuration.
    package: the installed top-level package that may carry the file; it is searched, not imported.
    file: the file's name inside the package, a glob.
    prerequisites: modules imported before it is loaded, in order; a library with neither variable nor package is
        registered by them.
    component: the distribution that brings it and the versions of it that have all of `ops`, `name>=1.0`; every
        implementation that names the library needs it too.
    ops: the schemas that implementations may ask of it; empty where nobody listed them.
    probe_in_child: load it in a child process first, so that one that ends the process is a reason and not the end (a
        child that imports torch takes some seconds; without it, a load that dies takes this process along).
    probe_seconds: the child's time limit.
    """

    name: str
    namespace: str
    environment: str | None = None
    package: str | None = None
    file: str = "*.so"
    prerequisites: tuple[str, ...] = ()
    component: str | None = None
    ops: tuple[NativeOp, ...] = ()
    probe_in_child: bool = True
    probe_seconds: float = 120.0

    def __post_init__(self) -> None:
        given = {name: value for name in _SHAPES if (value := getattr(self, name)) is not None}
        shaped(given, _SHAPES, f"library {self.name}")
        object.__setattr__(self, "prerequisites", texts(self.prerequisites))
        object.__setattr__(self, "ops", tuple(self.ops))
        if not self.namespace.isidentifier():
            raise RegistrationError(
                f"library {self.name}: namespace {self.namespace!r}; write the name under torch.ops, such as 'npu'"
            )
        if self.environment is not None and not _VARIABLE.fullmatch(self.environment):
            raise RegistrationError(f"library {self.name}: {self.environment!r} is no name of an environment variable")
        if self.package is not None and not self.package.isidentifier():
            raise RegistrationError(
                f"library {self.name}: package {self.package!r}; write the top-level name that Python imports"
            )
        if not (self.environment or self.package or self.prerequisites):
            raise RegistrationError(
                f"library {self.name}: name its environment variable, its package or what registers it when imported"
            )

        if self.component is not None:
            Specified.parse(self.component, f"library {self.name}: component")
        self._check_ops()

    def _check_ops(self) -> None:
        names = [op.name for op in self.ops]
        for name in names:
            if name.partition("::")[0] != self.namespace:
                raise RegistrationError(f"library {self.name}: {name} is not in its namespace, {self.namespace}")
            if names.count(name) > 1:
                raise RegistrationError(f"library {self.name}: {name} is listed twice")

    @classmethod
    def of(cls, data: Any, where: str) -> Library:
        """A library from a catalogue's data; RegistrationError names what is wrong and where.

        `ops` is a list of schemas, or of mappings with `schema` and `dispatch_key`.
        """
        if not isinstance(data, Mapping):
            raise RegistrationError(f"{where}: expected a mapping")
        known = [field.name for field in fields(cls)]
        unknown = [str(name) for name in data if name not in known]
        if unknown:
            raise RegistrationError(f"{where}: unknown field {', '.join(unknown)}; known are {', '.join(known)}")
        for name in ("name", "namespace"):
            if not isinstance(data.get(name), str):
                raise RegistrationError(f"{where}: `{name}` is missing or no text")
        for name in ("prerequisites", "ops"):
            if not isinstance(data.get(name, []), (list, tuple)):
                raise RegistrationError(f"{where}: `{name}` must be a list")
        try:
            return cls(**{**data, "ops": tuple(_native(op, where) for op in data.get("ops", ()))})
        except RegistrationError as error:
            raise error if str(error).startswith(where) else RegistrationError(f"{where}: {error}") from error

    def declared(self, name: str) -> NativeOp | None:
        """The op of that name (`ns::op`) as this library is known to register it; None where it is not listed."""
        return next((op for op in self.ops if op.name == name), None)

    @property
    def where(self) -> str:
        """Where its file is looked for, in words."""
        places = [f"the file that {self.environment} names"] if self.environment else []
        if self.package:
            places.append(f"{self.file} in the installed package {self.package}")
        return ", or ".join(places) or f"registered by importing {', '.join(self.prerequisites)}"

    def rejected(self, code: str, actual: str, hint: str | None = None, *, required: str | None = None) -> Rejection:
        """A rejection on account of this library."""
        return Rejection(None, code, f"library {self.name}", required or self.where, actual, hint=hint)


def _native(op: Any, where: str) -> NativeOp:
    if isinstance(op, str):
        return NativeOp(op)
    if isinstance(op, Mapping) and isinstance(op.get("schema"), str) and set(op) <= {"schema", "dispatch_key"}:
        return NativeOp(op["schema"], str(op.get("dispatch_key", "")))
    raise RegistrationError(f"{where}: ops: expected a schema, or a mapping with `schema` and `dispatch_key`")
