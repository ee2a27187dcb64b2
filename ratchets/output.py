"""Text to the two streams, whatever their encoding; and a line of progress where a person watches."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO


def say(text: str) -> None:
    """Write to stdout."""
    if sys.stdout is not None:
        _write(sys.stdout, text)


def put(content: bytes) -> None:
    """Write bytes to stdout as they are, where it takes bytes."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        _write(sys.stdout, content.decode("utf-8", "surrogateescape"))
    else:
        raw.write(content)
        raw.flush()


def complain(text: str) -> None:
    """Write lines to stderr. Where they cannot be read, the exit status is what is left to say it."""
    if sys.stderr is None:
        return
    try:
        _write(sys.stderr, text if text.endswith("\n") else text + "\n")
    except OSError:
        # Or the interpreter tries again at its end, and puts its own exit status over ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


class Progress:
    """`312 of 1200 files` on a terminal, from the second second on; nothing in a pipe."""

    def __init__(self, what: str = "files") -> None:
        self._what = what
        self._shown = False
        self._next = time.monotonic() + 1 if sys.stderr is not None and sys.stderr.isatty() else float("inf")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away, however the run ended."""
        if self._shown:
            _write(sys.stderr, "\r\x1b[K")

    def __call__(self, done: int, total: int) -> None:
        """So many were done, of so many."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.2
            self._shown = True
            _write(sys.stderr, f"\r\x1b[K{done} of {total} {self._what}")
