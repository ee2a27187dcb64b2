"""Whether an expression is a function or a class rather than a value, a dtype or a member of an enumeration."""

from __future__ import annotations

import ast
import re

from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.names.scopes import Scope, Site

_CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*[A-Z0-9_]\Z|_*[A-Z]\Z")
_CLASS = re.compile(r"_*[A-Z]")
# dtypes, layouts and memory formats by their names in torch, numpy, triton and jax; not functions on them (int8_gemm).
_DTYPE = re.compile(
    r"(b?float|q?u?int|complex|fp|bf|bits)\d+(x\d+|_?e\d+(m\d+)?[a-z]*\d*(_x\d+)?)?(_?dtype)?\Z"
    r"|(bool_?|half|double|long|short|float|cfloat|cdouble|strided|channels_last(_3d)?|(contiguous|preserve)_format)\Z"
)
# What is data by its base: a member or a record of it is no implementation.
_PLAIN_BASES = frozenset({"NamedTuple", "TypedDict"})
_PLAIN_CALLS = frozenset(
    {"int", "float", "bool", "str", "bytes", "complex", "len", "range", "tuple", "list", "dict", "set", "frozenset"}
)
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
_DEPTH = 8


def classes(node: ast.expr, site: Site, lexicon: Lexicon, naming: Naming) -> frozenset[str]:
    """The paths of the class that an expression is; none where it is no class."""
    if kind(node, site, lexicon) != "class":
        return frozenset()
    return naming.of(node, site)


def kind(node: ast.expr, site: Site, lexicon: Lexicon, depth: int = 0) -> str:
    """ "function", "class", or "" where it is neither or cannot be told.

    What another module defines is told by the way it is spelt, so that the answer needs no other module.
    """
    if depth > _DEPTH:
        return ""
    if isinstance(node, ast.Lambda):
        return "function"
    if isinstance(node, ast.Call):
        # functools.partial(function, …) is a function.
        last = _last(node.func)
        return "function" if last == "partial" and node.args and kind(node.args[0], site, lexicon, depth + 1) else ""
    if isinstance(node, ast.Name):
        return _name(node, site, lexicon, depth)
    if isinstance(node, ast.Attribute):
        return _attribute(node, site, lexicon, depth)
    if isinstance(node, ast.IfExp):
        sides = {kind(node.body, site, lexicon, depth + 1), kind(node.orelse, site, lexicon, depth + 1)}
        return "" if "" in sides else sides.pop()
    return ""


def _name(node: ast.Name, site: Site, lexicon: Lexicon, depth: int) -> str:
    found = lookup(node.id, site.scope, site.arm, (node.lineno, node.col_offset))
    if not found:
        # A name of builtins, or of a star import.
        return spelt(node.id) if lexicon.stars else ""
    kinds = set()
    for binding in found:
        if binding.kind == "def":
            kinds.add("function")
        elif binding.kind == "class":
            kinds.add("" if is_plain_class(binding.node) else "class")
        elif binding.kind == "import":
            parent = lexicon.parents.get(binding.node)
            kinds.add("" if isinstance(binding.statement, ast.Import) or parent is not None else spelt(binding.path))
        elif binding.value is not None:
            inner = Site(binding.value, binding.scope, binding.arm, binding.statement)
            kinds.add(kind(binding.value, inner, lexicon, depth + 1))
        else:
            kinds.add("")
    kinds.discard("" if all(_is_none(binding.value) for binding in found if binding.kind == "assign") else "-")
    return kinds.pop() if len(kinds) == 1 else "function" if kinds == {"function", "class"} else ""


def _attribute(node: ast.Attribute, site: Site, lexicon: Lexicon, depth: int) -> str:
    root: ast.expr = node.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return ""
    found = lookup(root.id, site.scope, site.arm, (root.lineno, root.col_offset))
    if isinstance(node.value, ast.Name):
        owner = None
        if len(found) == 1 and found[0].kind == "class":
            owner = lexicon.scope_of.get(found[0].node)
        elif is_receiver(root, site.scope):
            owner = enclosing_class(site.scope)
        if owner is not None:
            return "function" if any(one.kind == "def" for one in owner.bindings.get(node.attr, ())) else ""
    if not found or any(binding.kind != "import" for binding in found):
        return ""
    between = node.value
    while isinstance(between, ast.Attribute):
        if _CLASS.match(between.attr):
            return ""
        between = between.value
    named = [binding.path.rpartition(".")[2] for binding in found if isinstance(binding.statement, ast.ImportFrom)]
    if any(_CLASS.match(name) for name in named):
        # A member of a class that is defined elsewhere: of an enumeration, more often than not.
        return ""
    return spelt(node.attr)


def spelt(path: str) -> str:
    """What a name says by its spelling."""
    last = path.rpartition(".")[2]
    if _DTYPE.match(last) or (_CONSTANT.match(last) and "_" in last.strip("_")) or last.startswith("__"):
        return ""
    return "class" if _CLASS.match(last) else "function"


def enclosing_class(scope: Scope) -> Scope | None:
    """The class whose method a scope is in."""
    for outer in scope.outward():
        if outer.kind == "class":
            return outer
    return None


def is_receiver(node: ast.expr, scope: Scope) -> bool:
    """Whether a name is the first parameter of the method around it."""
    if not isinstance(node, ast.Name):
        return False
    for outer in scope.outward():
        if outer.kind == "function" and outer.parent is not None and outer.parent.kind == "class":
            arguments = outer.node.args  # type: ignore[attr-defined]
            first = [*arguments.posonlyargs, *arguments.args][:1]
            return bool(first) and first[0].arg == node.id
    return False


def is_plain_class(node: ast.AST) -> bool:
    """Whether a class is an enumeration, an exception, or a record: data, and no implementation."""
    if not isinstance(node, ast.ClassDef):
        return False
    bases = [_last(base) for base in node.bases]
    return any(
        base in _PLAIN_BASES or base.endswith(("Enum", "Flag", "Exception", "Error")) or base == "Warning"
        for base in bases
    )


def plain(value: ast.expr) -> bool:
    """Whether a value is certainly a number, a text, a container or a dtype."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.IfExp):
            stack.extend((node.body, node.orelse))
        elif isinstance(node, ast.BinOp):
            stack.extend((node.left, node.right))
        elif isinstance(node, ast.Attribute):
            if not _DTYPE.match(node.attr):
                return False
        elif isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS):
                return False
        elif not (
            isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare, *_DISPLAYS))
            or (isinstance(node, ast.UnaryOp) and (isinstance(node.op, ast.Not) or plain(node.operand)))
        ):
            return False
    return True


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
