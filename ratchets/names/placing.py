"""Places of tokens, and the lines of the statement that a suppression may stand on."""

from __future__ import annotations

import ast

from confbag.ratchets.finding import Place
from confbag.ratchets.names.lexicon import Site, children
from confbag.ratchets.source.parse import Module

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def place(module: Module, node: ast.AST, site: Site, qualname: str | None = None) -> Place:
    """Where the token of a node is that names it: an attribute's name, a definition's name, else the whole node."""
    line, start, end_line, end = token(module, node)
    first, last = span(module, site.statement)
    return Place(
        line,
        module.column(line, start),
        end_line,
        module.column(end_line, end),
        site.scope.qualname if qualname is None else qualname,
        first,
        last,
    )


def token(module: Module, node: ast.AST) -> tuple[int, int, int, int]:
    """Lines and byte offsets of the naming token."""
    if isinstance(node, ast.Call):
        return token(module, node.func)
    if isinstance(node, ast.Attribute):
        line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return line, end - len(node.attr.encode()), line, end
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        # The name follows its keyword, on the line of the statement.
        text = module.line(node.lineno)
        start = text.find(node.name.encode(), node.col_offset + 4)
        if start >= 0:
            return node.lineno, start, node.lineno, start + len(node.name.encode())
        return node.lineno, node.col_offset, node.lineno, node.col_offset
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0  # type: ignore[attr-defined]


def span(module: Module, statement: ast.stmt) -> tuple[int, int]:
    """The first and last line of a simple statement or of a compound one's header."""
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
