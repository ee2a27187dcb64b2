"""Reads that certainly are the record's become reads of the bag: edits in bytes, everything else stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confbag.ratchets.analysis.engine import Run
from confbag.ratchets.analysis.link import Link, known_of
from confbag.ratchets.binder.bind import bind
from confbag.ratchets.binder.facts import ModuleFacts
from confbag.ratchets.binder.scopes import Names
from confbag.ratchets.binder.world import Known, World
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Fix
from confbag.ratchets.source.modules import module_of
from confbag.ratchets.source.parse import Module, parse

if TYPE_CHECKING:
    from confbag.ratchets.analysis.cache import Cache

_ROUNDS = 10
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes of the UTF-8 text to replace."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """One file: its new bytes, how many reads were replaced, and why the others were left."""

    path: str
    source: bytes
    count: int
    left: tuple[str, ...] = ()


def fix_file(
    module: Module,
    wanted: Container[tuple[str, str, str, str]],
    configuration: Configuration,
    known: Known,
    taken: Container[str] = (),
) -> Fixed:
    """The file with every certain read replaced whose key is wanted; the same bytes where nothing is certain.

    `taken` are dotted names that other modules import: their imports here stay.
    """
    source = module.source
    count = 0
    left: list[str] = []
    current, held = module, analysed(module, configuration, known)
    for _ in range(_ROUNDS):
        fixable = [finding for finding in held if finding.fix is not None and finding.key in wanted]
        edits, done, left = _edits(current, fixable, taken)
        if not done:
            break
        made = _applied(current, edits)
        parsed = parse(current.path, current.name, current.package, made, configuration.max_bytes)
        if not isinstance(parsed, Module):
            return Fixed(current.path, source, 0, (*left, f"{current.path}: the result would not parse"))
        fresh = analysed(parsed, configuration, known)
        if _worse(held, fresh, done):
            return Fixed(current.path, source, 0, (*left, f"{current.path}: the result would hold other findings"))
        count += len(done)
        current, held = parsed, fresh
    return Fixed(current.path, current.source, count, tuple(left))


def fix_tree(
    configuration: Configuration,
    files: Iterable[str],
    *,
    read: Callable[[str], bytes],
    jobs: int = 1,
    full: bool = True,
    cache: Cache | None = None,
    keep: Callable[[Finding], bool] = lambda finding: True,
) -> Iterator[Fixed]:
    """What `fix` makes of every file with a finding that it can end and that `keep` lets through."""
    run = Run(configuration, list(files), read, cache, jobs, True, full)
    analysis = run.analysis(stored=False)
    known = known_of([*run.others.values(), *run.modules.values()])
    taken = {question[2:] for facts in (*run.others.values(), *run.modules.values()) for question in facts.asked}
    by_path: dict[str, set[tuple[str, str, str, str]]] = {}
    for finding in analysis.findings:
        if finding.fix is not None and keep(finding):
            by_path.setdefault(finding.path, set()).add(finding.key)
    for path, wanted in sorted(by_path.items()):
        name, package = module_of(path, configuration) or (path, False)
        module = parse(path, name, package, read(path), configuration.max_bytes)
        if isinstance(module, Module):
            yield fix_file(module, wanted, configuration, known, taken)


def analysed(module: Module, configuration: Configuration, known: Known) -> list[Finding]:
    """The findings of one module, as other modules are known."""
    facts: ModuleFacts = bind(module, configuration, World(configuration, known))
    return sorted(Link({module.path: facts}, configuration).findings({module.path}))


def _worse(before: Sequence[Finding], after: Sequence[Finding], done: Sequence[Finding]) -> bool:
    left = [finding.key for finding in before]
    for finding in done:
        left.remove(finding.key)
    for finding in after:
        if finding.key not in left:
            return True
        left.remove(finding.key)
    return False


def _applied(module: Module, edits: Iterable[Edit]) -> bytes:
    source = module.source
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        start, end = module.original(edit.start), module.original(edit.end)
        source = source[:start] + edit.text.encode(module.encoding) + source[end:]
    return source


def _edits(
    module: Module, findings: Sequence[Finding], taken: Container[str]
) -> tuple[list[Edit], list[Finding], list[str]]:
    """Edits that do not overlap, the findings they end, and why others are left."""
    parents = {child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}
    by_span: dict[tuple[int, int], ast.expr] = {}
    for node in parents:
        if isinstance(node, ast.expr):
            by_span.setdefault((module.start(node), module.end(node)), node)
    scope = _Bindings(module)
    edits: list[Edit] = []
    done: list[Finding] = []
    left: list[str] = []
    needed: list[str] = []
    gone: set[ast.AST] = set()
    for finding in sorted(findings):
        fix = finding.fix
        if fix is None:
            continue
        where = f"{finding.path}:{finding.line}:{finding.column}"
        read = by_span.get((fix.start, fix.end))
        if read is None or (isinstance(read, ast.Attribute) and not isinstance(read.ctx, ast.Load)):
            left.append(f"{where}: the expression cannot be replaced in place")
            continue
        if any(not (fix.end <= edit.start or fix.start >= edit.end) for edit in edits):
            continue
        refusal = scope.refusal(fix)
        if refusal:
            left.append(f"{where}: {refusal}")
            continue
        edits.append(Edit(fix.start, fix.end, _fitted(fix.text, read, parents)))
        done.append(finding)
        gone.add(read)
        needed.extend(statement for statement in fix.imports if statement not in needed)
    if done:
        removed: set[ast.AST] = set()
        edits.extend(_aliases(module, gone, parents, removed))
        edits.extend(_unused_imports(module, gone, removed, parents, taken))
        edits.extend(scope.imports(needed))
    return edits, done, left


def _fitted(text: str, node: ast.expr, parents: dict[ast.AST, ast.AST]) -> str:
    """The new text, in parentheses where what stands around it binds tighter."""
    made = ast.parse(text, mode="eval").body
    if isinstance(made, _ATOMS):
        return text
    parent = parents.get(node)
    if isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Not):
        tight = isinstance(
            parent, (ast.BinOp, ast.Compare, ast.Attribute, ast.Call, ast.Subscript, ast.Await, ast.Starred)
        ) or (isinstance(parent, ast.UnaryOp) and not isinstance(parent.op, ast.Not))
        if isinstance(parent, ast.Call) and parent.func is not node:
            tight = False
        if isinstance(parent, ast.Subscript) and parent.value is not node:
            tight = False
        return f"({text})" if tight else text
    return f"({text})"


class _Bindings:
    """The names of a module: what imports are there, and what else holds a name."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.top = module.tree.body
        self.bound: dict[str, list[ast.AST]] = {}
        for node in ast.walk(module.tree):
            for name in _binds(node):
                self.bound.setdefault(name, []).append(node)

    def refusal(self, fix: Fix) -> str:
        """Why an edit must not be made; empty where it may."""
        names = {name for statement in fix.imports for name in _names_of(statement)}
        for statement in fix.imports:
            for made in ast.parse(statement).body:
                if isinstance(made, ast.ImportFrom) and made.module == self.module.name:
                    return f"this module is {made.module} itself"
        for name in names:
            for holder in self.bound.get(name, ()):
                if not self._is_import(holder, name, fix.imports):
                    return f"the name {name} is bound to something else in this file"
        return ""

    def _is_import(self, holder: ast.AST, name: str, statements: Sequence[str]) -> bool:
        if not isinstance(holder, (ast.Import, ast.ImportFrom)):
            return False
        wanted = {ast.dump(part) for statement in statements for part in _split(ast.parse(statement).body[0])}
        return any(ast.dump(part) in wanted for part in _split(holder) if name in _binds(part))

    def imports(self, needed: Sequence[str]) -> list[Edit]:
        """One insertion, after the docstring and the imports from `__future__`."""
        have = {ast.dump(part) for node in self.top for part in _split(node)}
        missing = [
            statement
            for statement in needed
            if not all(ast.dump(part) in have for part in _split(ast.parse(statement).body[0]))
        ]
        if not missing:
            return []
        module = self.module
        position = 0
        for number, node in enumerate(self.top):
            docstring = (
                number == 0
                and isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            )
            if docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                position = number + 1
        newline = (
            "\r\n" if b"\r\n" in module.utf8 else "\r" if b"\r" in module.utf8 and b"\n" not in module.utf8 else "\n"
        )
        text = "".join(statement + newline for statement in missing)
        if position < len(self.top):
            first = self.top[position]
            decorators = getattr(first, "decorator_list", None)
            line = decorators[0].lineno if decorators else first.lineno
            before = self.top[position - 1] if position else None
            if before is not None and before.end_lineno == line:
                # `"""doc"""; import x`: behind the statement before, on its line.
                return [Edit(module.end(before), module.end(before), "; " + "; ".join(missing))]
            start = module.starts[line - 1]
            after = newline if not isinstance(first, (ast.Import, ast.ImportFrom)) else ""
            return [Edit(start, start, text + after)]
        return [Edit(len(module.utf8), len(module.utf8), text)]


def _split(node: ast.AST) -> list[ast.stmt]:
    """An import statement as one statement a name."""
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [ast.alias(alias.name, alias.asname)], node.level) for alias in node.names]
    if isinstance(node, ast.Import):
        return [ast.Import([ast.alias(alias.name, alias.asname)]) for alias in node.names]
    return []


def _names_of(statement: str) -> set[str]:
    return {name for node in ast.parse(statement).body for name in _binds(node)}


def _binds(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    name = getattr(node, "name", None)
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and isinstance(name, str):
        return [name]
    return []


def _aliases(module: Module, gone: set[ast.AST], parents: dict[ast.AST, ast.AST], removed: set[ast.AST]) -> list[Edit]:
    """Local names that held the record only for the reads that are gone: their assignments go too."""
    edits: list[Edit] = []
    for node in ast.walk(module.tree):
        if not isinstance(node, _FUNCTIONS):
            continue
        names = Names(node)
        used: dict[str, int] = {}
        stores: dict[str, list[ast.AST]] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                if not isinstance(inner.ctx, ast.Load):
                    stores.setdefault(inner.id, []).append(inner)
                elif not _inside(inner, gone, parents):
                    used[inner.id] = used.get(inner.id, 0) + 1
        touched = {
            inner.id
            for top in gone
            for inner in ast.walk(top)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id in names.bound
        }
        for name in sorted(touched):
            if used.get(name) or len(stores.get(name, [])) != 1:
                continue
            statement = parents.get(stores[name][0])
            if not (
                isinstance(statement, ast.Assign)
                and len(statement.targets) == 1
                and isinstance(statement.value, ast.Call)
                and not statement.value.args
                and not statement.value.keywords
                and statement not in removed
            ):
                continue
            removed.add(statement)
            edits.append(_removal(module, statement, parents, removed))
    return edits


def _unused_imports(
    module: Module,
    gone: set[ast.AST],
    removed: set[ast.AST],
    parents: dict[ast.AST, ast.AST],
    taken: Container[str],
) -> list[Edit]:
    """Imports that only served the reads that are gone; not where a package or another module hands the name on."""
    tops = gone | removed
    served: set[str] = set()
    left: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            (served if _inside(node, tops, parents) else left).add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # `__all__`, annotations and whatever else names it in text.
            left.add(node.value)
    edits: list[Edit] = []
    if module.package:
        return edits
    for name in sorted(served - left):
        holders = [node for node in ast.walk(module.tree) if name in _binds(node)]
        if not holders or f"{module.name}.{name}" in taken:
            continue
        if all(isinstance(holder, ast.ImportFrom) and holder not in removed for holder in holders):
            for holder in holders:
                if isinstance(holder, ast.ImportFrom):
                    edits.append(_without(module, holder, name, parents, removed))
    return edits


def _without(
    module: Module, statement: ast.ImportFrom, name: str, parents: dict[ast.AST, ast.AST], removed: set[ast.AST]
) -> Edit:
    if len(statement.names) == 1:
        removed.add(statement)
        return _removal(module, statement, parents, removed)
    index = next(index for index, alias in enumerate(statement.names) if (alias.asname or alias.name) == name)
    if index + 1 < len(statement.names):
        return Edit(module.start(statement.names[index]), module.start(statement.names[index + 1]), "")
    return Edit(module.end(statement.names[index - 1]), module.end(statement.names[index]), "")


def _inside(node: ast.AST, tops: set[ast.AST], parents: dict[ast.AST, ast.AST]) -> bool:
    current: ast.AST | None = node
    while current is not None:
        if current in tops:
            return True
        current = parents.get(current)
    return False


def _removal(module: Module, statement: ast.stmt, parents: dict[ast.AST, ast.AST], removed: set[ast.AST]) -> Edit:
    start, end = module.start(statement), module.end(statement)
    parent = parents[statement]
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block and all(other in removed for other in block):
            return Edit(start, end, "pass")
    line_start = module.starts[statement.lineno - 1]
    number = statement.end_lineno or statement.lineno
    line_end = module.starts[number] if number < len(module.starts) else len(module.utf8)
    before = module.utf8[line_start:start]
    after = module.utf8[end:line_end]
    if before.strip():
        return Edit(start, end, "pass")
    if not after.strip():
        # A form feed before it starts a page, not the statement.
        return Edit(start if b"\x0c" in before else line_start, line_end, "")
    if after.lstrip().startswith(b"#"):
        return Edit(start, end + len(after) - len(after.lstrip()), "")
    if after.lstrip().startswith(b";"):
        rest = after.lstrip()[1:]
        return (
            Edit(start, end + len(after) - len(rest.lstrip()), "") if rest.strip() else Edit(line_start, line_end, "")
        )
    return Edit(start, end, "pass")


__all__ = ["Edit", "Fixed", "analysed", "fix_file", "fix_tree"]
