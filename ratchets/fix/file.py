"""One file: all edits that do not meet in one pass, again until nothing is left, each result checked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass

from confbag.ratchets.allowed import suppressions
from confbag.ratchets.analysis.link import Link
from confbag.ratchets.binder.bind import bind_exactly
from confbag.ratchets.binder.world import Known
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding
from confbag.ratchets.fix import checking, leftovers, places
from confbag.ratchets.fix.edits import Changes, Edit, applied
from confbag.ratchets.fix.imports import Needs
from confbag.ratchets.fix.scopes import Scopes
from confbag.ratchets.source.newer import Unread
from confbag.ratchets.source.parse import Module, parse

_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Fixed:
    """One file: its new bytes, how many reads were replaced, why the others were left, and what they were made of."""

    path: str
    source: bytes
    count: int
    left: tuple[str, ...] = ()
    before: bytes = b""


@dataclass(frozen=True, slots=True)
class Around:
    """What of the rest of the tree matters to one file.

    `taken` are dotted names that other modules use; `methods` are names that the record's class computes; `leads_back`
    says whether importing a module imports another.
    """

    configuration: Configuration
    known: Known
    taken: Container[str] = ()
    methods: Collection[str] = ()
    leads_back: Callable[[str, str], bool] = lambda start, to: False


def fix_file(module: Module, wanted: Container[tuple[str, str, str, str]], around: Around) -> Fixed:
    """The file with every certain read replaced whose key is wanted; the same bytes where nothing is certain."""
    try:
        return _fixed(module, wanted, around)
    except Unread as error:
        return Fixed(module.path, module.source, 0, (f"{module.path}: {error}",))


def _fixed(module: Module, wanted: Container[tuple[str, str, str, str]], around: Around) -> Fixed:
    source = module.source
    count = 0
    left: list[str] = []
    current, held = analysed(module, around)
    for _ in range(_ROUNDS):
        changes, done, left = _planned(current, _fixable(current, held, wanted), around)
        if not done:
            break
        made = applied(current, changes.edits)
        parsed = parse(current.path, current.name, current.package, made, around.configuration.max_bytes)
        if not isinstance(parsed, Module):
            return Fixed(current.path, source, 0, (*left, f"{current.path}: the result would not parse"))
        fresh, findings = analysed(parsed, around)
        if not checking.as_meant(current.tree, changes, fresh.tree):
            return Fixed(current.path, source, 0, (*left, f"{current.path}: more than the reads would change"))
        if checking.worse(held, findings, done):
            return Fixed(current.path, source, 0, (*left, f"{current.path}: the result would hold other findings"))
        count += len(done)
        current, held = fresh, findings
    return Fixed(current.path, current.source, count, tuple(left))


def analysed(module: Module, around: Around) -> tuple[Module, list[Finding]]:
    """The findings of one module, as other modules are known, and the module with the tree that they were found in."""
    module, facts = bind_exactly(module, around.configuration, around.known)
    return module, sorted(Link({module.path: facts}, around.configuration).findings({module.path}))


def _fixable(module: Module, held: Sequence[Finding], wanted: Container[tuple[str, str, str, str]]) -> list[Finding]:
    """The findings that an edit can end and no comment allows."""
    allowing, _ = suppressions.read(module.path, module.source)
    return [
        finding
        for finding in held
        if finding.fix is not None
        and finding.key in wanted
        and not any(comment.allows(finding) for comment in allowing)
    ]


def _planned(module: Module, findings: Sequence[Finding], around: Around) -> tuple[Changes, list[Finding], list[str]]:
    """Edits that do not meet, the findings they end, and why others are left."""
    changes = Changes()
    done: list[Finding] = []
    left: list[str] = []
    if not findings:
        return changes, done, left
    scopes = Scopes(module.tree)
    needs = Needs(module, scopes, lambda source: around.leads_back(source, module.name))
    fetchers = _fetchers(around.configuration)
    by_span: dict[tuple[int, int], ast.expr] = {}
    for node in scopes.parents:
        if isinstance(node, ast.expr):
            by_span.setdefault((module.start(node), module.end(node)), node)
    for finding in findings:
        fix = finding.fix
        if fix is None or any(edit.meets(fix.start, fix.end) for edit in changes.edits):
            continue
        read = by_span.get((fix.start, fix.end))
        if read is None:
            reason = "the expression cannot be replaced in place"
        elif finding.symbol.removeprefix("record.") in around.methods:
            reason = "it is a method or a property of the record; write what it computes"
        else:
            reason = places.refusal(module, scopes, read, fix.text, fetchers) or needs.refusal(fix, read)
        if reason or read is None:
            left.append(f"{finding.path}:{finding.line}:{finding.column}: {reason}")
            continue
        changes.edits.append(Edit(fix.start, fix.end, places.fitted(module, scopes, read, fix.text)))
        changes.read[read] = ast.parse(fix.text, mode="eval").body
        needs.use(fix, read)
        done.append(finding)
    if done:
        leftovers.clear(module, scopes, changes, around.taken)
        needs.insert(changes)
    return changes, done, left


def _fetchers(configuration: Configuration) -> set[str]:
    """The last names of the functions that return records."""
    paths = [path.split("(")[0] for spec in configuration.records for path in spec.accessors]
    return {path.rpartition(".")[2] for path in paths}
