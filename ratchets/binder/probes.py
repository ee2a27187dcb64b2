"""Whether a name that took the record is asked for anything but whether there is one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_TESTED = (ast.If, ast.While, ast.IfExp, ast.Assert)
_EQUAL = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)


def probed(nodes: Iterable[ast.AST], name: str) -> str:
    """How all uses of a name ask: "truth", "none" where some compare it with None, "" for another or no use."""
    found = ""
    stores = 0
    stack: list[tuple[ast.AST, bool]] = [(node, False) for node in nodes]
    while stack:
        node, test = stack.pop()
        if isinstance(node, ast.Name):
            if node.id == name:
                if not isinstance(node.ctx, ast.Load):
                    stores += 1
                elif not test:
                    return ""
                else:
                    found = found or "truth"
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _EQUAL):
            sides = (node.left, node.comparators[0])
            if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
                for side in sides:
                    if isinstance(side, ast.Name) and side.id == name:
                        found = "none"
                    else:
                        stack.append((side, False))
                continue
        if isinstance(node, ast.BoolOp):
            last = len(node.values) - 1
            conjunction = isinstance(node.op, ast.And)
            for index, value in enumerate(node.values):
                stack.append((value, test or (conjunction and index < last)))
            continue
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            stack.append((node.operand, True))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool" and node.args:
            stack.extend((part, True) for part in node.args)
            continue
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return ""
        for child in ast.iter_child_nodes(node):
            tested = isinstance(node, _TESTED) and child is node.test
            tested = tested or (isinstance(node, ast.comprehension) and child in node.ifs)
            stack.append((child, tested))
    return found if stores == 1 else ""
