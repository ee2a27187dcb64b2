"""What earlier runs found out, by content: one folder that may be lost, damaged, shared or read-only at any time."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import zlib
from collections.abc import Iterable
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path

from confbag.ratchets.writing import sweep, write_whole

_MAGIC = b"confbag ratchets 1\n"
_LIMIT = 32 << 20
_RESULTS = 8


def digest(*parts: bytes) -> bytes:
    """A short digest of parts, kept apart from each other."""
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return whole.digest()


class Cache:
    """Entries of a folder. Reading never fails, writing never leaves half a file; neither changes a result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries: dict[bytes, bytes] | None = None
        self._touched: dict[bytes, bytes] = {}

    # Facts by file

    def get(self, key: bytes) -> object:
        """What is kept under a key, None without."""
        found = self._touched.get(key)
        if found is None:
            found = self._load().get(key)
            if found is None:
                return None
            self._touched[key] = found
        return unpacked(found)

    def put(self, key: bytes, value: object) -> None:
        """Keep a value until `save`."""
        self._touched[key] = packed(value)

    def _load(self) -> dict[bytes, bytes]:
        if self._entries is None:
            held = self.read("facts")
            self._entries = (
                {key: value for key, value in held.items() if isinstance(key, bytes) and isinstance(value, bytes)}
                if isinstance(held, dict)
                else {}
            )
        return self._entries

    def save(self) -> None:
        """Write what was used or made in this run, and of the rest the newest as long as there is room."""
        if not any(key not in self._load() or self._load()[key] != value for key, value in self._touched.items()):
            return
        room = _LIMIT - sum(map(len, self._touched.values()))
        kept: dict[bytes, bytes] = {}
        for key, value in reversed(self._load().items()):
            if key not in self._touched and room > len(value):
                room -= len(value)
                kept[key] = value
        self.write("facts", {**dict(reversed(kept.items())), **self._touched})

    # Whole runs

    def result(self, key: bytes) -> object:
        """What a whole run gave on exactly these files."""
        return self.read(f"run-{key.hex()}")

    def save_result(self, key: bytes, value: object) -> None:
        """Keep what a whole run gave, and forget the oldest of them."""
        self.write(f"run-{key.hex()}", value)
        sweep(self.folder)
        try:
            runs = [
                (entry.stat().st_mtime_ns, entry.path)
                for entry in os.scandir(self.folder)
                if entry.name.startswith("run-")
            ]
            for _, path in sorted(runs)[:-_RESULTS]:
                os.unlink(path)
        except OSError:
            # Another process tidied up first, or may not write here.
            return

    # Files

    def read(self, name: str) -> object:
        """One file of the folder; None where it is missing or damaged."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        body = data[len(_MAGIC) + 16 :]
        if not data.startswith(_MAGIC) or data[len(_MAGIC) : len(_MAGIC) + 16] != digest(body):
            return None
        return _loads(body)

    def write(self, name: str, value: object) -> None:
        """Replace one file at once; a folder that cannot be written is a cache that keeps nothing."""
        body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        try:
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                write_whole(ignore, b"*\n", durable=False)
            write_whole(self.folder / name, _MAGIC + digest(body) + body, durable=False)
        except OSError:
            return


class _Plain(pickle.Unpickler):
    """Reads data of our own classes and nothing that could run: a cache may come from somebody else's change."""

    def find_class(self, module: str, name: str) -> object:
        if module == "builtins" and name in ("frozenset", "set", "complex", "bytearray"):
            return super().find_class(module, name)
        if module.startswith("confbag.ratchets.") and "." not in name:
            found = super().find_class(module, name)
            # What a module of ours imports is not its own, and a class that does something when made is no data.
            ours = isinstance(found, type) and found.__module__ == module
            if ours and (is_dataclass(found) or issubclass(found, (tuple, Enum))):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no data of the ratchets")


def _loads(data: bytes) -> object:
    try:
        return _Plain(io.BytesIO(data)).load()
    except Exception:
        return None


def packed(value: object) -> bytes:
    """A value as a few bytes: many of them are kept in memory before they are written."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(data: bytes) -> object:
    """What was packed; None where it is damaged."""
    try:
        return _loads(zlib.decompress(data))
    except zlib.error:
        return None


def names(paths: Iterable[str]) -> bytes:
    """Paths as one text for a digest."""
    return "\0".join(paths).encode("utf-8", "surrogateescape")
