"""CB121 module-state: run-time state at module level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from confbag.ratchets.configuration import Configuration
    from confbag.ratchets.finding import Finding
    from confbag.ratchets.names.mutations import Facts
    from confbag.ratchets.rules.case import Case
    from confbag.ratchets.source.parse import Module

CODE = "CB121"
NAME = "module-state"
MEANS = (
    "State of the run at module level: a `global` store; a module-level container or instance changed in a function; a "
    "class attribute stored from outside of the class; a cached function that reads a record, the bag or the "
    "environment. No findings: imports under `global`, registration (functions used only as decorators or called at "
    "module level), threading.local, ContextVar, locks, a module's __getattr__, stores on foreign classes."
)
WHY = (
    "Whoever imports the module shares the state: two engines in one process disagree, a test leaks into the next, and "
    "a cached answer outlives the setting that it was made from."
)
INSTEAD = (
    "Keep the state in an object that start-up makes and hands on, or in the bag (`bag.derived`); build tables at "
    "import, from decorators."
)


def triggers(configuration: Configuration) -> tuple[bytes, ...] | None:
    """Any file can use a function of another, which tells whether that is registration."""
    return None


def glance(configuration: Configuration) -> Callable[[bytes], bool]:
    """What tells of a file's bytes whether a function in it may change state, or is cached: else it has no finding."""
    from confbag.ratchets.names.glance import looks

    return looks(_packages(configuration))


def _packages(configuration: Configuration) -> set[str]:
    """The names that the tree's own modules start with, as far as the configuration tells."""
    import os

    found: set[str] = set()
    for source in configuration.source:
        if source.module:
            found.add(source.module.partition(".")[0])
            continue
        try:
            entries = os.listdir(configuration.root / source.path)
        except OSError:
            # Where there is no folder, there is no file of the tree in it.
            continue
        found.update(entry.removesuffix(".py") for entry in entries)
    return found


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Any file can use a function of another."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """What the module's names are, what its functions change, and which functions it uses."""
    from confbag.ratchets.names import mutations

    return mutations.collect(module)


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterable[Finding]:
    """One finding a change, and one a cached function."""
    from confbag.ratchets.rules import module_state_link

    return module_state_link.judge(facts, configuration)


def __getattr__(name: str) -> tuple[Case, ...]:
    """The cases, which no run needs."""
    if name == "CASES":
        from confbag.ratchets.rules.module_state_cases import CASES

        return CASES
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
