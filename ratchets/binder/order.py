"""An order for the bodies of functions in which what one leaves is there for the next: fewer passes over a module."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from confbag.ratchets.binder.tables import FunctionFacts
from confbag.ratchets.source.tree import children


class Order:
    """Functions by the names that they use, after those by which such a name gets its value."""

    def __init__(self) -> None:
        self._names: dict[ast.AST, tuple[set[str], set[str]]] = {}

    def of(self, queue: list[FunctionFacts]) -> list[FunctionFacts]:
        """The same functions, those that others stand on first."""
        givers: dict[str, list[int]] = {}
        for index, facts in enumerate(queue):
            for name in self._of(facts)[1]:
                givers.setdefault(name, []).append(index)
        found: list[FunctionFacts] = []
        begun: set[int | str] = set()
        for start in range(len(queue)):
            # A number is a function, a text a name that functions give a value.
            stack: list[tuple[int | str, list[int | str] | None]] = [(start, None)]
            while stack:
                item, left = stack.pop()
                if left is None:
                    if item in begun:
                        continue
                    begun.add(item)
                    left = (
                        list(givers[item])
                        if isinstance(item, str)
                        else sorted(name for name in self._of(queue[item])[0] if name in givers)
                    )
                if left:
                    stack.append((item, left))
                    stack.append((left.pop(), None))
                elif isinstance(item, int):
                    found.append(queue[item])
        return found

    def _of(self, facts: FunctionFacts) -> tuple[set[str], set[str]]:
        """The names that a function uses, and those that it gives: its own, attributes, other functions' names."""
        known = self._names.get(facts.node)
        if known is None:
            uses: set[str] = set()
            gives: set[str] = {facts.name.rpartition(".")[2]}
            for node in _within(facts.node):
                if isinstance(node, ast.Attribute):
                    (uses if isinstance(node.ctx, ast.Load) else gives).add(node.attr)
                elif isinstance(node, ast.Name):
                    uses.add(node.id)
                elif isinstance(node, (ast.Global, ast.Nonlocal)):
                    gives.update(node.names)
            known = self._names[facts.node] = (uses, gives)
        return known


def _within(node: ast.AST) -> Iterable[ast.AST]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))
