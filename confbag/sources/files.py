"""Reading one small regular file: bounded, and every way it can fail is a sentence."""

from __future__ import annotations

import os
import re
import stat

from confbag.errors import Fault
from confbag.words.text import printable

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def read_bounded(path: str | os.PathLike[str], limit: int) -> tuple[bytes | None, Fault | None]:
    """The bytes of a regular file of at most `limit` bytes, or the fault. A larger file is refused unread."""
    spelling = os.fspath(path)
    where = printable(spelling)
    try:
        # Without O_NONBLOCK, opening a FIFO waits for a writer; the flag means nothing to a regular file.
        descriptor = os.open(spelling, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None, Fault(where, None, "no such file; check the path")
    except IsADirectoryError:
        return None, Fault(where, None, _DIRECTORY)
    except OSError as error:
        if os.path.isdir(spelling):  # what Windows says of a directory is only that access was denied
            return None, Fault(where, None, _DIRECTORY)
        return None, Fault(where, None, f"cannot be opened: {error.strerror or type(error).__name__}")
    except ValueError:
        return None, Fault(where, None, "is not a path: it holds a NUL character")
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return None, Fault(where, None, _DIRECTORY)
        if not stat.S_ISREG(status.st_mode):
            return None, Fault(where, None, "is a pipe or a device; give a regular file")
        if status.st_size > limit:
            return None, Fault(where, None, _too_large(limit))
        content = _read(descriptor, limit + 1)
    except OSError as error:
        return None, Fault(where, None, f"cannot be read: {error.strerror or type(error).__name__}")
    finally:
        os.close(descriptor)
    if len(content) > limit:  # a file of /proc says it is empty; another may have grown since
        return None, Fault(where, None, _too_large(limit))
    return content, None


_DIRECTORY = "is a directory; give a file"


def _too_large(limit: int) -> str:
    size = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit // 2**10} KiB"
    return f"is larger than {size}; this cannot be the file that was meant"


def _read(descriptor: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    left = limit
    while left > 0:
        chunk = os.read(descriptor, min(left, 1 << 20))
        if not chunk:
            break
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def decode(content: bytes, name: str) -> tuple[str, Fault | None]:
    """UTF-8 text, or the fault that says where it is not."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or content[:4] == b"\x00\x00\xfe\xff":
        return "", Fault(f"{name}:1:1", None, "is UTF-16 or UTF-32; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")  # the codec counts after the byte order mark
        return "", Fault(_place(name, before), None, "a byte that is not UTF-8; save the file as UTF-8")
    control = CONTROL.search(text)
    if control is not None:
        where = _place(name, text[: control.start()])
        return "", Fault(where, None, f"a control character (U+{ord(control.group()):04X}); remove it")
    return text, None


def _place(name: str, before: str) -> str:
    line = before.count("\n") + 1
    return f"{name}:{line}:{len(before) - before.rfind(chr(10))}"
