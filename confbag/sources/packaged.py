"""Reading a data file of an installed package, from a folder or a zip, without what importlib.resources imports."""

from __future__ import annotations

import errno
import importlib
import os
from typing import Any


def packaged(package: str, name: str) -> bytes | None:
    """The content of `name` beside the package's modules, or None where there is no such file."""
    module = importlib.import_module(package)
    loader: Any = module.__spec__.loader if module.__spec__ is not None else None
    try:
        content: bytes = loader.get_data(os.path.join(module.__path__[0], name))
    except OSError as error:
        if error.errno in (errno.ENOENT, 0):  # 0: how a zip says that it has no such member
            return None
        raise
    return content
