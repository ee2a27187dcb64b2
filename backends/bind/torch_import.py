"""Importing torch for bind and verify, where an installed backend extension may make `import torch` itself fail."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe import AUTOLOAD, software
from confbag.errors import BindError

_BACKEND_FAILED = "Failed to load the backend extension"


def import_torch() -> ModuleType:
    """The torch module, imported on the first call.

    Where a backend extension is installed whose libraries are absent, torch is imported without its extensions; the
    environment is then as it was before, so that children see what the user set. Raises BindError when torch cannot be
    imported; a failed import cannot be repeated in one process, and is not.
    """
    if (torch := sys.modules.get("torch")) is not None:
        return torch
    if "torch._C" in sys.modules:
        raise BindError(
            "an earlier `import torch` failed in this process, and torch cannot be imported a second time; start a "
            "new process"
        )
    if software(Evidence.here()).missing:
        with _without_extensions():
            return _import()
    return _import()


def _import() -> ModuleType:
    try:
        return importlib.import_module("torch")
    except RuntimeError as error:
        if not str(error).startswith(_BACKEND_FAILED):
            raise BindError(f"torch cannot be imported: {error}") from error
        cause = error.__cause__ or error
        raise BindError(
            f"torch cannot be imported, since a backend extension fails to load: {cause}. Make its libraries "
            "loadable, or set "
            f"{AUTOLOAD}=0 to import torch without it, and start a new process"
        ) from error
    except ImportError as error:
        install = "; install it: pip install 'confbag[torch]'" if getattr(error, "name", None) == "torch" else ""
        raise BindError(f"torch cannot be imported: {error}{install}") from error


@contextmanager
def _without_extensions() -> Iterator[None]:
    before = os.environ.get(AUTOLOAD)
    os.environ[AUTOLOAD] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[AUTOLOAD]
        else:
            os.environ[AUTOLOAD] = before
