"""A file written whole or not at all: whoever reads it meanwhile sees the old one or the new one."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path


def write_whole(path: str, text: str) -> None:
    """Replace a regular file, or a link's target. Raises OSError or ValueError, and then all is as it was before."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def unwritable(path: str, error: OSError | ValueError) -> str:
    """What write_whole failed with, in words."""
    reason = getattr(error, "strerror", None) or error
    return f"{path}: cannot be written ({reason}); name a file in a folder that you may write to"


def _mode(target: Path) -> int:
    """The mode of the file that is replaced, or that of any new file: a temporary one is private."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
