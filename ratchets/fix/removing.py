"""The bytes of a statement that goes: its line where it is alone there, `pass` where something must stand."""

from __future__ import annotations

import ast
from collections.abc import Collection

from confbag.ratchets.fix.edits import Edit
from confbag.ratchets.fix.scopes import Scopes
from confbag.ratchets.source.parse import Module

_BLOCKS = ("body", "orelse", "finalbody")


def removals(module: Module, scopes: Scopes, gone: Collection[ast.stmt]) -> tuple[list[Edit], dict[ast.AST, bool]]:
    """One edit for each statement, and whether a `pass` takes its place."""
    edits: list[Edit] = []
    passes: dict[ast.AST, bool] = {}
    for statement in gone:
        block = block_of(statement, scopes)
        last = all(other in gone for other in block) and statement is block[-1]
        edit = Edit(module.start(statement), module.end(statement), "pass") if last else removal(module, statement)
        edits.append(edit)
        passes[statement] = edit.text == "pass"
    return edits, passes


def block_of(statement: ast.stmt, scopes: Scopes) -> list[ast.stmt]:
    """The statements that one stands among."""
    parent = scopes.parents[statement]
    for name in _BLOCKS:
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block
    raise LookupError(f"line {statement.lineno}: no block holds the statement")


def removal(module: Module, statement: ast.stmt) -> Edit:
    """The edit for one statement that others stand beside. A comment behind it stays."""
    start, end = module.start(statement), module.end(statement)
    number = statement.end_lineno or statement.lineno
    line_start = module.starts[statement.lineno - 1]
    line_end = module.starts[number] if number < len(module.starts) else len(module.utf8)
    before = module.utf8[line_start:start]
    after = module.utf8[end:line_end]
    rest = after.lstrip()
    continued = statement.lineno > 1 and module.line(statement.lineno - 1).rstrip(b"\r\n").endswith(b"\\")
    if before.strip() or continued:
        return Edit(start, end, "pass")
    if rest.startswith(b";"):
        rest = rest[1:].lstrip()
    if not rest:
        # A form feed before it starts a page, not the statement.
        return Edit(start if b"\x0c" in before else line_start, line_end, "")
    return Edit(start, line_end - len(rest), "")
