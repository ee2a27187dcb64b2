"""A result held against what was meant: the tree it has must be the old one with the changes made, and no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from confbag.ratchets.finding import Finding
from confbag.ratchets.fix.edits import Changes
from confbag.ratchets.fix.scopes import binds

_Pair = tuple[Any, Any]


def as_meant(before: ast.Module, changes: Changes, after: ast.Module) -> bool:
    """Whether one tree is the other with the changes made. Walked, not recursed into."""
    position, added = changes.added
    stack: list[_Pair] = [(_body(before.body, changes, position, added), after.body)]
    while stack:
        old, new = stack.pop()
        if isinstance(old, ast.AST) and old in changes.read:
            old = changes.read[old]
        if isinstance(old, list):
            expected = [_kept(part, changes) for part in old if changes.removed.get(part, True)] if _trees(old) else old
            if not isinstance(new, list) or len(expected) != len(new):
                return False
            stack.extend(zip(expected, new, strict=True))
        elif isinstance(old, ast.AST):
            if type(old) is not type(new):
                return False
            stack.extend(_fields(old, new))
        elif type(old) is not type(new) or old != new:
            return False
    return True


def _trees(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, ast.AST) for value in values)


def _body(body: list[ast.stmt], changes: Changes, position: int, added: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [*body[:position], *added, *body[position:]]


def _kept(part: ast.AST, changes: Changes) -> ast.AST:
    if part in changes.removed:
        return ast.Pass()
    names = changes.trimmed.get(part)
    if names and isinstance(part, ast.ImportFrom):
        left = [alias for alias in part.names if binds(ast.ImportFrom("", [alias], 0))[0] not in names]
        return ast.ImportFrom(part.module, left, part.level)
    return part


def _fields(old: ast.AST, new: ast.AST) -> Iterator[_Pair]:
    for name in old._fields:
        # `u"text"` and a comment that a type checker reads are not of the tree's meaning.
        if name not in ("kind", "type_comment"):
            yield getattr(old, name, None), getattr(new, name, None)


def worse(before: Sequence[Finding], after: Sequence[Finding], done: Sequence[Finding]) -> bool:
    """Whether a finding is there now that was not there before; those that were ended count as gone."""
    left = [finding.key for finding in before]
    for finding in done:
        left.remove(finding.key)
    for finding in after:
        if finding.key not in left:
            return True
        left.remove(finding.key)
    return False
