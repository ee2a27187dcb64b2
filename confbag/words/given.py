"""The error of an argument of another kind: which one, what it takes, what came, and what to write. No value is shown,
for it may be a secret."""

from __future__ import annotations

import os


def wrong_type(place: str, takes: str, given: object, write: str) -> TypeError:
    """`load(env=...) takes a mapping of names to texts, not an int; write load(env={...})`."""
    return TypeError(f"{place} takes {takes}, not {called(given)}; write {write}")


def expect(given: object, kind: type | tuple[type, ...], place: str, takes: str, write: str) -> None:
    """Raise it for what is none of these kinds."""
    if not isinstance(given, kind):
        raise wrong_type(place, takes, given, write)


def called(given: object) -> str:
    """What came, by its type: `an int`, `the class Config`, `None`."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__qualname__}"
    name = type(given).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def is_path(given: object) -> bool:
    """Whether it can name a file."""
    return isinstance(given, (str, os.PathLike))
