"""A change of one file as a patch that `git apply` takes, in bytes: line ends and encodings stay as they are."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_PLAIN = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_NO_NEWLINE = b"\\ No newline at end of file\n"


def patch(path: str, before: bytes, after: bytes) -> bytes:
    """The unified diff of a file; the path is relative to the repository."""
    name = path.encode("utf-8", "surrogateescape")
    lines = difflib.diff_bytes(
        difflib.unified_diff, _lines(before), _lines(after), _named(b"a/" + name), _named(b"b/" + name), lineterm=b"\n"
    )
    return b"".join(_ended(lines))


def _lines(content: bytes) -> list[bytes]:
    # Only LF ends a line of a patch; what else the file ends lines with is part of them.
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _ended(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE


def _named(name: bytes) -> bytes:
    """The name as git writes it: quoted where a byte of it would be misread."""
    if all(32 < byte < 127 and byte not in _PLAIN for byte in name):
        return name
    if all(32 <= byte < 127 and byte not in _PLAIN for byte in name):
        # The tab says where a name with spaces ends.
        return name + b"\t"
    quoted = "".join(
        f"\\{_PLAIN[byte]}" if byte in _PLAIN else chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in name
    )
    return f'"{quoted}"'.encode()
