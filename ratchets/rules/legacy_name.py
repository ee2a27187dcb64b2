"""CB142 legacy-name: a retired global or getter, by qualified name, each with its replacement."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding
from confbag.ratchets.names import asking, references
from confbag.ratchets.names.exports import STARS, Echoes, Tree
from confbag.ratchets.names.references import Facts, Reference
from confbag.ratchets.rules.case import Case, case
from confbag.ratchets.source.parse import Module

CODE = "CB142"
NAME = "legacy-name"
MEANS = (
    "A retired global or getter of `names` is used: read, called or stored through whatever import or alias. An import "
    "that is only handed on counts where it stands."
)
WHY = "Two ways to one fact drift apart; the old one keeps its readers until somebody counts them."
INSTEAD = "Use the replacement that `names` gives for it."

_OLD = {"engine.globals.get_tp_group": "engine.parallel.get_parallel().tp_group", "engine.globals.CONFIG": "get_exec()"}


def triggers(configuration: Configuration) -> tuple[bytes, ...]:
    """The last part of each name; of a glob, its longest plain part."""
    lasts = [name.rpartition(".")[2] for name in configuration.legacy]
    return (*sorted({max(last.split("*"), key=len).encode() for last in lasts}), *STARS)


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Names are resolved later."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """What the module offers and refers to."""
    return references.collect(module)


def echoes(facts: Mapping[str, Facts], configuration: Configuration) -> Echoes:
    """Names under which modules hand on what is retired."""
    tree = Tree(references.everything(facts))
    targets = set(configuration.legacy)
    for one in facts.values():
        for paths in one.exports.names.values():
            targets.update(path for path in paths if _retired(path, tree, configuration) is not None)
    seen = (path for one in facts.values() for reference in one.references for path in reference.paths)
    return asking.echoes(tree, targets, {name.rpartition(".")[2] for name in configuration.legacy}, seen)


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """One finding a use; an import counts where the file does not use what it imports."""
    tree = Tree(references.everything(facts))
    for path, one in facts.items():
        used: set[str] = set()
        imports: list[tuple[str, str, Reference]] = []
        for reference in one.references:
            if reference.alias:
                continue
            names = (_retired(given.replace("()", ""), tree, configuration) for given in sorted(reference.paths))
            found = next((one for one in names if one is not None), None)
            if found is None:
                continue
            name, instead = found
            if reference.kind == "import":
                imports.append((name, instead, reference))
            else:
                used.add(name)
                yield _finding(path, name, instead, reference)
        for name, instead, reference in imports:
            if name not in used:
                yield _finding(path, name, instead, reference)


def _retired(path: str, tree: Tree, configuration: Configuration) -> tuple[str, str] | None:
    """The retired name that a path is, of a glob's names the one that is meant, and its replacement."""
    names = tree.all(path)
    for name, instead in configuration.legacy.items():
        if "*" in name:
            for one in sorted(names):
                if fnmatchcase(one, name) and one.count(".") == name.count("."):
                    return one, instead
        elif names & tree.all(name):
            return name, instead
    return None


def _finding(path: str, name: str, instead: str, reference: Reference) -> Finding:
    at = reference.place
    return Finding(
        path,
        at.line,
        at.column,
        CODE,
        name,
        at.qualname,
        f"`{name}` is retired; " + (f"use `{instead}`" if instead else "take it out"),
        end_line=at.end_line,
        end_column=at.end_column,
        first=at.first,
        last=at.last,
    )


_G = "CB142 engine.globals.get_tp_group"
_C = "CB142 engine.globals.CONFIG"
_FILES = {
    "engine/globals.py": """
    CONFIG = None
    def get_tp_group():
        return None
"""
}
_OPTIONS = {"legacy": _OLD}

CASES: tuple[Case, ...] = (
    case("call and read", """
        from engine.globals import CONFIG, get_tp_group
        def f():
            return get_tp_group().rank, CONFIG.x
    """, _G, _C, files=_FILES, options=_OPTIONS),
    case("through the module, stored", """
        import engine.globals as g
        def f(c):
            g.CONFIG = c
            return g.get_tp_group()
    """, _C, _G, files=_FILES, options=_OPTIONS),
    case("renamed", """
        from .globals import get_tp_group as tp
        def f():
            return tp()
    """, _G, files=_FILES, options=_OPTIONS),
    case("handed on only", """
        from engine.globals import get_tp_group
    """, _G, files=_FILES, options=_OPTIONS),
    case("taken from a module that hands it on", """
        from engine.api import group
        def f():
            return group()
    """, _G, files={**_FILES, "engine/api.py": "from engine.globals import get_tp_group as group\n"}, options=_OPTIONS,
        elsewhere=(_G,)),
    case("an alias counts where it is made", """
        from engine.globals import get_tp_group
        class A:
            def __init__(self):
                self.group = get_tp_group
            def f(self):
                return self.group()
    """, _G, files=_FILES, options=_OPTIONS),
    case("where it is defined: stored under global and read", """
        CONFIG = None
        def f(c):
            global CONFIG
            CONFIG = c
            return CONFIG.x
    """, _C, _C, path="engine/globals.py", options=_OPTIONS),
    case("local names, attributes and text", '''
        """engine.globals.get_tp_group is gone."""
        from engine.parallel import get_tp_group
        def f(self, CONFIG):
            return get_tp_group(), CONFIG.x, self.CONFIG, self.get_tp_group()
    ''', files=_FILES, options=_OPTIONS),
    case("shadowed", """
        from engine.globals import get_tp_group
        def f(get_tp_group):
            return get_tp_group()
        def g():
            return get_tp_group()
    """, _G, files=_FILES, options=_OPTIONS),
    case("a glob names what it found", """
        import engine.envs as envs
        def f():
            return envs.ENGINE_PORT, envs.OTHER
    """, "CB142 engine.envs.ENGINE_PORT", files={"engine/envs.py": "def __getattr__(name):\n    return name\n"},
        options={"legacy": {"engine.envs.ENGINE_*": "a setting of the bag"}}),
)  # fmt: skip
