"""What functions of a module change that outlives them, and where functions are used: facts for CB121."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confbag.ratchets.names.caching import Cached, Caching
from confbag.ratchets.names.changes import Change, Changes
from confbag.ratchets.names.exports import Exports, exports
from confbag.ratchets.names.held import Held
from confbag.ratchets.names.kinds import Kinds
from confbag.ratchets.names.lexicon import lexicon
from confbag.ratchets.names.scopes import Scope
from confbag.ratchets.names.using import Using
from confbag.ratchets.source.parse import Module


@dataclass(frozen=True, slots=True)
class Facts:
    """One module: what its names are, what its functions change, and who uses which function where."""

    exports: Exports
    kinds: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    cached: tuple[Cached, ...] = ()
    registering: frozenset[str] = frozenset()
    used: Mapping[str, frozenset[str]] = field(default_factory=dict)


def collect(module: Module) -> Facts:
    """The facts of one module."""
    lexicon_ = lexicon(module)
    naming = Held(lexicon_)
    kinds = Kinds(lexicon_)
    owner = _Owners().of
    changes = Changes(module, lexicon_, naming, kinds, owner).all()
    cached = tuple(Caching(module, lexicon_, naming).all())
    registering, used = Using(module, lexicon_, naming, owner).all()
    return Facts(exports(lexicon_, naming), dict(kinds.all()), changes, cached, registering, used)


class _Owners:
    def __init__(self) -> None:
        self._known: dict[Scope, str | None] = {}

    def of(self, scope: Scope) -> str | None:
        """The qualname of the outermost function around; None in code that runs at import."""
        if scope in self._known:
            return self._known[scope]
        found = None
        for outer in scope.outward():
            if outer.kind == "function":
                found = outer.qualname
            elif outer.kind == "lambda" and found is None:
                found = "<lambda>" if outer.qualname == "<module>" else outer.qualname
        self._known[scope] = found
        return found
