"""What a module binds at its top, and the path that a name has where it is defined, across modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.reach import ending

_HOPS = 24
_WAYS = 500


@dataclass(frozen=True, slots=True)
class Exports:
    """Names that a module takes from elsewhere: name -> dotted paths; and the modules it takes everything from."""

    module: str
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    stars: tuple[str, ...] = ()


def exports(lexicon: Lexicon, naming: Naming) -> Exports:
    """The names of a module that are bound at its top."""
    module = lexicon.module.name
    names: dict[str, tuple[str, ...]] = {}
    own: set[str] = set()
    for name, bindings in lexicon.top.bindings.items():
        path = f"{module}.{name}" if module else name
        found: set[str] = set()
        for binding in ending(bindings):
            found |= naming.binding(binding)
        # What a call gives is nobody's other name, and a name made of itself leads nowhere.
        others = {one for one in found if "()" not in one and one != path and not one.startswith(path + ".")}
        if others:
            names[name] = tuple(sorted(others))
        if path in found or not others:
            own.add(name)
    stars = tuple(sorted({base for base, binding in lexicon.stars if binding.scope is lexicon.top}))
    return Exports(module, names, frozenset(own), stars)


class Tree:
    """The exports of all modules, asked together."""

    def __init__(self, modules: Iterable[Exports]) -> None:
        self.modules = {one.module: one for one in modules}
        self._known: dict[str, frozenset[str]] = {}

    def all(self, path: str) -> frozenset[str]:
        """Every path that names the same thing: the given one and those that it leads to."""
        found = self._known.get(path)
        if found is None:
            seen = {path: None}
            edge = [path]
            for _ in range(_HOPS):
                after = dict.fromkeys(path for one in edge for path in self._next(one) if path not in seen)
                if not after or len(seen) > _WAYS:
                    break
                seen.update(after)
                edge = list(after)
            found = self._known[path] = frozenset(seen)
        return found

    def _next(self, path: str) -> Iterator[str]:
        head = path
        while head:
            head, _, _ = head.rpartition(".")
            module = self.modules.get(head)
            if module is not None:
                break
        else:
            return
        name, dot, rest = path[len(head) + 1 :].partition(".")
        call = ""
        while name.endswith("()"):
            name, call = name[:-2], call + "()"
        if name in module.names:
            for target in module.names[name]:
                yield target + call + dot + rest
        elif name not in module.own:
            for star in module.stars:
                yield f"{star}.{name}{call}{dot}{rest}"

    def same(self, path: str, other: str) -> bool:
        """Whether two paths name one thing."""
        return bool(self.all(path) & self.all(other))


def words(tree: Tree, wanted: Iterable[str]) -> set[bytes]:
    """Names under which modules offer what is wanted, other than its own: triggers for a second round."""
    targets: set[str] = set()
    for path in wanted:
        targets |= tree.all(path)
    found: set[bytes] = set()
    for one in tree.modules.values():
        for name, paths in one.names.items():
            if any(tree.all(path) & targets for path in paths):
                found.add(name.encode())
    return found
