"""What is asked of a tree wherever it is walked: the nodes under a node, the parameters of a function."""

# ratchet: allow-file CB121 -- the fields of a node class never change

from __future__ import annotations

import ast

_SKIPPED = frozenset({"ctx", "op", "ops", "lineno", "col_offset", "end_lineno", "end_col_offset", "type_comment"})
# Lists that hold names, or None where there is nothing.
_GAPS = frozenset({"kw_defaults", "keys", "kwd_attrs", "names"})
_FIELDS: dict[type, tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right under a node; contexts and operators left out."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _SKIPPED)
    found: list[ast.AST] = []
    for name in names:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [part for part in value if isinstance(part, ast.AST)] if name in _GAPS else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Every parameter in order; the starred ones last."""
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.vararg:
        found.append(arguments.vararg)
    if arguments.kwarg:
        found.append(arguments.kwarg)
    return found
