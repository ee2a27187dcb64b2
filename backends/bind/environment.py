"""The environment variables that a plan needs: checked before anything is loaded, set around it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confbag.backends.words.rejection import Rejection


def conflicts(
    needed: Mapping[str, str], current: Mapping[str, str], origins: Mapping[str, str], *, unset_too: bool
) -> list[Rejection]:
    """A rejection for each variable that holds another value than the plan's; with `unset_too`, for each that is unset.

    origins: who wants each variable, in words.
    """
    found = []
    for name, value in needed.items():
        have = current.get(name)
        if have == value or (have is None and not unset_too):
            continue
        if have is None:
            hint = f"export {name}={value} before the process starts, or bind with set_environment=True"
        else:
            hint = f"unset {name} or export {name}={value}; what somebody set is never overwritten"
        actual = "unset" if have is None else repr(have)
        found.append(Rejection(None, "environment", f"env {name}", repr(value), actual, origins.get(name), hint))
    return found


@contextmanager
def applied(needed: Mapping[str, str]) -> Iterator[None]:
    """Set what is not set yet, for this process and its children; taken back when the body raises, else kept."""
    added = [name for name in needed if name not in os.environ]
    os.environ.update({name: needed[name] for name in added})
    try:
        yield
    except BaseException:
        for name in added:
            os.environ.pop(name, None)
        raise
