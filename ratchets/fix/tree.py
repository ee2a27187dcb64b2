"""All files of a tree: what is found in it decides which are fixed, and what other modules use of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from confbag.ratchets.analysis.engine import Run
from confbag.ratchets.analysis.link import known_of
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding
from confbag.ratchets.fix.cycles import Cycles
from confbag.ratchets.fix.file import Around, Fixed, fix_file
from confbag.ratchets.source.modules import module_of
from confbag.ratchets.source.parse import Module, parse, parse_tree

if TYPE_CHECKING:
    from confbag.ratchets.analysis.cache import Cache


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
    paths = list(files)
    run = Run(configuration, paths, read, cache, jobs, True, full)
    analysis = run.analysis(stored=False)
    facts = [*run.others.values(), *run.modules.values()]
    by_path: dict[str, set[tuple[str, str, str, str]]] = {}
    for finding in analysis.findings:
        if finding.fix is not None and keep(finding):
            by_path.setdefault(finding.path, set()).add(finding.key)
    if not by_path:
        return
    cycles = Cycles(configuration, paths, read)
    around = Around(
        configuration,
        known_of(facts),
        {question[2:] for one in facts for question in one.asked},
        set(_computed(configuration, cycles)),
        cycles.leads,
    )
    for path, wanted in sorted(by_path.items()):
        name, package = module_of(path, configuration) or (path, False)
        module = parse(path, name, package, read(path), configuration.max_bytes)
        if isinstance(module, Module):
            yield replace(fix_file(module, wanted, around), before=module.source)


def _computed(configuration: Configuration, cycles: Cycles) -> Iterator[str]:
    """The fields of the tables that are methods or properties of a record's class, where the tree holds it."""
    for spec in configuration.records:
        for dotted in spec.types:
            name, _, last = dotted.rpartition(".")
            if not spec.fields or name not in cycles.files:
                continue
            tree = parse_tree(cycles.read(cycles.files[name][0]))
            body = tree.body if isinstance(tree, ast.Module) else []
            classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
            stack, seen = [last], set[str]()
            while stack:
                current = classes.get(stack.pop())
                if current is None or current.name in seen:
                    continue
                seen.add(current.name)
                stack.extend(base.id for base in current.bases if isinstance(base, ast.Name))
                for node in current.body:
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in spec.fields:
                        yield node.name
