"""A quick, over-approximating look: which functions of a file may hand back, or keep, what a call gives them.

The others' summaries say only which fields they read, which nobody but CB104 asks: without that rule, another module
that hands a record to them needs no answer, and the file is not bound for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from confbag.ratchets.source.parse import parse_tree
from confbag.ratchets.source.tree import children, parameters

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
# What is tested, or computed from parts, is no whole object.
_TESTED = (ast.Compare, ast.JoinedStr, ast.Constant)


def silent(source: bytes, names: Collection[str]) -> frozenset[str]:
    """Of some qualnames those of functions that certainly neither give back what they are given nor put it anywhere,
    and of classes of which that can be said of a call. Only their own lines are parsed."""
    found: set[str] = set()
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            # What a star gives, or what a call does, is another question.
            continue
        holder, _, last = name.rpartition(".")
        method = bool(holder) and any(_definitions(source, holder.rpartition(".")[2], b"class"))
        # Every definition counts: which of them the name is depends on where it stands.
        told = [decorated or _tells(lines, method) for lines, decorated in _definitions(source, last)]
        if told and not any(told):
            found.add(name)
    return frozenset(found)


def _definitions(source: bytes, name: str, kind: bytes = rb"(?:async[ \t]+)?def|class") -> Iterator[tuple[bytes, bool]]:
    """The lines of each definition of a name, wherever it stands, and whether it may be decorated."""
    for match in re.finditer(rb"^([ \t]*)(?:" + kind + rb")[ \t]+" + name.encode() + rb"\b", source, re.MULTILINE):
        # It ends before the next line that starts no deeper; comments and what closes a bracket start nothing.
        outside = re.compile(rb"^(?!" + match[1] + rb"[ \t]|[ \t]*(?:[#)\]}]|\r?$))", re.MULTILINE)
        end = outside.search(source, match.end())
        yield source[match.start() : end.start() if end else None], _decorated(source[: match.start()], len(match[1]))


def _decorated(before: bytes, indent: int) -> bool:
    """Whether the statement before a definition may be a decorator: the last line that starts one says so."""
    end = len(before)
    while end > 0:
        start = before.rfind(b"\n", 0, end - 1) + 1
        line = before[start:end].rstrip()
        text = line.lstrip()
        if text and not text.startswith((b"#", b")", b"]", b"}")) and len(line) - len(text) <= indent:
            return text.startswith(b"@")
        end = start
    return False


def _tells(lines: bytes, method: bool) -> bool:
    tree = parse_tree(b"if 1:\n" + lines if lines[:1] in (b" ", b"\t") else lines)
    if not isinstance(tree, ast.Module):
        return True
    node: ast.AST = tree.body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    if isinstance(node, ast.ClassDef):
        return any(isinstance(child, _FUNCTIONS) and child.name == "__new__" for child in node.body)
    # What a constructor returns is nobody's.
    return not isinstance(node, _FUNCTIONS) or (node.name != "__init__" and _hands_on(node, method))


def _hands_on(node: _Function, method: bool) -> bool:
    names = [parameter.arg for parameter in parameters(node.args)]
    own = names[0] if method and names else None
    held = set(names) - {own}
    if not held:
        return False
    flows = list(_flows(node.body))
    size = -1
    while size != len(held):
        size = len(held)
        for target, value in flows:
            if target is not None and _carried(value) & held:
                held.update(_bound(target))
    for target, value in flows:
        carried = _carried(value) & held
        if not carried:
            continue
        if target is None or any(not isinstance(part, ast.Name) for part in _parts(target)):
            return True
    return _tells_others(node.body, held, own)


def _flows(body: list[ast.stmt]) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Targets with what they get; no target where a value leaves the function, or may."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Raise)):
            value = node.exc if isinstance(node, ast.Raise) else node.value
            if value is not None:
                yield None, value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            if node.value is not None:
                yield node.target, node.value
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield node.target, node.iter
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield node.optional_vars, node.context_expr
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda, ast.Match, ast.Global, ast.Nonlocal)):
            # Closures and patterns are the binder's.
            for name in ast.walk(node):
                if isinstance(name, ast.Name):
                    yield None, name
        stack.extend(children(node))


def _tells_others(body: list[ast.stmt], held: set[str], own: str | None) -> bool:
    """Whether a call is given one thing and has another, or self, in which to put it."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            given = set().union(*(_carried(part) for part in node.args))
            given = given.union(*(_carried(keyword.value) for keyword in node.keywords))
            if given & held:
                base = node.func.value if isinstance(node.func, ast.Attribute) else None
                others = given | (_carried(base) if base is not None else set())
                if len(others & held) > 1 or (own is not None and base is not None and own in _names(base)):
                    return True
        stack.extend(children(node))
    return False


def _carried(node: ast.expr) -> set[str]:
    """The names that a value may hold whole, or have been given."""
    found: set[str] = set()
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.IfExp):
            stack += [part.body, part.orelse]
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            # What is called on a container may give what is in it.
            stack += [part.func.value, *part.args, *(keyword.value for keyword in part.keywords)]
        elif isinstance(part, ast.Attribute):
            # A field of it.
            if not isinstance(part.value, ast.Name):
                stack.append(part.value)
        elif not isinstance(part, _TESTED):
            stack += children(part)
    return found


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    stack = [target]
    while stack:
        part = stack.pop()
        if isinstance(part, (ast.Tuple, ast.List)):
            stack += part.elts
        elif isinstance(part, ast.Starred):
            stack.append(part.value)
        else:
            yield part


def _bound(target: ast.expr) -> set[str]:
    return {part.id for part in _parts(target) if isinstance(part, ast.Name)}
