"""A lock that a forked child finds free.

Another thread may hold a lock at the moment of a fork, and in the child nobody would ever release it. Whatever such a
lock guards here is put in place by one assignment, so that a child never sees half of it.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


class ForkSafeLock:
    """A re-entrant lock, for `with`."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _ALL.add(self)  # ratchet: allow CB121 -- what a fork renews is of the whole process

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Make it free, for a child that holds nothing yet."""
        self._lock = threading.RLock()


_ALL: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew() -> None:
    for lock in _ALL:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
