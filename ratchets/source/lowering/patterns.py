"""Patterns of a match in the vocabulary of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import libcst as cst

from confbag.ratchets.source.lowering.expressions import CONSTANTS, Expressions
from confbag.ratchets.source.lowering.placing import Placing


class Patterns:
    """Makes patterns."""

    def __init__(self, placing: Placing, expressions: Expressions) -> None:
        self.put = placing.put
        self.expression = expressions.lower

    def lower(self, node: cst.CSTNode) -> Any:
        """One pattern of a case."""
        made = _PATTERNS[type(node).__name__](self, node)
        return made if hasattr(made, "lineno") else self.put(made, node)

    def _match_class(self, node: cst.MatchClass) -> ast.pattern:
        return ast.MatchClass(
            self.expression(node.cls),
            [self.lower(element.value) for element in node.patterns],
            [element.key.value for element in node.kwds],
            [self.lower(element.pattern) for element in node.kwds],
        )

    def _match_mapping(self, node: cst.MatchMapping) -> ast.pattern:
        return ast.MatchMapping(
            [self.expression(element.key) for element in node.elements],
            [self.lower(element.pattern) for element in node.elements],
            node.rest.value if node.rest is not None else None,
        )

    def _match_sequence(self, node: cst.MatchList | cst.MatchTuple) -> ast.pattern:
        return ast.MatchSequence(
            [self.lower(part if isinstance(part, cst.MatchStar) else part.value) for part in node.patterns]
        )

    def _match_as(self, node: cst.MatchAs) -> ast.pattern:
        inner = self.lower(node.pattern) if node.pattern is not None else None
        return ast.MatchAs(inner, node.name.value if node.name is not None else None)


_PATTERNS: dict[str, Callable[[Patterns, Any], ast.pattern]] = {
    "MatchValue": lambda self, node: ast.MatchValue(self.expression(node.value)),
    "MatchSingleton": lambda self, node: ast.MatchSingleton(CONSTANTS[node.value.value]),
    "MatchAs": Patterns._match_as,
    "MatchOr": lambda self, node: ast.MatchOr([self.lower(element.pattern) for element in node.patterns]),
    "MatchClass": Patterns._match_class,
    "MatchMapping": Patterns._match_mapping,
    "MatchList": Patterns._match_sequence,
    "MatchTuple": Patterns._match_sequence,
    "MatchStar": lambda self, node: ast.MatchStar(node.name.value if node.name is not None else None),
}
