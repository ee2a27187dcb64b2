"""One call while it is judged."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from confbag.ratchets.binder.values import NOTHING, Value


@dataclass(eq=False)
class Call:
    """One call with its arguments evaluated. `nodes` are the expressions, where there are any."""

    node: ast.AST
    args: list[Value]
    nodes: list[ast.AST]
    keywords: list[tuple[str | None, Value, ast.AST]]
    spread: bool = False
    rest: Value = NOTHING  # what is given with a star after the arguments

    def argument(self, index: int) -> Value:
        return self.args[index] if index < len(self.args) else NOTHING

    def keyword(self, name: str) -> Value:
        for held, value, _ in self.keywords:
            if held == name:
                return value
        return NOTHING
