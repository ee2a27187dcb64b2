"""Where things stand in the text: the token that names a thing, and the lines of a statement's header."""

from __future__ import annotations

import ast

from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.tree import children

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
Span = tuple[int, int, int, int]


def raw_token(node: ast.AST) -> Span:
    """Lines and byte offsets of an attribute's name, a callee's name, or the whole expression: as the tree has them."""
    while isinstance(node, ast.Call):
        node = node.func
    line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    if isinstance(node, ast.Attribute):
        return end_line, end - len(node.attr.encode()), end_line, end
    return line, start, end_line, end


def token(module: Module, node: ast.AST) -> Span:
    """The same as the text has it: the tree gives names in NFKC, the text may spell them otherwise."""
    while isinstance(node, ast.Call):
        node = node.func
    line, start, end_line, end = raw_token(node)
    if not isinstance(node, ast.Attribute) or module.line(line)[start:end] == node.attr.encode():
        return line, start, end_line, end
    text = module.line(line)[:end].decode("utf-8", "replace")
    name = len(text)
    while name and (text[name - 1].isalnum() or text[name - 1] == "_"):
        name -= 1
    return line, len(text[:name].encode()), end_line, end


def header(module: Module, statement: ast.stmt | ast.ExceptHandler) -> tuple[int, int]:
    """The first and last line of a simple statement, or of a compound one's header, with its decorators."""
    body = getattr(statement, "body", None)
    if not isinstance(body, list):
        inner = getattr(statement, "cases", None)
        if not inner:
            return statement.lineno, statement.end_lineno or statement.lineno
        body = [inner[0].pattern]
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    blocks = {id(part) for name in _BLOCKS for part in getattr(statement, name, ())}
    last = statement.lineno
    for part in children(statement):
        if id(part) not in blocks:
            last = max(last, getattr(part, "end_lineno", 0) or 0, *_ends(part))
    starts = [one.lineno for one in (*getattr(body[0], "decorator_list", ()), body[0])] if body else [last]
    for number in range(last, min(starts)):
        if module.line(number).partition(b"#")[0].rstrip().endswith(b":"):
            return first, number
    return first, last


def _ends(node: ast.AST) -> list[int]:
    """Ends of parts of a node that has no place itself (the parameters of a function)."""
    return [getattr(part, "end_lineno", 0) or 0 for part in children(node)] or [0]
