"""The rules by code: names only, so that a listing imports none of them.

A rule is a module with

    CODE, NAME, MEANS, WHY, INSTEAD                          text for people
    CASES: tuple[Case, ...]                                  its own valid, invalid and opaque cases (`rules.case`)
    triggers(configuration) -> tuple[bytes, ...] | None      a file without one is not its business (None: all are)
    glance(configuration) -> (bytes) -> bool                 may be left out: whether a file may hold a finding of
                                                             its own; asked where a run is of some files only
    wanted(tree, configuration) -> bool                      quick and over-approximating, on the `ast` tree
    collect(module, configuration) -> Facts | None           what one file says (picklable; `parse.Module` in)
    judge(facts, configuration) -> Iterable[Finding]         facts of all files by path -> findings (the link step)
    echoes(facts, configuration) -> Echoes                   may be left out: triggers that the facts so far add, and
                                                             modules that they lead through

but for the record rules, which have no functions: they are judged together by the binder (`binder`, `link`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from confbag.ratchets.codes import RECORD_RULES, RULES

if TYPE_CHECKING:
    from confbag.ratchets.configuration import Configuration


def load(configuration: Configuration) -> Mapping[str, ModuleType]:
    """The modules of the enabled rules that collect facts of their own; out-of-tree ones as `plugins` lists them."""
    found = {
        code: import_module(f"confbag.ratchets.rules.{RULES[code]}")
        for code in configuration.codes
        if code in RULES and code not in RECORD_RULES
    }
    if configuration.plugins:
        found.update(_plugins(configuration))
    return found


def _plugins(configuration: Configuration) -> dict[str, ModuleType]:
    """The enabled rules of the listed plugins: modules, as members of the entry-point group `confbag.ratchets`."""
    from confbag.ratchets.config.plugins import installed
    from confbag.ratchets.faults import usage

    points = installed()
    found: dict[str, ModuleType] = {}
    for name in configuration.plugins:
        if name not in points:
            known = ", ".join(sorted(points)) or "none"
            raise usage(f"no package offers the ratchet plugin {name!r}; installed: {known}", "plugins")
        module: ModuleType = points[name].load()
        code = str(getattr(module, "CODE", ""))
        if code in configuration.codes:
            found[code] = module
    missing = [code for code in configuration.codes if code not in RULES and code not in found]
    if missing:
        raise usage(f"no plugin has the rules {', '.join(missing)}", "plugins")
    return found
