"""A file written whole or not at all: a process that is killed leaves the old one or the new one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace a regular file, or a link's target, and keep its mode. On OSError all is as it was before."""
    target = Path(os.path.realpath(path))
    try:
        mode: int | None = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # The process and the name make it our own: two runs at once write two files and the last one stays.
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
