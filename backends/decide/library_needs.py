"""What a plan needs of native libraries: which op, in which schema, of which version, and the version that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from confbag.backends.declare.libraries import Library
from confbag.backends.declare.requires import NativeOp, Specified
from confbag.backends.platforms.components import component_version
from confbag.backends.words.dispatch import device_key

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan


class Needed(NamedTuple):
    """One native op that one op's implementation calls. key: the dispatch key that must hold its kernel."""

    op: str
    provider: str
    native: NativeOp
    key: str


class LibraryNeed(NamedTuple):
    """One library. component: the versions that have its ops. installed: `distribution version`; None is unknown.

    assumed: that nobody measured what is installed.
    """

    library: Library
    installed: str | None
    assumed: bool
    needed: tuple[Needed, ...]

    @property
    def version(self) -> str | None:
        """The version needed and the one that is there, in words; None where the library names no component."""
        if self.library.component is None:
            return None
        here = self.installed or "not known"
        return f"{self.library.component}, here {here}{' (assumed)' if self.assumed else ''}"


def library_needs(plan: Plan) -> tuple[LibraryNeed, ...]:
    """The libraries that bind loads, by name, each with every op that needs it, in the plan's order."""
    needed: dict[str, dict[Needed, None]] = {}
    for binding in plan.bindings:
        row = binding.implementation
        if row is None or row.requires.library is None:
            continue
        for native in row.requires.native_ops:
            key = native.dispatch_key or device_key(plan.platform.device)
            one = Needed(binding.op, row.provider, native, key)
            needed.setdefault(row.requires.library, {})[one] = None
    return tuple(
        LibraryNeed(library, *_installed(plan, library), tuple(needed[name]))
        for name in sorted(needed)
        for library in (plan.registry.libraries[name],)
    )


def _installed(plan: Plan, library: Library) -> tuple[str | None, bool]:
    platform = plan.platform
    if library.component is None or platform.packages is None:
        return None, True
    found = component_version(platform, Specified.parse(library.component, "component").name)
    if found is None:
        return None, False
    assumed = not platform.assumed.isdisjoint({"packages", f"packages.{found[0]}"})
    return " ".join(found), assumed
