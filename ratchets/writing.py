"""A file written whole or not at all: a process that is killed leaves the old one or the new one."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from pathlib import Path

# Windows needs no locks here: an open file cannot be removed there.
if sys.platform != "win32":
    import fcntl

_LEFT = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.new", re.DOTALL)


def write_whole(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a regular file, or a link's target, and keep its mode. On OSError all is as it was before.

    `durable`: it outlives a machine that stops, not only a process.
    """
    target = Path(os.path.realpath(path))
    try:
        mode: int | None = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    stem = _stem(target.name)
    sweep(target.parent, stem)
    descriptor, temporary = _made(target.parent, stem)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            if sys.platform != "win32":
                os.replace(temporary, target)  # before the lock goes with the descriptor
        if sys.platform == "win32":
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sweep(folder: Path, stem: str | None = None) -> None:
    """Remove what writers that were killed left in a folder, of one target or of all; writers at work keep theirs."""
    try:
        names = [match[0] for match in map(_LEFT.fullmatch, os.listdir(folder)) if match and stem in (None, match[1])]
    except OSError:
        return  # a folder that cannot be listed keeps its litter, and writing there says what is wrong
    for name in names:
        _remove_unlocked(folder / name)


def _stem(name: str) -> str:
    """As much of a file's name as leaves room for ours, within the 255 bytes that a name may have."""
    return os.fsdecode(os.fsencode(name)[:200])


def _made(folder: Path, stem: str) -> tuple[int, Path]:
    """A new file that only we write: two processes may have one number, where they live in two containers."""
    while True:
        temporary = folder / f".{stem}.{os.urandom(8).hex()}.new"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if sys.platform == "win32":
            return descriptor, temporary
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            return descriptor, temporary  # no locks on this file system: then nobody's sweep gets one either
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)  # swept in the moment before it was locked


def _remove_unlocked(left: Path) -> None:
    try:
        descriptor = os.open(left, os.O_RDWR)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
        finally:
            os.close(descriptor)
        if sys.platform == "win32":
            left.unlink()
    except OSError:
        return  # its writer holds it, another sweep had it first, or it is not ours to remove
