"""The baseline of one rule, `path<TAB>qualname<TAB>symbol[<TAB>xN]`: it is parsed, changed and printed, no more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from confbag.ratchets.faults import Fault

Place = tuple[str, str, str]
"""path, qualname, symbol"""

TIDY = "`confbag ratchet tidy` repairs it"
_ESCAPE = re.compile(rb"\\(?:([\\tnr])|x([0-9a-fA-F]{2})|)")
_PLAIN = {b"\\": b"\\", b"t": b"\t", b"n": b"\n", b"r": b"\r"}
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_SPECIAL = re.compile(r"[\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_COUNT = re.compile(rb"x([1-9][0-9]{0,8})\Z")
_MARKER = re.compile(rb"(<{7}|={7}|>{7}|\|{7})(?:[ \t].*)?\Z")


def canonical(text: str) -> str:
    """A text as it comes back from a file: bytes that are no UTF-8 as one lone surrogate each."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "surrogateescape")


def encode(place: Place, count: int = 1) -> bytes:
    """The line of an entry, without its end."""
    line = "\t".join(_SPECIAL.sub(_escaped, canonical(part)) for part in place)
    if line.startswith("#"):
        line = "\\x23" + line[1:]
    return (f"{line}\tx{count}" if count > 1 else line).encode()


def shown(place: Place, count: int = 1) -> str:
    """The line of an entry as text: what a search in the file finds."""
    return encode(place, count).decode()


def _escaped(match: re.Match[str]) -> str:
    written = _WRITTEN.get(match[0])
    if written is not None:
        return written
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "surrogateescape"))


_NOTHING: Mapping[Place, int] = MappingProxyType({})


class Baseline(NamedTuple):
    """The entries of one rule, and what is wrong with the file they came from.

    `faults` make the file unusable (exit 8), `untidy` is repaired by `tidy` (bit 2), `warnings` cost nothing.
    `comments` are kept, at the top. `name` is the file's, empty where there is none.
    """

    entries: Mapping[Place, int] = _NOTHING
    comments: tuple[bytes, ...] = ()
    faults: tuple[Fault, ...] = ()
    untidy: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    lines: Mapping[Place, int] = _NOTHING
    name: str = ""

    @classmethod
    def parse(cls, content: bytes, name: str) -> Baseline:
        """Read a file; an empty one, or one of comments, holds no entry."""
        entries: dict[Place, int] = {}
        at_line: dict[Place, int] = {}
        comments: list[bytes] = []
        faults: list[Fault] = []
        untidy: list[Fault] = []
        warnings: list[Fault] = []
        lines = content.split(b"\n")
        if lines[-1]:
            untidy.append(Fault(f"{name}:{len(lines)}", f"the last line has no end; {TIDY}"))
        else:
            lines.pop()
        before = b""
        unsorted = carriage = blank = False
        for number, raw in enumerate(lines, 1):
            at = f"{name}:{number}"
            line = raw.removesuffix(b"\r")
            if line != raw and not carriage:
                carriage = True
                untidy.append(Fault(at, f"lines end with CR LF; {TIDY}"))
            if line.startswith(b"#"):
                if line not in comments:
                    comments.append(line)
                continue
            if not line:
                if not blank:
                    untidy.append(Fault(at, f"an empty line; {TIDY}"))
                blank = True
                continue
            if _MARKER.match(line):
                faults.append(Fault(at, "a conflict marker; `confbag ratchet tidy` keeps the lines of both sides"))
                continue
            entry = _entry(line)
            if isinstance(entry, str):
                faults.append(Fault(at, f"malformed: {entry}; mend the line, or `confbag ratchet tidy` drops it"))
                continue
            place, count = entry
            if place in entries:
                warnings.append(Fault(at, f"there twice, the larger number counts: {shown(place)}; {TIDY}"))
            if line < before and not unsorted:
                unsorted = True
                untidy.append(Fault(at, f"not sorted; {TIDY}"))
            before = line
            entries[place] = max(count, entries.get(place, 0))
            at_line[place] = number
        return cls(entries, tuple(comments), tuple(faults), tuple(untidy), tuple(warnings), at_line, name)

    def print(self) -> bytes:
        """The file: comments, then the entries sorted by their lines."""
        lines = sorted(encode(place, count) for place, count in self.entries.items())
        return b"".join(line + b"\n" for line in (*self.comments, *lines))

    def updated(self, entries: Mapping[Place, int]) -> Baseline:
        """The same file with other entries; those of no place are dropped."""
        return Baseline({place: count for place, count in entries.items() if count > 0}, self.comments)


def _entry(line: bytes) -> tuple[Place, int] | str:
    parts = line.split(b"\t")
    count = 1
    if len(parts) == 4:
        match = _COUNT.match(parts.pop())
        if match is None or match[1] == b"1":
            return "the fourth part is xN, N a number from 2"
        count = int(match[1])
    if len(parts) != 3:
        return f"{len(parts)} part{'s' if len(parts) > 1 else ''} where path, qualname and symbol stand, parted by tabs"
    if not all(parts):
        return "an empty part"
    texts = []
    for part in parts:
        unknown = next((match[0] for match in _ESCAPE.finditer(part) if match[1] is None and match[2] is None), None)
        if unknown is not None:
            return "a backslash that starts no escape (a backslash itself is written twice)"
        raw = _ESCAPE.sub(lambda match: _PLAIN[match[1]] if match[1] else bytes([int(match[2], 16)]), part)
        texts.append(raw.decode("utf-8", "surrogateescape"))
    return (texts[0], texts[1], texts[2]), count


def repaired(content: bytes, name: str) -> tuple[Baseline, list[Fault]]:
    """What `tidy` writes, and the lines that it has to drop: conflict markers go, and the lines of both sides stay."""
    kept: list[bytes] = []
    dropped: list[Fault] = []
    in_base = False
    for number, raw in enumerate(content.split(b"\n"), 1):
        line = raw.removesuffix(b"\r")
        marker = _MARKER.match(line)
        if marker:
            # What stands between ||||||| and ======= is the state before both sides.
            in_base = marker[1] == b"|||||||"
        elif line and not in_base:
            line = re.sub(rb"\tx1\Z", b"", line) if line.count(b"\t") == 3 else line
            entry = (line, 1) if line.startswith(b"#") else _entry(line)
            if isinstance(entry, str):
                dropped.append(Fault(f"{name}:{number}", f"dropped, malformed: {line.decode('utf-8', 'replace')}"))
            else:
                kept.append(line)
    parsed = Baseline.parse(b"".join(line + b"\n" for line in kept), name)
    return parsed.updated(parsed.entries), dropped


def grown(now: Mapping[Place, int], before: Mapping[Place, int]) -> dict[Place, int]:
    """The entries that are new or larger, with how many they gained."""
    return {place: count - before.get(place, 0) for place, count in now.items() if count > before.get(place, 0)}
