"""Where things stand in the text: tokens, and the lines of the statement that is walked."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.names import Names
from confbag.ratchets.finding import Place
from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.places import Span, header, raw_token, token
from confbag.ratchets.source.tree import children


class Places:
    """Positions of tokens and statements."""

    def __init__(self, module: Module, names: Names) -> None:
        self.module = module
        self.names = names
        self.span = (0, 0)  # the lines of the statement that is walked
        self.inexact = False  # a token in an f-string is not where the tree says
        self.in_text = 0  # how many f-strings are around what is walked
        self._headers: dict[ast.AST, tuple[int, int]] = {}
        self._holding: dict[ast.Lambda, ast.stmt] | None = None

    def begin(self) -> None:
        """A pass begins."""
        self.inexact = False

    def at(self, line: int, start: int, end_line: int, end: int) -> Place:
        """The place of a token, from offsets as `ast` counts them."""
        module = self.module
        first, last = self.span
        return Place(
            line,
            module.column(line, start),
            end_line,
            module.column(end_line, end),
            self.names.scope.qualname,
            first,
            last,
        )

    def token(self, node: ast.AST) -> Place:
        """The token that names a thing: the attribute's name, the callee's name, or the whole expression."""
        if self.in_text and not self.module.exact:
            span = raw_token(node)
            self._check(node, span)
        else:
            span = token(self.module, node)
        return self.at(*span)

    def _check(self, node: ast.AST, span: Span) -> None:
        """Whether the place inside an f-string is where the text has it."""
        while isinstance(node, ast.Call):
            node = node.func
        line, start, _, end = span
        if line > len(self.module.starts):
            self.inexact = True
            return
        found = self.module.line(line)[start:end]
        if isinstance(node, ast.Attribute):
            fits = found == node.attr.encode()
        elif isinstance(node, ast.Name):
            fits = found == node.id.encode()
        else:
            fits = found[:1] in (b"'", b'"') or not isinstance(node, ast.Constant)
        if not fits:
            self.inexact = True

    def enter(self, statement: ast.stmt | ast.ExceptHandler) -> None:
        """A compound statement's header is what is walked now."""
        found = self._headers.get(statement)
        if found is None:
            found = self._headers[statement] = header(self.module, statement)
        self.span = found

    def enter_lambda(self, node: ast.Lambda) -> None:
        """What is walked now is the statement that holds a lambda."""
        if self._holding is None:
            self._holding = _lambdas(self.module.tree)
        self.enter(self._holding[node])


def _lambdas(tree: ast.Module) -> dict[ast.Lambda, ast.stmt]:
    """Every lambda with the innermost statement that holds it."""
    found: dict[ast.Lambda, ast.stmt] = {}
    stack: list[tuple[ast.AST, ast.stmt]] = [(statement, statement) for statement in tree.body]
    while stack:
        node, statement = stack.pop()
        if isinstance(node, ast.stmt):
            statement = node
        elif isinstance(node, ast.Lambda):
            found[node] = statement
        stack.extend((child, statement) for child in children(node))
    return found
