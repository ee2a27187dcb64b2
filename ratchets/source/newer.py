"""Syntax newer than the running Python: libcst in a process of its own, with limits on time and memory."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys

_SECONDS = 30
_MEMORY = 2 << 30


class Unread(Exception):
    """libcst did not come back with a file: what happened, for people."""


def read(source: bytes) -> ast.Module | None:
    """The tree of a file that `ast` refused, None where libcst refuses it too or nothing in it is newer.

    Raises Unread.
    """
    found = lowered(source)
    return found[0] if found is not None and found[1] > sys.version_info[:2] else None


def lowered(source: bytes) -> tuple[ast.Module, tuple[int, int]] | None:
    """The tree as libcst reads it, and the oldest Python that could; None where libcst refuses it. Raises Unread."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from confbag.ratchets.source.newer import main; main()"],
            input=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unread(f"libcst did not read it within {_SECONDS} s; exclude it, or run a newer Python") from error
    except OSError as error:
        raise Unread(f"no process could be had for libcst: {error.strerror or error}") from error
    if done.returncode:
        raise Unread(
            f"libcst ended with {done.returncode} over it: nested too deep, or more than {_MEMORY >> 30} GiB or "
            f"{_SECONDS} s; exclude it, or run a newer Python"
        )
    made: tuple[ast.Module, tuple[int, int]] | None = pickle.loads(done.stdout)
    return made


def main() -> None:
    """The life of the child: a file comes in, its tree goes out."""
    try:
        import resource
    except ImportError:
        # No limits on this platform but the parent's patience.
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import gc

    gc.disable()
    sys.setrecursionlimit(12_000)
    from libcst import ParserSyntaxError

    from confbag.ratchets.source.lowering.module import lower

    try:
        made = lower(sys.stdin.buffer.read())
    except (ParserSyntaxError, UnicodeDecodeError):
        made = None
    sys.stdout.buffer.write(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
