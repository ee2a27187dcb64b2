"""Where libcst's nodes stand in the text, and which Python their syntax needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

_NEWLINE = re.compile(r"\r\n?|\n")


class _Positions(CodegenState):
    """Writes the tree out once, and notes where each node starts and ends: (line, column) in code points."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.line = 1
        self.column = 0
        self.found: dict[int, tuple[int, int, int, int]] = {}
        self._open: list[tuple[int, int]] = []

    def add_token(self, value: str) -> None:
        parts = _NEWLINE.split(value)
        if len(parts) == 1:
            self.column += len(value)
        else:
            self.line += len(parts) - 1
            self.column = len(parts[-1])

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.column += len(token)

    def pop_trailing_newline(self) -> None:
        return

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._open.append((self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._open.pop()
        self.found.setdefault(id(node), (*start, self.line, self.column))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = (self.line, self.column)
        yield
        end = (self.line, self.column)
        if start_node is not None:
            start = self.found[id(start_node)][:2]
        if end_node is not None:
            end = self.found[id(end_node)][2:]
        self.found[id(node)] = (*start, *end)


class Placing:
    """Gives made nodes their positions."""

    def __init__(self, module: cst.Module, source: bytes) -> None:
        text = source.removeprefix(b"\xef\xbb\xbf").decode(module.encoding, "replace")
        state = _Positions(module)
        module._codegen(state)
        self.positions = state.found
        self.lines = _NEWLINE.split(text)
        self.needs = (3, 8)

    def need(self, minor: int) -> None:
        """Syntax that came with Python 3.`minor`."""
        self.needs = max(self.needs, (3, minor))

    def offset(self, line: int, column: int) -> int:
        """A column in code points as an offset in UTF-8 bytes."""
        text = self.lines[line - 1]
        # libcst drops a form feed at the start of a line.
        fed = len(text) - len(text.lstrip("\x0c"))
        return fed + len(text[fed : fed + column].encode())

    def put(self, made: Any, node: cst.CSTNode, last: cst.CSTNode | None = None) -> Any:
        """A made node at the place of a libcst node."""
        line, column, end_line, end_column = self.positions[id(node)]
        if last is not None:
            end_line, end_column = self.positions[id(last)][2:]
        made.lineno, made.col_offset = line, self.offset(line, column)
        made.end_lineno, made.end_col_offset = end_line, self.offset(end_line, end_column)
        return made
