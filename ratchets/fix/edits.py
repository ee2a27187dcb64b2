"""Edits in bytes, and what they are meant to do to the tree, so that the result can be held against it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from confbag.ratchets.source.parse import Module


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes of the UTF-8 text to replace."""

    start: int
    end: int
    text: str

    def meets(self, start: int, end: int) -> bool:
        """Whether it and another span have a byte in common."""
        return self.start < end and start < self.end


@dataclass
class Changes:
    """What one pass does: bytes, and the same on the tree.

    `read` are expressions and what stands there afterwards; of `removed` statements the value says whether a `pass`
    takes the place; `trimmed` are imports that lose a name; `added` are statements at a place in the module's body.
    """

    edits: list[Edit] = field(default_factory=list)
    read: dict[ast.AST, ast.expr] = field(default_factory=dict)
    removed: dict[ast.AST, bool] = field(default_factory=dict)
    trimmed: dict[ast.AST, set[str]] = field(default_factory=dict)
    added: tuple[int, tuple[ast.stmt, ...]] = (0, ())


def applied(module: Module, edits: Iterable[Edit]) -> bytes:
    """The file's bytes with all edits made, the last one first."""
    source = module.source
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        start, end = module.original(edit.start), module.original(edit.end)
        source = source[:start] + edit.text.encode(module.encoding) + source[end:]
    return source


def newline_of(module: Module) -> str:
    """The line end that the file is written with."""
    if b"\r\n" in module.utf8:
        return "\r\n"
    return "\r" if b"\r" in module.utf8 and b"\n" not in module.utf8 else "\n"
