"""Where functions of a module, and those that it imports, are used: what tells registration from the run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming, foreign
from confbag.ratchets.names.references import paths_of
from confbag.ratchets.names.scopes import Scope, Site
from confbag.ratchets.source.parse import Module

# Methods that a class statement calls: of the class's bases and attributes, and of its metaclass.
_HOOKS = ("__init_subclass__", "__set_name__")
_MAKING = ("__new__", "__init__", "__prepare__")
_METACLASSES = frozenset({"type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})


class Using:
    """The uses of functions in one module; `owner` tells the outermost function of a scope."""

    def __init__(self, module: Module, lexicon: Lexicon, naming: Naming, owner: Callable[[Scope], str | None]) -> None:
        self.lexicon = lexicon
        self.naming = naming
        self.owner = owner
        self.prefix = f"{module.name}." if module.name else ""
        self.registering: set[str] = set()
        self.used: dict[str, set[str]] = {}

    def all(self) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """What decorates or is called at import, and what each outermost function uses ("" is code at import)."""
        self._names()
        self._class_statements()
        return frozenset(self.registering), {user: frozenset(paths) for user, paths in self.used.items()}

    def _names(self) -> None:
        decorators: dict[int, bool] = {
            id(part.func if isinstance(part, ast.Call) else part): isinstance(part, ast.Call)
            for site in self.lexicon.any(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            for part in site.node.decorator_list
        }
        called = {
            id(site.node.func)
            for site in self.lexicon.any(ast.Call)
            if self.owner(site.scope) is None and not is_main(site)
        }
        parents = self.lexicon.parents
        names = self._usable()
        functions = {
            scope.qualname for scope in self.lexicon.scopes if scope.kind in ("function", "class") and scope.parent
        }
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
            paths = [path for path in paths_of(node, site, self.naming) if self._may_be_function(path, functions)]
            if not paths:
                continue
            if imported:
                self.registering.update(paths)
                if decorators.get(id(node)):
                    # Where it is a class, its instance decorates.
                    self.registering.update(f"{path}.__call__" for path in paths)
            elif not is_main(site):
                self._use(self.owner(site.scope), paths)

    def _use(self, owner: str | None, paths: list[str]) -> None:
        self.used.setdefault("" if owner is None else self.prefix + owner, set()).update(paths)

    def _class_statements(self) -> None:
        """What classes run as they, or classes on them, are made: at import, but for statements in functions."""
        for site in self.lexicon.any(ast.ClassDef):
            inner = self.lexicon.scope_of[site.node]
            owner = self.owner(site.scope)
            bases = {path for base in site.node.bases for path in self.naming.of(base, site)}
            if owner is None:
                hooks = (*_HOOKS, *_MAKING) if bases & _METACLASSES else _HOOKS
                self.registering.update(
                    f"{self.prefix}{inner.qualname}.{name}" for name in hooks if name in inner.bindings
                )
            else:
                makers = [
                    path
                    for keyword in site.node.keywords
                    if keyword.arg == "metaclass"
                    for path in self.naming.of(keyword.value, site)
                ]
                self._use(owner, [f"{path}.{_HOOKS[0]}" for path in bases if "()" not in path and not foreign(path)])
                self._use(owner, [f"{path}.{name}" for path in makers for name in _MAKING])

    def _may_be_function(self, path: str, functions: set[str]) -> bool:
        """Whether a path may be that of a function of the tree: not an attribute of the module's own classes."""
        if "." not in path or "()" in path or "[" in path or foreign(path):
            return False
        if not self.prefix or not path.startswith(self.prefix):
            return True
        inside = path[len(self.prefix) :]
        if inside in functions:
            return True
        first = self.lexicon.top.bindings.get(inside.partition(".")[0], ())
        # Another name for something may lead to a function; what stands in a class of the module is known.
        return any(one.kind not in ("class", "def") for one in first) or not first

    def _usable(self) -> set[str]:
        """Names that may lead to a function of the tree: its own functions and classes, imports, aliases, self."""
        return set(self._leading())

    def _leading(self) -> Iterator[str]:
        for scope in self.lexicon.scopes:
            for name, bindings in scope.bindings.items():
                for one in bindings:
                    if one.kind == "assign":
                        leads = _may_lead(one.value)
                    else:
                        leads = one.kind in ("def", "class") or (one.kind == "import" and not foreign(one.path))
                    if leads:
                        yield name
                        break
            if scope.parent is not None and scope.parent.kind == "class" and scope.kind == "function":
                yield from (part.arg for part in scope.node.args.args[:1])  # type: ignore[attr-defined]


def _may_lead(value: ast.expr | None) -> bool:
    """Whether what is assigned may be a function of the tree, or what has one: what a call gives is none, but for those
    that take a name as text, or the class of something."""
    if isinstance(value, ast.Call):
        function = value.func
        return (isinstance(function, ast.Name) and function.id in ("type", "vars", "globals")) or any(
            isinstance(part, ast.Constant) and isinstance(part.value, str) for part in value.args
        )
    return isinstance(value, (ast.Name, ast.Attribute, ast.IfExp, ast.BoolOp, ast.NamedExpr))


def is_main(site: Site) -> bool:
    """Whether a place is under `if __name__ == "__main__"`."""
    arm = site.arm
    while arm is not None:
        for test in arm.tests:
            if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__":
                return True
        arm = arm.parent
    return False
