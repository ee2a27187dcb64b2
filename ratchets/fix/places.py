"""Where a new expression may stand for an old one, and with which parentheses."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Collection

from confbag.ratchets.fix.scopes import Scopes
from confbag.ratchets.source.comments import comments
from confbag.ratchets.source.parse import Module

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)
_DOES_MORE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_TIGHT = (ast.BinOp, ast.Compare, ast.Attribute, ast.Await, ast.Starred)
_QUOTED = re.compile(r"[\"'\\#{}\n]")
_SELF_DOCUMENTING = re.compile(rb"\s*=\s*(?:[!:}])")


def refusal(module: Module, scopes: Scopes, read: ast.expr, text: str, fetchers: Collection[str]) -> str:
    """Why an expression must not be replaced; empty where it may. `fetchers` are the last names of accessors."""
    if not isinstance(getattr(read, "ctx", ast.Load()), ast.Load):
        return "it is written to here"
    for node in ast.walk(read):
        if isinstance(node, _DOES_MORE):
            return "it does more than read: a name is bound, or something is awaited, in it"
        if isinstance(node, ast.Call) and not all(_plain(part, fetchers) for part in _given(node)):
            return "it does more than read: something is called in it"
    for above in scopes.above(read):
        if isinstance(above, ast.stmt):
            break
        if isinstance(above, ast.FormattedValue):
            if _QUOTED.search(text):
                return "what to write instead cannot stand in an f-string"
            if _SELF_DOCUMENTING.match(module.utf8, module.end(above.value)):
                return "the f-string prints the expression itself (`{...=}`)"
    if kept_comments(module, read) and module.utf8[module.end(read) : _line_end(module, module.end(read))].strip():
        return "a comment stands in the middle of it"
    return ""


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _plain(node: ast.expr, fetchers: Collection[str]) -> bool:
    """Whether evaluating an argument does nothing but fetch."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return True
    if isinstance(node, (ast.Attribute, ast.Starred)):
        return _plain(node.value, fetchers)
    if isinstance(node, ast.Subscript):
        return _plain(node.value, fetchers) and _plain(node.slice, fetchers)
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(_plain(part, fetchers) for part in node.elts)
    if isinstance(node, ast.Call):
        last = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return not _given(node) and last in fetchers
    return False


def kept_comments(module: Module, read: ast.expr) -> list[str]:
    """The comments inside an expression, which stay though it goes."""
    start, end = module.start(read), module.end(read)
    if b"#" not in module.utf8[start:end]:
        return []
    kept: list[str] = []
    for line, column, text in comments(module.source):
        before = module.line(line).decode("utf-8", "replace")[: column - 1]
        if start <= module.starts[line - 1] + len(before.encode()) < end:
            kept.append(text)
    return kept


def _line_end(module: Module, offset: int) -> int:
    number = bisect_right(module.starts, offset)
    return module.starts[number] if number < len(module.starts) else len(module.utf8)


def fitted(module: Module, scopes: Scopes, read: ast.expr, text: str) -> str:
    """The new text, in parentheses where what stands around it binds tighter, with the comments of the old one."""
    made = ast.parse(text, mode="eval").body
    if isinstance(made, ast.Tuple) or (
        not isinstance(made, _ATOMS) and _binds_tighter(made, read, scopes) and not _enclosed(module, read)
    ):
        text = f"({text})"
    return "  ".join([text, *kept_comments(module, read)])


def _binds_tighter(made: ast.expr, read: ast.expr, scopes: Scopes) -> bool:
    if not (isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Not)):
        return True
    parent = scopes.parents.get(read)
    if isinstance(parent, ast.Call):
        return parent.func is read
    if isinstance(parent, ast.Subscript):
        return parent.value is read
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.Dict):
        # `{**value}`
        return any(key is None and value is read for key, value in zip(parent.keys, parent.values, strict=True))
    return isinstance(parent, _TIGHT)


def _enclosed(module: Module, read: ast.expr) -> bool:
    """Whether it stands alone between parentheses, its own or those of a call."""
    before = module.utf8[: module.start(read)].rstrip()
    return before.endswith(b"(") and module.utf8[module.end(read) :].lstrip().startswith(b")")
