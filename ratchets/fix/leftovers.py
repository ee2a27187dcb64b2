"""What only served the reads that are gone: aliases of the record, and the import of its accessor."""

from __future__ import annotations

import ast
from collections.abc import Container

from confbag.ratchets.fix.edits import Changes, Edit
from confbag.ratchets.fix.removing import removals
from confbag.ratchets.fix.scopes import Scopes, binds
from confbag.ratchets.source.parse import Module

_LOOKS_UP_NAMES = ("locals", "vars", "eval", "exec", "dir", "globals")
_BRANCHES = (ast.Try, ast.With, ast.AsyncWith, getattr(ast, "TryStar", ast.Try))


def clear(module: Module, scopes: Scopes, changes: Changes, taken: Container[str]) -> None:
    """Add what can go now to the changes. `taken` are dotted names that other modules use: those stay."""
    gone: set[ast.AST] = set(changes.read)
    statements: list[ast.stmt] = []
    text = {
        node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    while True:
        more = _aliases(module, scopes, gone, taken, text)
        if not more:
            break
        gone.update(more)
        statements += more
    trims: list[Edit] = []
    for statement, names in _imports(module, scopes, gone, taken, text).items():
        if len(names) == len(statement.names):
            statements.append(statement)
        else:
            changes.trimmed[statement] = names
            trims += _without(module, statement, names)
    edits, changes.removed = removals(module, scopes, statements)
    changes.edits += [*edits, *trims]


def _aliases(
    module: Module, scopes: Scopes, gone: set[ast.AST], taken: Container[str], text: Container[str]
) -> list[ast.stmt]:
    """Assignments of names that nothing reads any more and something that is gone did."""
    found: list[ast.stmt] = []
    seen: set[tuple[ast.AST, str]] = set()
    for name, loads in scopes.loads.items():
        for load in loads:
            resolved = scopes.resolved(load, name) if scopes.within(load, gone) else None
            if resolved is None or (resolved[0], name) in seen:
                continue
            scope, holders = resolved
            seen.add((scope, name))
            theirs = [other for other in loads if _same(scopes.resolved(other, name), scope)]
            if not all(scopes.within(other, gone) for other in theirs) or not _may_go(
                module, scopes, scope, name, taken, text
            ):
                continue
            statements = [scopes.statement(holder) for holder in holders]
            if not any(statement in gone for statement in statements) and all(
                _plain_assignment(statement, holder) and _everywhere(scopes, statement, theirs)
                for statement, holder in zip(statements, holders, strict=True)
            ):
                found += statements
    return found


def _same(resolved: tuple[ast.AST, list[ast.AST]] | None, scope: ast.AST) -> bool:
    return resolved is not None and resolved[0] is scope


def _may_go(
    module: Module, scopes: Scopes, scope: ast.AST, name: str, taken: Container[str], text: Container[str]
) -> bool:
    """Whether nothing but the loads of a name can ask for it."""
    if isinstance(scope, ast.ClassDef):
        return False
    if scope is module.tree:
        return not module.package and f"{module.name}.{name}" not in taken and name not in text
    return not any(
        scopes.resolved(load, looker) is None and scope in [scopes.scope[load], *scopes.above(load)]
        for looker in _LOOKS_UP_NAMES
        for load in scopes.loads.get(looker, ())
    )


def _plain_assignment(statement: ast.stmt, holder: ast.AST) -> bool:
    """`name = accessor()` or `name = other.name`: whoever drops it drops nothing else."""
    if isinstance(statement, ast.Assign):
        target = statement.targets[0] if len(statement.targets) == 1 else None
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return False
    value = statement.value
    if target is not holder or value is None:
        return False
    if isinstance(value, ast.Call):
        if value.args or value.keywords:
            return False
        value = value.func
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name)


def _everywhere(scopes: Scopes, statement: ast.stmt, loads: list[ast.Name]) -> bool:
    """Whether a `try` or a `with` around an assignment is around all that read it: else the call there is needed."""
    return all(
        any(above is branch for above in scopes.above(load))
        for branch in scopes.above(statement)
        if isinstance(branch, _BRANCHES)
        for load in loads
    )


def _imports(
    module: Module, scopes: Scopes, gone: set[ast.AST], taken: Container[str], text: Container[str]
) -> dict[ast.ImportFrom, set[str]]:
    """The names that imports brought only for what is gone; not where a package or another module hands them on."""
    found: dict[ast.ImportFrom, set[str]] = {}
    if module.package:
        return found
    for name, loads in scopes.loads.items():
        inside = [scopes.within(load, gone) for load in loads]
        if not any(inside) or not all(inside) or name in text or f"{module.name}.{name}" in taken:
            continue
        holders = [node for nodes in scopes.bindings.values() for node in nodes.get(name, ())]
        if all(isinstance(holder, ast.ImportFrom) and _only_serves(module, scopes, holder) for holder in holders):
            for holder in holders:
                if isinstance(holder, ast.ImportFrom):
                    found.setdefault(holder, set()).add(name)
    return found


def _only_serves(module: Module, scopes: Scopes, statement: ast.ImportFrom) -> bool:
    """Whether an import is no probe of what is installed, and no linter was told that it may look unused."""
    if any(isinstance(above, (ast.Try, getattr(ast, "TryStar", ast.Try))) for above in scopes.above(statement)):
        return False
    lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    return not any(b"noqa" in module.line(line) for line in lines)


def _without(module: Module, statement: ast.ImportFrom, names: set[str]) -> list[Edit]:
    """The edits that take names out of a list of them."""
    edits: list[Edit] = []
    aliases = statement.names
    stay = [number for number, alias in enumerate(aliases) if binds(ast.ImportFrom("", [alias], 0))[0] not in names]
    for number, alias in enumerate(aliases):
        if number in stay:
            continue
        if number < stay[-1]:
            edits.append(Edit(module.start(alias), module.start(aliases[number + 1]), ""))
        else:
            edits.append(Edit(module.end(aliases[number - 1]), module.end(alias), ""))
    return edits
