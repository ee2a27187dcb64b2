"""Text to the two streams, whatever their encoding; and a line of progress where a person watches."""

from __future__ import annotations

import sys
import time
from typing import TextIO


def say(text: str) -> None:
    """Write to stdout."""
    if sys.stdout is not None:
        _write(sys.stdout, text)


def complain(text: str) -> None:
    """Write lines to stderr."""
    if sys.stderr is not None:
        _write(sys.stderr, text if text.endswith("\n") else text + "\n")


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


class Progress:
    """`312 of 2141 files` on a terminal, from the second second on; nothing in a pipe."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._shown = False
        self._next = time.monotonic() + 1 if sys.stderr is not None and sys.stderr.isatty() else float("inf")

    def step(self) -> None:
        """One more file."""
        self._done += 1
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._shown = True
            _write(sys.stderr, f"\r{min(self._done, self._total)} of {self._total} files")

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            _write(sys.stderr, "\r\x1b[K")
