"""A native library that registers ops with torch: data, which the registry holds and only bind acts on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from confbag.backends.rejection import Rejection
from confbag.errors import RegistrationError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Library:
    """A native library that registers ops with torch when it is loaded.

    name: what requirements call it. namespace: of `torch.ops`. environment: the one variable that may hold the path
    of its file; it wins over package. package: the installed top-level package that may carry the file; it is
    searched, not imported. file: the file's name inside the package, a glob. prerequisites: modules imported before
    it is loaded, in order; a library with neither variable nor package is registered by them. probe_in_child: load it
    in a child process first, so that one that ends the process is a reason and not the end (a child that imports
    torch takes some seconds; without it, a load that dies takes this process along). probe_seconds: the child's time
    limit. A path never comes from configuration.
    """

    name: str
    namespace: str
    environment: str | None = None
    package: str | None = None
    file: str = "*.so"
    prerequisites: tuple[str, ...] = ()
    probe_in_child: bool = True
    probe_seconds: float = 120.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "prerequisites", tuple(self.prerequisites))
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
