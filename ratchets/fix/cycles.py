"""Which modules a module imports while it is imported itself, so that a new import does not go round in a circle."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source.modules import module_of
from confbag.ratchets.source.parse import parse_tree

_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Cycles:
    """The imports at the top level of a tree's modules, read when they are asked for."""

    def __init__(self, configuration: Configuration, files: Iterable[str], read: Callable[[str], bytes]) -> None:
        self.read = read
        self.files: dict[str, tuple[str, bool]] = {}
        self.imports: dict[str, set[str]] = {}
        for path in files:
            named = module_of(path, configuration)
            if named is not None:
                self.files.setdefault(named[0], (path, named[1]))

    def leads(self, start: str, to: str) -> bool:
        """Whether importing one module imports another; packages that the other lies in are imported already."""
        seen: set[str] = set()
        stack = [start]
        while stack:
            name = stack.pop()
            if name == to:
                return True
            if name in seen or name not in self.files:
                continue
            seen.add(name)
            stack.extend(self._imported(name))
            stack.extend(package for package in _packages(name) if not f"{to}.".startswith(f"{package}."))
        return False

    def _imported(self, name: str) -> set[str]:
        found = self.imports.get(name)
        if found is None:
            path, package = self.files[name]
            try:
                tree = parse_tree(self.read(path))
            except OSError:
                # It cannot be imported either.
                tree = None
            parent = name if package else name.rpartition(".")[0]
            found = set(_of(tree, parent)) if isinstance(tree, ast.Module) else set()
            self.imports[name] = found
        return found


def _packages(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _of(tree: ast.Module, parent: str) -> Iterator[str]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(part for part in (_above(parent, node.level), node.module) if part)
            yield base
            # A name may be a module of the package.
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and _for_checkers(node.test):
            stack.extend(node.orelse)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.Module) and not isinstance(node, _LATER):
            stack.extend(ast.iter_child_nodes(node))


def _above(parent: str, level: int) -> str:
    if not level:
        return ""
    parts = parent.split(".")
    return ".".join(parts[: len(parts) - level + 1])


def _for_checkers(test: ast.expr) -> bool:
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"
