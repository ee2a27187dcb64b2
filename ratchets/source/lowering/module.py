"""One file, read by libcst, as a module of `ast`."""

from __future__ import annotations

import ast

import libcst as cst

from confbag.ratchets.source.lowering.expressions import Expressions
from confbag.ratchets.source.lowering.patterns import Patterns
from confbag.ratchets.source.lowering.placing import Placing
from confbag.ratchets.source.lowering.statements import Statements


def lower(source: bytes) -> tuple[ast.Module, tuple[int, int]]:
    """The tree, and the oldest Python that could have read its syntax."""
    module = cst.parse_module(source)
    placing = Placing(module, source)
    expressions = Expressions(placing)
    statements = Statements(placing, expressions, Patterns(placing, expressions))
    body = statements.block(module.body)
    return ast.Module(body=body, type_ignores=[]), placing.needs
