"""The imports that new expressions need: whether a name may be used at a place, and where its import goes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from confbag.ratchets.finding import Fix
from confbag.ratchets.fix.edits import Changes, Edit, newline_of
from confbag.ratchets.fix.removing import block_of
from confbag.ratchets.fix.scopes import Scopes, binds
from confbag.ratchets.source.parse import Module


class Needs:
    """What one file has of the imports that its new expressions need."""

    def __init__(self, module: Module, scopes: Scopes, leads_back: Callable[[str], bool]) -> None:
        self.module = module
        self.scopes = scopes
        self.leads_back = leads_back
        self.needed: list[str] = []
        self._position = _position(module.tree.body)
        self._stars = [
            node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]

    def refusal(self, fix: Fix, read: ast.expr) -> str:
        """Why the names of an edit cannot be had where it stands; empty where they can."""
        for statement in fix.imports:
            made = ast.parse(statement).body[0]
            if isinstance(made, ast.ImportFrom) and made.level:
                return f"`{statement}` is relative to no module in particular"
            for part in split(made):
                reason = self._refused(part, read)
                if reason:
                    return reason
        return ""

    def _refused(self, part: ast.stmt, read: ast.expr) -> str:
        (name,) = binds(part)
        found = self.scopes.resolved(read, name)
        scope, holders = found if found is not None else (self.module.tree, [])
        if not all(_gives(holder, part, name) for holder in holders):
            return f"the name {name} is bound to something else in this file"
        if scope is not self.module.tree:
            if any(self._before(holder, read) for holder in holders):
                return ""
            return f"the name {name} may not be bound there yet"
        if isinstance(part, ast.ImportFrom) and part.module == self.module.name:
            return f"this module is {part.module} itself"
        if self._has(part, read):
            return ""
        for star in self._stars:
            top = star in self.module.tree.body
            if not top or (self._at_module_level(read) and read.lineno <= (star.end_lineno or star.lineno)):
                return f"the name {name} may come from the module of which everything is imported in line {star.lineno}"
        if isinstance(part, (ast.Import, ast.ImportFrom)) and not self._imports_module(part):
            source = part.module or "" if isinstance(part, ast.ImportFrom) else part.names[0].name
            if self.leads_back(source):
                return f"{source} imports this module, and an import of it here would go round in a circle"
        return ""

    def _at_module_level(self, read: ast.expr) -> bool:
        scope: ast.AST = self.scopes.scope[read]
        while isinstance(scope, ast.ClassDef):
            scope = self.scopes.scope[scope]
        return scope is self.module.tree

    def _before(self, holder: ast.AST, read: ast.expr) -> bool:
        """Whether a local import is always done when a place is reached: it stands in a block around it, above it."""
        statement = self.scopes.statement(holder)
        block = block_of(statement, self.scopes)
        reached = self.scopes.statement(read)
        return any(node in block[block.index(statement) + 1 :] for node in [reached, *self.scopes.above(reached)])

    def _has(self, part: ast.stmt, read: ast.expr) -> bool:
        """Whether the module imports it at its top level above a place, after every star."""
        last = max((star.lineno for star in self._stars), default=0)
        return any(
            ast.dump(part) == ast.dump(other) and last < node.lineno < read.lineno
            for node in self.module.tree.body
            for other in split(node)
        )

    def _imports_module(self, part: ast.Import | ast.ImportFrom) -> bool:
        """Whether the module imports from the same one already, at its top level."""
        if isinstance(part, ast.Import):
            return any(ast.dump(part) == ast.dump(other) for node in self.module.tree.body for other in split(node))
        return any(
            isinstance(node, ast.ImportFrom) and not node.level and node.module == part.module
            for node in self.module.tree.body
        )

    def use(self, fix: Fix, read: ast.expr) -> None:
        """An edit is made: what it needs and nothing gives is imported."""
        for statement in fix.imports:
            if statement in self.needed:
                continue
            for part in split(ast.parse(statement).body[0]):
                found = self.scopes.resolved(read, binds(part)[0])
                if (found is None or found[0] is self.module.tree) and not self._has(part, read):
                    self.needed.append(statement)
                    break

    def insert(self, changes: Changes) -> None:
        """One insertion, after the docstring, the imports from `__future__` and those of everything."""
        if not self.needed:
            return
        module, body = self.module, self.module.tree.body
        position = max([self._position, *(body.index(star) + 1 for star in self._stars if star in body)])
        changes.added = (position, tuple(ast.parse("\n".join(self.needed)).body))
        newline = newline_of(module)
        text = "".join(statement + newline for statement in self.needed)
        if position == len(body):
            changes.edits.append(Edit(len(module.utf8), len(module.utf8), newline + text))
            return
        first = body[position]
        decorators = getattr(first, "decorator_list", None)
        line = decorators[0].lineno if decorators else first.lineno
        before = body[position - 1] if position else None
        if before is not None and before.end_lineno == line:
            # `"""doc"""; import x`: behind the statement before, on its line.
            end = module.end(before)
            changes.edits.append(Edit(end, end, "; " + "; ".join(self.needed)))
            return
        start = module.starts[line - 1]
        after = newline if not isinstance(first, (ast.Import, ast.ImportFrom)) else ""
        changes.edits.append(Edit(start, start, text + after))


def _position(body: Sequence[ast.stmt]) -> int:
    """The place in a module's body after its docstring and its imports from `__future__`."""
    position = 0
    for number, node in enumerate(body):
        docstring = (
            number == 0
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            position = number + 1
    return position


def split(node: ast.AST) -> list[ast.stmt]:
    """An import statement as one statement a name."""
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [ast.alias(alias.name, alias.asname)], node.level) for alias in node.names]
    if isinstance(node, ast.Import):
        return [ast.Import([ast.alias(alias.name, alias.asname)]) for alias in node.names]
    return []


def _gives(holder: ast.AST, part: ast.stmt, name: str) -> bool:
    """Whether a binding of a name is the wanted import."""
    return isinstance(holder, (ast.Import, ast.ImportFrom)) and all(
        ast.dump(other) == ast.dump(part) or (_package(other) and _package(part))
        for other in split(holder)
        if name in binds(other)
    )


def _package(statement: ast.stmt) -> bool:
    """`import a.b` and `import a.c` both bind the package `a`."""
    return isinstance(statement, ast.Import) and statement.names[0].asname is None
