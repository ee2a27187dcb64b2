"""What functions of a module change that outlives them, and where functions are used: facts for CB121."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from confbag.ratchets.finding import Place
from confbag.ratchets.names.exports import Exports, exports
from confbag.ratchets.names.lexicon import Binding, Lexicon, Scope, Site, lexicon
from confbag.ratchets.names.naming import Naming, Paths, foreign, text_of
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.reach import ending
from confbag.ratchets.names.references import paths_of
from confbag.ratchets.source.parse import Module

_CONTAINERS = frozenset(
    {
        "list", "dict", "set", "bytearray", "deque", "defaultdict", "OrderedDict", "Counter", "ChainMap",
        "WeakValueDictionary", "WeakKeyDictionary", "WeakSet", "UserDict", "UserList", "array",
    }
)  # fmt: skip
MUTATORS = frozenset(
    {
        "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update",
        "setdefault", "popitem", "intersection_update", "difference_update", "symmetric_difference_update",
        "appendleft", "extendleft", "popleft", "rotate", "move_to_end", "subtract",
    }
)  # fmt: skip
# State that belongs to a thread or a task, and locks.
_SAFE = frozenset(
    {"local", "ContextVar", "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier", "allocate_lock"}
)
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_CACHES = frozenset({"functools.lru_cache", "functools.cache", "functools.lru_cache()"})
_IMPORTS = frozenset({"importlib.import_module", "__import__", "importlib.util.module_from_spec"})


@dataclass(frozen=True, slots=True)
class Change:
    """Something that a function changes: `global` names, or paths whose first part of a module may be state.

    `how` is global, store (an attribute), item or call (a mutating method); `owner` is the outermost function.
    """

    paths: Paths
    how: str
    owner: str
    place: Place


@dataclass(frozen=True, slots=True)
class Cached:
    """A cached function and the paths that it and its helpers of this module use."""

    name: str
    uses: Paths
    place: Place


@dataclass(frozen=True, slots=True)
class Facts:
    """One module: what its names are, what its functions change, and who uses which function where."""

    exports: Exports
    kinds: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    cached: tuple[Cached, ...] = ()
    registering: frozenset[str] = frozenset()
    used: frozenset[tuple[str, str]] = frozenset()


def collect(module: Module) -> Facts:
    """The facts of one module."""
    return _Collector(module).facts()


class _Collector:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.lexicon: Lexicon = lexicon(module)
        self.naming = Naming(self.lexicon)
        self.prefix = f"{module.name}." if module.name else ""
        self.safe_classes = {
            name
            for name, bindings in self.lexicon.top.bindings.items()
            for one in bindings
            if isinstance(one.node, ast.ClassDef) and any(_last(base) in _SAFE for base in one.node.bases)
        }

    def facts(self) -> Facts:
        changes = tuple(sorted(self._changes(), key=lambda one: (one.place.line, one.place.column)))
        registering, used = self._uses()
        return Facts(
            exports(self.lexicon, self.naming),
            dict(self._kinds()),
            changes,
            tuple(self._cached()),
            registering,
            used,
        )

    # What names are

    def _kinds(self) -> Iterator[tuple[str, str]]:
        for name, bindings in self.lexicon.top.bindings.items():
            kinds = {self._kind(one) for one in ending(bindings)} | {
                self._kind(one) for one in bindings if not one.stored
            }
            for kind in ("safe", "container", "instance", "class", "def", "value"):
                if kind in kinds:
                    yield name, kind
                    break
        for scope in self.lexicon.scopes:
            if scope.kind == "class":
                for name, bindings in scope.bindings.items():
                    if any(self._kind(one) == "container" for one in bindings):
                        yield f"{scope.qualname}.{name}", "container"

    def _kind(self, binding: Binding) -> str:
        if binding.kind in ("import", "class", "def"):
            return binding.kind
        return self._value(binding.value)

    def _value(self, value: ast.expr | None) -> str:
        if isinstance(value, _DISPLAYS):
            return "container"
        if isinstance(value, ast.Call):
            last = _last(value.func)
            if last in _SAFE or last in self.safe_classes:
                return "safe"
            return "container" if last in _CONTAINERS else "instance"
        if isinstance(value, ast.BinOp):
            # [None] * 8
            return "container" if "container" in (self._value(value.left), self._value(value.right)) else "value"
        return "value"

    # Changes

    def _changes(self) -> Iterator[Change]:
        yield from self._globals()
        for site in self.lexicon.any(ast.Attribute, ast.Subscript):
            if isinstance(site.node.ctx, ast.Load):
                continue
            owner = _owner(site.scope)
            if owner is None:
                continue
            if isinstance(site.node, ast.Attribute):
                if not _own_class(site.node.value, site, self.naming):
                    yield from self._change(self.naming.of(site.node, site), "store", owner, site.node, site)
            else:
                base = site.node.value
                if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "globals":
                    name = text_of(site.node.slice) or "*"
                    yield from self._change(frozenset({self.prefix + name}), "global", owner, site.node, site)
                elif not _own_class(base, site, self.naming):
                    yield from self._change(self.naming.of(base, site), "item", owner, base, site)
        for site in self.lexicon.any(ast.Call):
            owner = _owner(site.scope)
            if owner is None:
                continue
            function = site.node.func
            if isinstance(function, ast.Attribute) and function.attr in MUTATORS:
                if isinstance(function.value, ast.Call) and _last(function.value.func) == "globals":
                    yield from self._change(frozenset({self.prefix + "*"}), "global", owner, site.node, site)
                elif not _own_class(function.value, site, self.naming):
                    yield from self._change(self.naming.of(function.value, site), "call", owner, site.node, site)
            elif isinstance(function, ast.Name) and function.id in ("setattr", "delattr") and len(site.node.args) > 1:
                name = text_of(site.node.args[1]) or "*"
                paths = frozenset(f"{path}.{name}" for path in self.naming.of(site.node.args[0], site))
                yield from self._change(paths, "store", owner, site.node, site)

    def _globals(self) -> Iterator[Change]:
        for name, bindings in self.lexicon.top.bindings.items():
            for binding in bindings:
                owner = _owner(binding.scope)
                if not binding.stored or owner is None or binding.kind == "import":
                    continue
                site = Site(binding.node, binding.scope, binding.arm, binding.statement)
                if binding.value is not None and (
                    self._value(binding.value) == "safe" or self._imports(binding.value, site)
                ):
                    continue
                yield from self._change(frozenset({self.prefix + name}), "global", owner, binding.node, site)

    def _imports(self, value: ast.expr, site: Site) -> bool:
        return isinstance(value, ast.Call) and bool(self.naming.of(value.func, site) & _IMPORTS)

    def _change(self, paths: Paths, how: str, owner: str, node: ast.AST, site: Site) -> Iterator[Change]:
        known = frozenset(path for path in paths if "." in path and "()" not in path)
        if known:
            yield Change(known, how, self.prefix + owner, place(self.module, node, site))

    # Uses of functions

    def _uses(self) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        registering: set[str] = set()
        used: set[tuple[str, str]] = set()
        decorators = {
            id(part.func if isinstance(part, ast.Call) else part)
            for site in self.lexicon.any(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            for part in site.node.decorator_list
        }
        called = {
            id(site.node.func) for site in self.lexicon.any(ast.Call) if _owner(site.scope) is None and not _main(site)
        }
        parents = self.lexicon.parents
        names = self._usable()
        seen: set[tuple[Scope, str, bool]] = set()
        for site in self.lexicon.any(ast.Name):
            if site.node.id not in names or not isinstance(site.node.ctx, ast.Load):
                continue
            node: ast.expr = site.node
            chain = site.node.id
            while isinstance(parents.get(node), ast.Attribute):
                node = parents[node]  # type: ignore[assignment]
                chain += f".{node.attr}"  # type: ignore[attr-defined]
            imported = id(node) in decorators or id(node) in called
            # What a name of one function is need not be asked each time that it stands there.
            if (site.scope, chain, imported) in seen:
                continue
            seen.add((site.scope, chain, imported))
            paths = [path for path in paths_of(node, site, self.naming) if "." in path and not foreign(path)]
            if not paths:
                continue
            if imported:
                registering.update(paths)
            elif not _main(site):
                owner = _owner(site.scope)
                used.update((path, "" if owner is None else self.prefix + owner) for path in paths)
        return frozenset(registering), frozenset(used)

    def _usable(self) -> set[str]:
        """Names that may lead to a function of the tree: its own functions and classes, imports, aliases, self."""
        found = set()
        for scope in self.lexicon.scopes:
            for name, bindings in scope.bindings.items():
                for one in bindings:
                    if one.kind in ("def", "class", "assign") or (one.kind == "import" and not foreign(one.path)):
                        found.add(name)
                        break
            if scope.parent is not None and scope.parent.kind == "class" and scope.kind == "function":
                found.update(part.arg for part in scope.node.args.args[:1])  # type: ignore[attr-defined]
        return found

    # Cached functions

    def _cached(self) -> Iterator[Cached]:
        if b"cache" not in self.module.source:
            return
        wrapped = {
            path
            for site in self.lexicon.any(ast.Call)
            if site.node.args and self.naming.of(site.node.func, site) & _CACHES
            for path in self.naming.of(site.node.args[0], site)
        }
        found = []
        for site in self.lexicon.of(ast.FunctionDef, ast.AsyncFunctionDef):
            scope = self.lexicon.scope_of[site.node]
            decorated = any(self.naming.of(part, site) & _CACHES for part in site.node.decorator_list)
            if decorated or self.prefix + scope.qualname in wrapped:
                found.append((site, scope))
        inside = self._inside() if found else {}
        for site, scope in found:
            uses: set[str] = set()
            edge = [self.prefix + scope.qualname]
            while edge:
                more = inside.get(edge.pop(), set()) - uses
                uses |= more
                edge.extend(more & inside.keys())
            at = place(self.module, site.node, Site(site.node, site.scope, site.arm, site.node), scope.qualname)
            yield Cached(site.node.name, frozenset(uses), at)

    def _inside(self) -> dict[str, set[str]]:
        """The paths that each function uses, those within it included."""
        inside: dict[str, set[str]] = {}
        for site in self.lexicon.any(ast.Name, ast.Attribute):
            if isinstance(site.node.ctx, ast.Load):
                functions = [outer for outer in site.scope.outward() if outer.kind == "function"]
                if functions:
                    paths = [path for path in paths_of(site.node, site, self.naming) if "." in path]
                    for outer in functions:
                        inside.setdefault(self.prefix + outer.qualname, set()).update(paths)
        return inside


def _owner(scope: Scope) -> str | None:
    """The qualname of the outermost function around; None in code that runs at import."""
    found = None
    for outer in scope.outward():
        if outer.kind == "function":
            found = outer.qualname
        elif outer.kind == "lambda" and found is None:
            found = "<lambda>" if outer.qualname == "<module>" else outer.qualname
    return found


def _own_class(node: ast.expr, site: Site, naming: Naming) -> bool:
    """Whether what is changed is a class, or an attribute of one, from within that class."""
    paths = naming.of(node, site)
    if isinstance(node, ast.Attribute):
        paths |= naming.of(node.value, site)
    for scope in site.scope.outward():
        if scope.kind == "class" and f"{naming.module}.{scope.qualname}".lstrip(".") in paths:
            return True
    return False


def _main(site: Site) -> bool:
    """Whether a place is under `if __name__ == "__main__"`."""
    arm = site.arm
    while arm is not None:
        for test in arm.tests:
            if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__":
                return True
        arm = arm.parent
    return False


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
