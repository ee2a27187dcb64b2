"""Places of tokens, as findings name them."""

from __future__ import annotations

import ast

from confbag.ratchets.finding import Place
from confbag.ratchets.names.scopes import Site
from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.places import Span, header, raw_token, token


def place(module: Module, node: ast.AST, site: Site, qualname: str | None = None) -> Place:
    """Where the token of a node is that names it: an attribute's name, a definition's name, else the whole node."""
    line, start, end_line, end = _token(module, node)
    first, last = header(module, site.statement)
    return Place(
        line,
        module.column(line, start),
        end_line,
        module.column(end_line, end),
        site.scope.qualname if qualname is None else qualname,
        first,
        last,
    )


def _token(module: Module, node: ast.AST) -> Span:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        # The name follows its keyword, on the line of the statement.
        text = module.line(node.lineno)
        start = text.find(node.name.encode(), node.col_offset + 4)
        if start >= 0:
            return node.lineno, start, node.lineno, start + len(node.name.encode())
        return node.lineno, node.col_offset, node.lineno, node.col_offset
    return token(module, node) if module.exact else raw_token(node)
