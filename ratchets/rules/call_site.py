"""CB141 call-site: a function that may only be called where it is listed with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from confbag.ratchets.configuration import Configuration, Site
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names import asking, references
from confbag.ratchets.names.exports import STARS, Echoes, Tree
from confbag.ratchets.names.references import Facts
from confbag.ratchets.rules.case import Case, case
from confbag.ratchets.source.parse import Module

CODE = "CB141"
NAME = "call-site"
MEANS = (
    "A function of `callees` is called where no [[site]] lists it (path, qualname, callee), or a listed place calls it "
    "no more."
)
WHY = (
    "Some functions answer rightly only in a few places (a size as configured, before groups exist). The list keeps "
    "those places and their reasons in one table that can be reviewed."
)
INSTEAD = (
    "Call what is meant for this place (the resolved size from the bag), or list the place with its reason; take a "
    "stale listing out."
)

_SIZE = "engine.sizes.configured_tp_size"


def triggers(configuration: Configuration) -> tuple[bytes, ...]:
    """The longest plain part of each callee's name."""
    return (*sorted({_plain(callee).encode() for callee in configuration.sites}), *STARS)


def _plain(callee: str) -> str:
    last = callee.rpartition(".")[2]
    parts = last.replace("?", "*").partition("[")[0].split("*")
    return max(parts, key=len)


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Names are resolved later."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """What the module offers, and its calls."""
    facts = references.collect(module)
    return Facts(facts.exports, tuple(one for one in facts.references if one.kind == "call"))


def echoes(facts: Mapping[str, Facts], configuration: Configuration) -> Echoes:
    """Names under which modules hand on a callee."""
    tree = Tree(references.everything(facts))
    targets = set(configuration.sites)
    for one in facts.values():
        for paths in one.exports.names.values():
            targets.update(path for path in paths if _callees(path, tree, configuration))
    seen = (path for one in facts.values() for reference in one.references for path in reference.paths)
    return asking.echoes(tree, targets, {callee.rpartition(".")[2] for callee in configuration.sites}, seen)


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """Calls that are not listed, and listings without a call."""
    tree = Tree(references.everything(facts))
    live: set[tuple[str, str, str]] = set()
    for path, one in facts.items():
        inside = path.removeprefix(configuration.prefix)
        seen: set[Place] = set()
        for reference in one.references:
            at = reference.place
            callees = {
                callee: name
                for given in sorted(reference.paths)
                for callee, name in _callees(given.replace("()", ""), tree, configuration).items()
            }
            if not callees:
                continue
            live.update((callee, inside, at.qualname) for callee in callees)
            if any(_listed(site, inside, at.qualname) for callee in callees for site in configuration.sites[callee]):
                continue
            if at in seen:
                continue  # a name that is the callee by an import and by an assignment
            seen.add(at)
            symbol = min(callees.values())
            yield Finding(
                path,
                at.line,
                at.column,
                CODE,
                symbol,
                at.qualname,
                f"`{symbol}` may be called only where it is listed; {at.qualname} is not: add a [[site]] with its "
                "reason, or call what is meant for this place",
                end_line=at.end_line,
                end_column=at.end_column,
                first=at.first,
                last=at.last,
            )
    for callee, sites in configuration.sites.items():
        for site in sites:
            if (callee, site.path, site.qualname) not in live:
                yield Finding(
                    configuration.prefix + site.path,
                    1,
                    1,
                    CODE,
                    callee,
                    site.qualname,
                    f"{site.qualname} is listed as a caller of `{callee}` and calls it no more; take the [[site]] out",
                )


def _listed(site: Site, path: str, qualname: str) -> bool:
    return (site.path, site.qualname) == (path, qualname)


def _callees(path: str, tree: Tree, configuration: Configuration) -> dict[str, str]:
    """The configured callees that a path is, each with the name that it has where it is defined."""
    names = tree.all(path)
    found = {}
    for callee in configuration.sites:
        if "*" in callee or "?" in callee or "[" in callee:
            matching = sorted(name for name in names if fnmatchcase(name, callee))
            if matching:
                found[callee] = matching[0]
        elif names & tree.all(callee):
            found[callee] = callee
    return found


def _sites(*qualnames: str, callee: str = _SIZE) -> dict[str, object]:
    return {
        "sites": {callee: tuple(Site("engine/case.py", qualname, "before the groups exist") for qualname in qualnames)}
    }


_SIZES = {
    "engine/sizes.py": """
    def configured_tp_size():
        return 1
    def configured_dp_size():
        return 1
"""
}

CASES: tuple[Case, ...] = (
    case("unlisted", """
        from engine.sizes import configured_tp_size
        def f():
            return configured_tp_size()
    """, f"CB141 {_SIZE}", files=_SIZES, options=_sites()),
    case("listed", """
        from engine.sizes import configured_tp_size as size
        class A:
            def f(self):
                return size()
    """, files=_SIZES, options=_sites("A.f")),
    case("stale", """
        def f():
            return 1
    """, f"CB141 {_SIZE}", files=_SIZES, options=_sites("f")),
    case("another place of the same file, through the module and an alias", """
        from engine import sizes
        def f():
            return sizes.configured_tp_size()
        def g():
            size = sizes.configured_tp_size
            return size()
    """, f"CB141 {_SIZE}", files=_SIZES, options=_sites("f")),
    case("a glob", """
        from engine.sizes import configured_dp_size, configured_tp_size
        def f():
            return configured_tp_size() * configured_dp_size()
    """, f"CB141 {_SIZE}", "CB141 engine.sizes.configured_dp_size", files=_SIZES,
        options=_sites(callee="engine.sizes.configured_*_size")),
    case("renamed by a package", """
        from engine.api import tp
        def f():
            return tp()
    """, f"CB141 {_SIZE}", files={**_SIZES, "engine/api.py": "from engine.sizes import configured_tp_size as tp\n"},
        options=_sites()),
    case("as a decorator, by an attribute, chosen", """
        from engine.sizes import configured_tp_size
        class A:
            size = configured_tp_size
            def f(self, x):
                return self.size() + (configured_tp_size if x else len)()
        @configured_tp_size
        def g():
            return 1
    """, f"CB141 {_SIZE}", f"CB141 {_SIZE}", f"CB141 {_SIZE}", files=_SIZES, options=_sites()),
    case("through a module that hands the module on", """
        from engine.api import s
        def f():
            return s.configured_tp_size()
    """, f"CB141 {_SIZE}", files={**_SIZES, "engine/api.py": "from engine import sizes as s\n"}, options=_sites()),
    case("another function of that name", """
        def configured_tp_size():
            return 2
        def f(server):
            return configured_tp_size() + server.configured_tp_size()
    """, files=_SIZES, options=_sites()),
    case("a reference is no call", """
        from engine.sizes import configured_tp_size
        TABLE = {"tp": configured_tp_size}
    """, files=_SIZES, options=_sites()),
)  # fmt: skip
