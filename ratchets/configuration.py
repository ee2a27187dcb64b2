"""What the ratchets are told: plain frozen data, read from a file elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confbag.ratchets.paths import named, normal, within

DEFAULT_CODES = ("CB101", "CB102", "CB103", "CB105", "CB111", "CB121")
MAX_BYTES = 1_000_000
# Beside the configuration: baselines, exceptions, the cache.
FOLDER = ".ratchets"
CACHE = f"{FOLDER}/cache"
EXCEPTIONS = "exceptions.toml"


@dataclass(frozen=True, slots=True)
class Source:
    """Where modules start: files under `path` (POSIX, relative to the configuration's root) are `module.…`."""

    path: str
    module: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What to write instead of a field: an expression and the import statements it needs."""

    expression: str
    imports: tuple[str, ...] = ()
    inverted: bool = False


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RecordSpec:
    """One start-up record of the engine. Paths are relative to the configuration's root, POSIX."""

    name: str
    accessors: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    holders_in: tuple[str, ...] = ()
    fields: Mapping[str, Replacement] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class Site:
    """CB141: one listed place of a call, and why it may stand there."""

    path: str
    qualname: str
    reason: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """`root` is the folder of the configuration file, `repository` the folder that output paths are relative to."""

    root: Path
    repository: Path
    file: Path | None = None
    source: tuple[Source, ...] = (Source("."),)
    roots: tuple[str, ...] = (".",)
    exclude: tuple[str, ...] = ()
    codes: tuple[str, ...] = DEFAULT_CODES
    records: tuple[RecordSpec, ...] = ()
    max_bytes: int = MAX_BYTES
    plugins: tuple[str, ...] = ()
    # CB131
    predicates: tuple[str, ...] = ()
    strict: bool = False
    # CB132: folders where raw ops may stand
    kernels: tuple[str, ...] = ()
    # CB133
    hot: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    # CB141: callee -> its listed places
    sites: Mapping[str, tuple[Site, ...]] = field(default_factory=_nothing)
    # CB142: qualified name -> what to use instead
    legacy: Mapping[str, str] = field(default_factory=_nothing)
    # Out-of-tree rules: code -> its table as it was read
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=_nothing)

    @property
    def prefix(self) -> str:
        """What turns a path relative to `root` into one relative to the repository: "" or "folder/"."""
        relative = named(self.root.relative_to(self.repository).as_posix())
        return "" if relative == "." else relative + "/"

    def owned(self, path: str) -> frozenset[str]:
        """The records, by name, that a file is an owner of; its path is relative to the repository."""
        inside = path.removeprefix(self.prefix)
        return frozenset(
            spec.name for spec in self.records if any(within(inside, normal(owner)) for owner in spec.owners)
        )
