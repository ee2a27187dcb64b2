"""A mapping that cannot change, for what a process reads: it can be hashed, compared, copied and pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Table(Mapping[K, V]):
    """A read-only mapping, equal to any other of the same items."""

    __slots__ = ("_of",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._of = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._of[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def __hash__(self) -> int:
        return hash(frozenset(self._of.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._of,)

    def __repr__(self) -> str:
        return repr(self._of)


def immutable(value: Any) -> Any:
    """Plain data as nothing can change it: lists as tuples, mappings as tables, whatever they hold likewise."""
    if isinstance(value, Mapping):
        return Table({key: immutable(item) for key, item in value.items()})
    return tuple(map(immutable, value)) if isinstance(value, (list, tuple)) else value
