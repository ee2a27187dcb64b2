"""The exceptions file as people wrote it: an entry is added or replaced, copies go, and all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from confbag.ratchets.allowed.exceptions import MARKER, Allowance, parse, write
from confbag.ratchets.config import toml_text
from confbag.ratchets.faults import Fault, usage
from confbag.ratchets.paths import normal

Target = tuple[str, str, str, str]


class _Block(NamedTuple):
    """An entry's text: the comments right above it, itself, and what stands between it and the next one."""

    comments: str
    body: str
    tail: str
    target: Target


def added(content: bytes, entry: Allowance, name: str) -> bytes:
    """The file with an entry more, at its end; one of the same target is replaced where it stands."""
    text = content.decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    new = write(entry).replace("\n", end)
    before, blocks = _split(text, name)
    if any(block.target == entry.target for block in blocks):
        blocks = [block._replace(body=new) if block.target == entry.target else block for block in blocks]
        made = before + "".join(_joined(blocks))
    else:
        gap = "" if not text or text.endswith(end * 2) else end if text.endswith(end) else end * 2
        made = text + gap + new
    after = made.encode()
    known = {parsed.target for parsed in parse(content, name, known=_codes(content, entry))[0]} | {entry.target}
    entries, faults = parse(after, name, known=_codes(after, entry))
    if faults or {parsed.target for parsed in entries} != known:
        raise usage(f"no entry can be added to what is there; write it by hand:\n{new}", name)
    return after


def tidied(content: bytes, name: str) -> bytes:
    """The file without conflict markers, the entries of both sides kept, and each target once: its last entry."""
    plain = _without_markers(content)
    text = plain.decode("utf-8")
    if isinstance(toml_text.read(name, plain), Fault):
        return plain  # whoever reads it next says what is wrong
    before, blocks = _split(text, name)
    last = {block.target: number for number, block in enumerate(blocks)}
    kept = [block for number, block in enumerate(blocks) if last[block.target] == number]
    said = {block.comments for block in kept}
    parts = [before]
    for number, block in enumerate(blocks):
        if last[block.target] == number:
            parts += _joined([block])
        elif block.comments not in said:
            parts.append(block.comments)
    return "".join(parts).encode()


def _joined(blocks: list[_Block]) -> Iterator[str]:
    for block in blocks:
        yield from (block.comments, block.body, block.tail)


def _codes(content: bytes, entry: Allowance) -> set[str]:
    """Every code that is there: whether a rule has it is not asked here."""
    document = toml_text.read("", content)
    tables = [] if isinstance(document, Fault) else document.tables.get("exception", [])
    return {entry.code, *(str(table.get("code")) for table in tables if isinstance(table, dict))}


def _without_markers(content: bytes) -> bytes:
    kept: list[str] = []
    in_base = False
    for line in content.decode("utf-8").split("\n"):
        marker = MARKER.match(line.removesuffix("\r"))
        if marker:
            # What stands between ||||||| and ======= is the state before both sides.
            in_base = marker[1] == "|||||||"
        elif not in_base:
            kept.append(line)
    return "\n".join(kept).encode()


def _split(text: str, name: str) -> tuple[str, list[_Block]]:
    """What stands before the first entry and its comments, and the entries."""
    document = toml_text.read(name, text.encode())
    if isinstance(document, Fault):
        raise usage(document.message, document.where)
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    tables = document.tables.get("exception", [])
    starts = [document.line(("exception", number)) - 1 for number in range(len(tables))]
    if any(not lines[start].lstrip().startswith("[[") for start in starts):
        raise usage("entries are written as tables, [[exception]]; write them so", document.at(("exception",)))
    tops = []
    for start in starts:
        top = start
        while top and lines[top - 1].lstrip().startswith("#"):
            top -= 1
        tops.append(top)
    blocks = []
    for start, top, following, table in zip(starts, tops, [*tops, len(lines)][1:], tables, strict=True):
        end = following
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        comments, body, tail = ("".join(lines[a:b]) for a, b in ((top, start), (start, end), (end, following)))
        blocks.append(_Block(comments, body, tail, _target(table)))
    return "".join(lines[: tops[0]] if tops else lines), blocks


def _target(table: Mapping[str, Any]) -> Target:
    code, path, qualname, symbol = (str(table.get(key, "")) for key in ("code", "path", "qualname", "symbol"))
    return (code, normal(path), qualname, symbol)
