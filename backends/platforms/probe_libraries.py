"""Whether the loader would find a shared library, without loading it: loading a vendor's library has effects."""

from __future__ import annotations

import os
from collections.abc import Iterable

from confbag.backends.platforms.evidence import Evidence

_CACHE = "/etc/ld.so.cache"
_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


def first_missing(names: Iterable[str], evidence: Evidence) -> str | None:
    """The first of these libraries that the loader would not find; None when it finds all."""
    folders = [folder for folder in evidence.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    folders += [*_FOLDERS, f"/lib/{evidence.machine}-linux-gnu", f"/usr/lib/{evidence.machine}-linux-gnu"]
    cache = evidence.content(_CACHE) or b""
    for name in names:
        # The cache holds each name between NUL bytes; a substring would find libgraph.so in libmygraph.so.
        if b"\0" + name.encode() + b"\0" not in cache and not any(
            evidence.exists(f"{folder}/{name}") for folder in folders
        ):
            return name
    return None
