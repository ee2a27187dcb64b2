"""Every line of a package that looks like a read of a record, and what became of it.

`account` sorts the lines that hold `server_args.name` into findings and reasons why a line is none. What is left over
is printed and counted: it is a read that the ratchets miss, or a reason that is not known here yet.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confbag.ratchets.configuration import Configuration, RecordSpec
from confbag.ratchets.finding import Finding
from confbag.ratchets.paths import within_any

NAME = "server_args"
READ = re.compile(rf"\b{NAME}\.[a-z_]")
ACCESSES = ("CB101", "CB102", "CB103", "CB111")
VAGUE = {"Any", "object", "Optional", "None"}
STAND_INS = {"MagicMock", "Mock", "SimpleNamespace", "patch"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass
class Known:
    """What the tree's classes say of the name, which declare it as a record and which as something else, and what its
    functions say that they return."""

    types: frozenset[str]
    records: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    returns: dict[str, set[str]] = field(default_factory=dict)
    classes: dict[str, set[str]] = field(default_factory=dict)
    # By file, the functions that put a stand-in under the name on what they give.
    stood_in: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class File:
    """One module: each access to the name by line, and the functions around it from the inside out."""

    path: str
    tree: ast.Module
    reads: dict[int, list[tuple[ast.Attribute, tuple[ast.AST, ...]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(self.tree, ())]
        while stack:
            node, around = stack.pop()
            if isinstance(node, ast.Attribute):
                value = node.value
                if (isinstance(value, ast.Name) and value.id == NAME) or (
                    isinstance(value, ast.Attribute) and value.attr == NAME
                ):
                    self.reads.setdefault(value.end_lineno or 0, []).append((node, around))
            inner = (node, *around) if isinstance(node, (_Function, ast.ClassDef)) else around
            stack.extend((child, inner) for child in ast.iter_child_nodes(node))
        # Before 3.12 what stands in an f-string is misplaced: it counts for every line of the string.
        for text in ast.walk(self.tree):
            if isinstance(text, ast.JoinedStr):
                lines = range(text.lineno, (text.end_lineno or 0) + 1)
                inside = {id(node) for node in ast.walk(text)}
                held = [one for reads in self.reads.values() for one in reads if id(one[0]) in inside]
                for line in lines if held else ():
                    self.reads.setdefault(line, []).extend(held)


def account(
    root: Path, paths: Iterable[str], configuration: Configuration, findings: Iterable[Finding]
) -> tuple[Counter[str], list[str]]:
    """How many lines there are of each kind, and those that nothing explains."""
    found = {(each.path, each.line) for each in findings if each.code in ACCESSES}
    texts = {path: (root / path).read_bytes().decode("utf-8") for path in paths}
    texts = {path: text for path, text in texts.items() if NAME in text}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    known = _known(trees, configuration.records)
    counts: Counter[str] = Counter()
    left: list[str] = []
    for path, text in texts.items():
        if not READ.search(text):
            continue
        file = File(path, trees[path])
        imports = {line for node in ast.walk(file.tree) for line in _import_lines(node)}
        for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
            match = READ.search(line)
            if match is None:
                continue
            if (path, number) in found:
                kind = "finding"
            elif any(within_any(path, spec.owners) for spec in configuration.records):
                kind = "in an owner of the record"
            elif number in imports:
                kind = "an import of a module of that name"
            elif number not in file.reads:
                kind = "a comment or a string"
            else:
                reasons = {_reason(read, around, path, configuration, known) for read, around in file.reads[number]}
                kind = "" if "" in reasons else min(reasons)
            counts[kind or "NOT EXPLAINED"] += 1
            if not kind:
                left.append(f"{path}:{number}: {line.strip()}")
    return counts, left


def _import_lines(node: ast.AST) -> range:
    return (
        range(node.lineno, (node.end_lineno or 0) + 1) if isinstance(node, (ast.Import, ast.ImportFrom)) else range(0)
    )


def _reason(
    read: ast.Attribute, around: tuple[ast.AST, ...], path: str, configuration: Configuration, known: Known
) -> str:
    """Why an access is no finding; empty where it should be one."""
    value = read.value
    if isinstance(value, ast.Name):
        return _of_name(value.id, around, path, configuration, known)
    assert isinstance(value, ast.Attribute)
    return _of_attribute(value.value, around, path, configuration, known)


def _of_name(name: str, around: tuple[ast.AST, ...], path: str, configuration: Configuration, known: Known) -> str:
    for function in around:
        if not isinstance(function, _Function):
            continue
        stores = list(_stores(function, name))
        if stores:
            kinds = {_of_value(value, around, path, configuration, known) for value in stores}
            return "" if "" in kinds else min(kinds)
        for argument in _arguments(function):
            if argument.arg == name:
                if argument.annotation is not None:
                    written = _names(argument.annotation)
                    if written & known.types:
                        return ""
                    if written - VAGUE:
                        return "a parameter of another type"
                return "" if _named_there(path, configuration) else "a parameter's name, where names say nothing"
    return ""


def _of_value(
    value: ast.expr, around: tuple[ast.AST, ...], path: str, configuration: Configuration, known: Known
) -> str:
    """Why what is assigned is no record."""
    if isinstance(value, ast.Call):
        called = value.func
        last = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        if last in STAND_INS or _names(called) & STAND_INS:
            return "a stand-in, made there"
        given = known.returns.get(last, set())
        if (_names(called) | given) & known.types:
            return ""
        if last == "materialize" or given - VAGUE:
            return "what a call gives that is declared as something else"
        return "" if _named_there(path, configuration) else "what a call gives that nothing declares"
    if isinstance(value, ast.Attribute) and value.attr == NAME:
        return _of_attribute(value.value, around, path, configuration, known)
    if isinstance(value, ast.Subscript):
        return "an item of a container that nothing is known of"
    return ""


def _of_attribute(
    receiver: ast.expr, around: tuple[ast.AST, ...], path: str, configuration: Configuration, known: Known
) -> str:
    declared = _class_of(receiver, around, known)
    if declared & known.elsewhere:
        return "an attribute that the receiver's class declares as something else"
    if _makers(receiver, around) & known.stood_in.get(path, set()):
        return "a stand-in, made where the object is made"
    # A class of the file itself is not the one of that name that the tree has elsewhere.
    if declared & known.records - known.classes.get(path, set()):
        return ""
    if not _named_there(path, configuration):
        return "an attribute's name, where names say nothing"
    return "an attribute of an unknown receiver, and a class of the tree declares it as something else"


def _class_of(receiver: ast.expr, around: tuple[ast.AST, ...], known: Known) -> set[str]:
    """The names that an annotation, a construction or the enclosing class gives to a receiver."""
    if not isinstance(receiver, ast.Name):
        return set()
    if receiver.id == "self":
        return {node.name for node in around if isinstance(node, ast.ClassDef)}
    for function in around:
        if isinstance(function, _Function):
            made = [value for value in _stores(function, receiver.id) if isinstance(value, ast.Call)]
            if made:
                written = {name for value in made for name in _names(value.func)}
                return written.union(*(known.returns.get(name, set()) for name in written))
            for argument in _arguments(function):
                if argument.arg == receiver.id:
                    return _names(argument.annotation) if argument.annotation is not None else set()
    return set()


def _makers(receiver: ast.expr, around: tuple[ast.AST, ...]) -> set[str]:
    """The functions whose call a name is given."""
    for function in around:
        if isinstance(function, _Function) and isinstance(receiver, ast.Name):
            made = [value for value in _stores(function, receiver.id) if isinstance(value, ast.Call)]
            if made:
                return {name for value in made for name in _names(value.func)}
    return set()


def _stands_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function puts a stand-in under the name on some object."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr == NAME for target in node.targets
        ):
            given = list(_stores(function, node.value.id)) if isinstance(node.value, ast.Name) else [node.value]
            if any(isinstance(value, ast.Call) and _names(value.func) & STAND_INS for value in given):
                return True
    return False


def _named_there(path: str, configuration: Configuration) -> bool:
    return any(not spec.holders_in or within_any(path, spec.holders_in) for spec in configuration.records)


def _arguments(function: _Function) -> list[ast.arg]:
    given = function.args
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def _stores(function: ast.AST, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield node.value
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name:
                    yield item.context_expr


def _names(node: ast.AST) -> set[str]:
    """The last names that an annotation or a callee is written with, also in text."""
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute):
            found.add(each.attr)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found.update(re.findall(r"\w+", each.value))
    return found


def _known(trees: Mapping[str, ast.Module], specs: tuple[RecordSpec, ...]) -> Known:
    known = Known(frozenset(name.rpartition(".")[2] for spec in specs for name in spec.types))
    said: dict[str, list[set[str]]] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                written = list(_declarations(node))
                if not written:
                    known.classes.setdefault(path, set()).add(node.name)
                for one in written:
                    (known.records if _names(one) & known.types else known.elsewhere).add(node.name)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if _stands_in(node):
                    known.stood_in.setdefault(path, set()).add(node.name)
                said.setdefault(node.name, []).append(_names(node.returns) if node.returns is not None else set())
    known.returns = {name: all_of_them[0] for name, all_of_them in said.items() if len(all_of_them) == 1}
    return known


def _declarations(node: ast.ClassDef) -> Iterator[ast.AST]:
    """The annotations that a class's body, or the parameter that its __init__ stores, gives to the name."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.target.id == NAME:
                yield statement.annotation
        elif isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            stored = any(
                isinstance(each, ast.Attribute) and each.attr == NAME and isinstance(each.ctx, ast.Store)
                for each in ast.walk(statement)
            )
            for argument in _arguments(statement):
                if stored and argument.arg == NAME and argument.annotation is not None:
                    yield argument.annotation


__all__ = ["account"]
