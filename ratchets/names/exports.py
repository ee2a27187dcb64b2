"""What a module binds at its top, and the path that a name has where it is defined, across modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confbag.ratchets.names.callables import enclosing_class, is_receiver
from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.reach import ending

# Words and modules: what makes a file worth a look after all.
Echoes = tuple[set[bytes], set[str]]
# What every import of everything holds in its bytes, however it is written: such a module hands names on unnamed.
STARS = (
    b"import *", b"import*", b"import  ", b"import \t", b"import \x0c", b"import \\", b"import\t", b"import\x0c",
    b"import\\",
)  # fmt: skip
_HOPS = 24
_WAYS = 500


@dataclass(frozen=True, slots=True)
class Exports:
    """Names that a module takes from elsewhere: name -> dotted paths; and the modules it takes everything from.

    `attributes` are those of its classes that stand for something else: "Class.attribute" -> dotted paths.
    """

    module: str
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    stars: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def exports(lexicon: Lexicon, naming: Naming, attributes: Mapping[str, tuple[str, ...]] | None = None) -> Exports:
    """The names of a module that are bound at its top, and the attributes that `attributes` found."""
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
    return Exports(module, names, frozenset(own), stars, attributes or {})


def attributes(lexicon: Lexicon, naming: Naming) -> dict[str, tuple[str, ...]]:
    """What attributes of the module's classes stand for, by assignments in the class and to self in its methods."""
    found: dict[str, set[str]] = {}
    for scope in lexicon.scopes:
        if scope.kind == "class":
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.kind in ("assign", "import"):
                        found.setdefault(f"{scope.qualname}.{name}", set()).update(naming.binding(binding))
    for site in lexicon.any(ast.Assign, ast.AnnAssign):
        node = site.node
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None and isinstance(target, ast.Attribute) and is_receiver(target.value, site.scope):
                owner = enclosing_class(site.scope)
                if owner is not None:
                    paths = naming.of(node.value, site)
                    found.setdefault(f"{owner.qualname}.{target.attr}", set()).update(paths)
    known = {
        name: tuple(sorted(path for path in paths if "." in path and "()" not in path)) for name, paths in found.items()
    }
    return {name: paths for name, paths in known.items() if paths}


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
        if rest and module.attributes:
            yield from _through(module, f"{name}.{rest}")
        if name in module.names:
            for target in module.names[name]:
                yield target + call + dot + rest
        elif name not in module.own:
            for star in module.stars:
                yield f"{star}.{name}{call}{dot}{rest}"

    def same(self, path: str, other: str) -> bool:
        """Whether two paths name one thing."""
        return bool(self.all(path) & self.all(other))


def _through(module: Exports, path: str) -> Iterator[str]:
    """What a path through an attribute of a class of the module leads to."""
    inside, rest = path, ""
    while "." in inside:
        if inside in module.attributes:
            yield from (target + rest for target in module.attributes[inside])
        inside, _, last = inside.rpartition(".")
        rest = f".{last}{rest}"


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
