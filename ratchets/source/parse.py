"""One file's bytes to one tree, behind guards: size, `ast`, nesting depth, then libcst for what `ast` cannot read.

The tree has the vocabulary of `ast` whichever parser read it; `newer` lowers libcst's to it.
"""

from __future__ import annotations

import ast
import codecs
import gc
import io
import sys
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from confbag.ratchets.finding import Unanalysed
from confbag.ratchets.source.tree import children

MAX_DEPTH = 1000


@dataclass(eq=False)
class Module:
    """A file that could be read: its bytes, its module name and its tree."""

    path: str
    name: str
    package: bool
    source: bytes
    tree: ast.Module
    large: bool = False
    exact: bool = sys.version_info >= (3, 12)  # before, `ast` misplaces what stands in an f-string

    @property
    def parent(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.package else self.name.rpartition(".")[0]

    @cached_property
    def encoding(self) -> str:
        """The encoding that the cookie names; UTF-8 without one."""
        return _encoding(self.source)

    @cached_property
    def utf8(self) -> bytes:
        """The text that positions of the tree count in: UTF-8 without a byte order mark."""
        return _utf8(self.source, self.encoding)

    @cached_property
    def starts(self) -> list[int]:
        """The offset in `utf8` of each line."""
        found = list(accumulate(map(len, self.utf8.splitlines(keepends=True)), initial=0))
        # Behind a last line without an end none starts.
        return found if self.utf8.endswith((b"\n", b"\r")) or not self.utf8 else found[:-1]

    def line(self, number: int) -> bytes:
        """One line (1-based) of `utf8`, with its end."""
        starts = self.starts
        return self.utf8[starts[number - 1] : starts[number] if number < len(starts) else None]

    def column(self, line: int, offset: int) -> int:
        """The 1-based column in code points of a byte offset in a line."""
        return len(self.line(line)[:offset].decode("utf-8", "replace")) + 1

    def start(self, node: Any) -> int:
        """The offset in `utf8` where a node starts."""
        line: int = node.lineno
        offset: int = node.col_offset
        return self.starts[line - 1] + offset

    def end(self, node: Any) -> int:
        """The offset in `utf8` where a node ends."""
        line: int = node.end_lineno
        offset: int = node.end_col_offset
        return self.starts[line - 1] + offset

    def original(self, offset: int) -> int:
        """The offset in `source` of an offset in `utf8`."""
        if self.encoding == "utf-8":
            return offset + (len(codecs.BOM_UTF8) if self.source.startswith(codecs.BOM_UTF8) else 0)
        return len(self.utf8[:offset].decode("utf-8").encode(self.encoding))


def parse(path: str, name: str, package: bool, source: bytes, max_bytes: int) -> Module | Unanalysed:
    """The module, or why there is none."""
    tree = parse_tree(source)
    if isinstance(tree, str):
        return Unanalysed(path, tree)
    if isinstance(tree, SyntaxError):
        from confbag.ratchets.source import newer

        try:
            lowered = newer.read(source) if len(source) <= max_bytes else None
        except newer.Unread as error:
            return Unanalysed(path, f"{tree.msg} for this Python, and {error}", tree.lineno or 0, lasting=False)
        if lowered is None:
            return Unanalysed(path, f"syntax error: {tree.msg}", tree.lineno or 0)
        tree = lowered
    module = Module(path, name, package, source, tree, len(source) > max_bytes)
    if too_deep(module):
        return Unanalysed(path, f"nested deeper than {MAX_DEPTH}")
    return module


def parse_tree(source: bytes) -> ast.Module | SyntaxError | str:
    """What `ast` says: a tree, a syntax error, or another reason in words."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        if "too many nested parentheses" in (error.msg or ""):
            return f"nested deeper than {MAX_DEPTH}"
        return error
    except ValueError as error:
        return f"not Python source: {error}"
    except (RecursionError, MemoryError):
        return f"nested deeper than {MAX_DEPTH}"
    finally:
        if enabled:
            gc.enable()


def _encoding(source: bytes) -> str:
    try:
        found, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:
        # CPython accepts undecodable bytes in comments; so do positions, which stand before them.
        return "utf-8"
    return "utf-8" if found in ("utf-8", "utf-8-sig") else found


def _utf8(source: bytes, encoding: str) -> bytes:
    if encoding == "utf-8":
        return source.removeprefix(codecs.BOM_UTF8)
    return source.decode(encoding).encode("utf-8")


def too_deep(module: Module) -> bool:
    """Whether an expression nests too deep to walk; a chain of elif does not nest."""
    # A level takes at least one byte: only long statements are looked into.
    size = len(module.utf8)
    if size <= MAX_DEPTH:
        return False
    starts = [*module.starts, size]
    last = len(starts) - 1
    stack: list[Any] = list(module.tree.body)
    while stack:
        node = stack.pop()
        first = getattr(node, "lineno", None)
        if first is not None and starts[min(node.end_lineno or first, last)] - starts[first - 1] <= MAX_DEPTH:
            continue
        for child in children(node):
            if not isinstance(child, ast.expr):
                stack.append(child)
            elif starts[min(child.end_lineno or 0, last)] - starts[child.lineno - 1] > MAX_DEPTH and _deep(child):
                return True
    return False


def _deep(root: ast.AST) -> bool:
    level: list[ast.AST] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True
