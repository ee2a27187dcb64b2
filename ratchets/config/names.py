"""Whether a dotted name that the configuration gives is there: its module under a source, and the name in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from confbag.ratchets.configuration import Source


def missing(dotted: str, root: Path, sources: tuple[Source, ...]) -> str | None:
    """Why a dotted name is nothing; None where it is there. What follows a call cannot be known and is not asked."""
    parts = dotted.partition("(")[0].split(".")
    if len(parts) < 2:
        return "write it with its module: module.name"
    nearest = ""
    for length in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:length])
        for place in _modules(module, root, sources):
            if place.is_dir():
                continue
            name = parts[length]
            if _binds(place, name):
                return None
            nearest = nearest or f"{place.relative_to(root).as_posix()} has no `{name}`"
    if nearest:
        return nearest
    looked = ", ".join(f'"{source.path}"' for source in sources)
    return f"no module {'.'.join(parts[:-1])} under source {looked}"


def _modules(module: str, root: Path, sources: tuple[Source, ...]) -> Iterator[Path]:
    for source in sources:
        rest = module
        if source.module:
            if module != source.module and not module.startswith(source.module + "."):
                continue
            rest = module[len(source.module) + 1 :]
        base = root / source.path
        inside = base.joinpath(*rest.split(".")) if rest else base
        for candidate in (inside.with_name(inside.name + ".py"), inside / "__init__.py"):
            if candidate.is_file():
                yield candidate


def _binds(file: Path, name: str) -> bool:
    try:
        content = file.read_bytes()
    except OSError:
        return False
    word = re.escape(name.encode())
    # A file of a megabyte takes long to parse; a plain statement at its margin is seen at once.
    if re.search(rb"^(?:(?:async[ \t]+)?def|class)[ \t]+" + word + rb"\b|^" + word + rb"[ \t]*[:=]", content, re.M):
        return True
    # "*": what a star brings is not looked up, and a module's __getattr__ may give any name.
    if re.search(rb"\b" + word + rb"\b|\bimport[ \t]*\*|\b__getattr__\b", content) is None:
        return False
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True  # the check itself says that the file cannot be analysed
    return bool({name, "*", "__getattr__"} & set(_bound(tree.body)))


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements of a module bind, in whatever block they stand."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
            yield from _stored_globally(statement)
            continue
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
        for field in ("body", "orelse", "finalbody"):
            yield from _bound(getattr(statement, field, []))
        for handler in getattr(statement, "handlers", []):
            yield from _bound(handler.body)


def _stored_globally(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            yield from node.names
