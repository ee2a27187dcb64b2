"""The fields table: for each field of a record the expression to read instead, and its import."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from confbag.ratchets.config.toml_table import Table
from confbag.ratchets.config.toml_text import read
from confbag.ratchets.configuration import Replacement
from confbag.ratchets.faults import Fault


def read_fields(record: Table, root: Path) -> dict[str, Replacement]:
    """`field = {read = "get_exec().graph", import = "from engine import get_exec"}`, one line a field."""
    written, faults = record.text("fields"), record.faults
    try:
        content = (root / written).read_bytes()
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); write it with `confbag schema --accessors`"
        record.fault(f"{written!r} {reason}", "fields")
        return {}
    # Beside the configuration, and named as that is.
    document = read(os.path.join(os.path.dirname(record.document.name), written), content)
    if isinstance(document, Fault):
        faults.append(document)
        return {}
    whole = Table(document, (), document.tables, faults)
    fields = {}
    for field in document.tables:
        before = len(faults)
        table = whole.table(field)
        expression = table.text("read")
        inverted = table.flag("inverted")
        imports = _imports(table)
        table.close()
        if not field.isidentifier():
            whole.fault(f"`{field}` is no name of a field", field)
        if not table.has("read") and before == len(faults):
            whole.fault(f'`{field}` says nothing to read; write {{read = "EXPRESSION", import = "STATEMENT"}}', field)
        replacement = _replacement(expression, imports, inverted) if expression else None
        if replacement is None and expression:
            table.fault(f"`{expression}` is no expression of Python", "read")
        if replacement is not None and before == len(faults):
            fields[field] = replacement
    return fields


def _imports(table: Table) -> tuple[str, ...]:
    value = table.values.get("import")
    statements = (table.text("import"),) if isinstance(value, str) else table.texts("import")
    for statement in statements:
        if not _is_import(statement):
            table.fault(f"`{statement}` is no import statement; write `from MODULE import NAME`", "import")
    return statements


def _is_import(statement: str) -> bool:
    try:
        body = ast.parse(statement).body
    except (SyntaxError, ValueError):
        return False
    return len(body) == 1 and isinstance(body[0], (ast.Import, ast.ImportFrom))


def _replacement(expression: str, imports: tuple[str, ...], inverted: bool) -> Replacement | None:
    """`not EXPRESSION` is an inverted field."""
    try:
        node = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        text = ast.get_source_segment(expression.strip(), node.operand) or ast.unparse(node.operand)
        return Replacement(text, imports, not inverted)
    return Replacement(expression.strip(), imports, inverted)
