"""What of one module may be chosen by a test, whatever the test asks: facts for CB131."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from confbag.ratchets.finding import Place
from confbag.ratchets.names.callables import classes, is_plain_class, kind, plain, spelt
from confbag.ratchets.names.exports import Exports, exports
from confbag.ratchets.names.lexicon import Lexicon, lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.names.scopes import Binding, Scope, Site
from confbag.ratchets.rules.platform_branch_tests import Mentions, Paths
from confbag.ratchets.source.parse import Module


@dataclass(frozen=True, slots=True)
class Choice:
    """One binding, side or return: what it gives, the paths that its tests mention, and where it stands.

    `spelt`: only the way it is written says that it is a function or a class; where it is defined may say otherwise.
    """

    target: str
    tests: Paths
    place: Place
    spelt: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name of one scope that may be chosen by a test; `form` is "name" where the bindings tell which.

    `none` are the paths of the tests around bindings to None; `alone`: nothing else is bound to the name.
    """

    form: str
    name: str
    qualname: str
    choices: tuple[Choice, ...]
    none: Paths | None = None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What one module offers (names, flags, and which names are certainly values) and what may be a finding in it."""

    exports: Exports
    flags: Mapping[str, Paths] = field(default_factory=dict)
    values: frozenset[str] = frozenset()
    candidates: tuple[Candidate, ...] = ()


def collect(module: Module) -> Facts:
    """The names, flags and candidates of one module."""
    return _Collector(module).facts()


class _Collector:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.lexicon: Lexicon = lexicon(module)
        self.naming = Naming(self.lexicon)
        self.tests = Mentions(self.lexicon, self.naming)
        self.called: dict[Scope, set[str]] = {}
        for site in self.lexicon.any(ast.Call):
            if isinstance(site.node.func, ast.Name):
                self.called.setdefault(site.scope, set()).add(site.node.func.id)

    def facts(self) -> Facts:
        flags = self.tests.flags()
        candidates = [*self._names(), *self._ternaries(), *self._factories(), *self._lambdas()]
        return Facts(exports(self.lexicon, self.naming), flags, frozenset(self._values()), tuple(candidates))

    def _values(self) -> Iterator[str]:
        """Names at the module's top that are numbers, text, containers, enumerations, records: no implementation."""
        for name, bindings in self.lexicon.top.bindings.items():
            if all(
                is_plain_class(one.node) if one.kind == "class" else one.value is not None and plain(one.value)
                for one in bindings
            ):
                yield self.tests.prefix + name

    # (a), (b) and strict

    def _names(self) -> Iterator[Candidate]:
        for scope in self.lexicon.scopes:
            if scope.kind not in ("module", "class", "function"):
                continue
            for name, bindings in scope.bindings.items():
                candidate = self._name(name, scope, bindings)
                if candidate is not None:
                    yield candidate

    def _name(self, name: str, scope: Scope, bindings: list[Binding]) -> Candidate | None:
        if all(binding.arm is binding.scope.arm or binding.arm is None for binding in bindings):
            return None
        choices: list[Choice] = []
        none: Paths | None = None
        alone = True
        # A value of any kind stands in for a function where the name is one elsewhere, or is called.
        beside = any(one.kind in ("import", "def", "class") for one in bindings)
        called = name in self.called.get(scope, ())
        for binding in bindings:
            tests = self.tests.around(binding.arm, binding.scope)
            if tests is None or _repeats(binding):
                continue
            if binding.stored and binding.kind not in ("import", "def", "class"):
                continue  # a store under `global` is state of the run, not what the name means
            if isinstance(binding.value, ast.Constant) and binding.value.value is None:
                none = tests | (none or frozenset())
                continue
            target = self._implementation(binding, beside, called)
            if target is None:
                alone = False
                continue
            site = Site(binding.node, binding.scope, binding.arm, binding.statement)
            choices.append(Choice(target, tests, place(self.module, binding.node, site), binding.kind == "assign"))
        if not choices or not (none or any(choice.tests for choice in choices)):
            return None
        choices.sort(key=lambda choice: (choice.place.line, choice.place.column))
        return Candidate("name", name, scope.qualname, tuple(choices), none, alone)

    def _implementation(self, binding: Binding, beside: bool, called: bool) -> str | None:
        """What a binding gives, if that can be an implementation."""
        if binding.kind == "import":
            # A constant or a dtype cannot be one, and is told by its spelling.
            is_name = isinstance(binding.statement, ast.ImportFrom)
            return None if is_name and not spelt(binding.path) else binding.path if is_name else f"={binding.path}"
        if binding.kind in ("def", "class"):
            if is_plain_class(binding.node):
                return None
            return f"{self.module.name}:{binding.statement.lineno}"
        if binding.value is None or isinstance(binding.value, ast.IfExp):
            return None
        site = Site(binding.value, binding.scope, binding.arm, binding.statement)
        if isinstance(binding.value, ast.Attribute):
            possible = (beside or called) and bool(spelt(binding.value.attr))
        else:
            possible = beside and isinstance(binding.value, ast.Call) and not plain(binding.value)
        return self._target(binding.value, site) if possible or kind(binding.value, site, self.lexicon) else None

    def _target(self, value: ast.expr, site: Site) -> str:
        """The path of a value; a text of its own where it has none (a lambda, a partial)."""
        paths = self.naming.of(value, site) if not isinstance(value, ast.Call) else None
        return min(paths) if paths else f"{self.module.name}:{ast.dump(value)}"

    # (c)

    def _ternaries(self) -> Iterator[Candidate]:
        for site in self.lexicon.of(ast.IfExp):
            node: ast.IfExp = site.node
            parent = self.lexicon.parents.get(node)
            if isinstance(parent, ast.IfExp) and node is not parent.test:
                continue
            tests, sides = self._sides(node, site)
            if not tests or not self._functions(node, sides, site):
                continue
            at = place(self.module, node, site)
            choices = [Choice(self._target(side, site), tests, at, True) for side in sides]
            yield Candidate("c", self._named(node, site, sides[0]), site.scope.qualname, tuple(choices))

    def _functions(self, node: ast.IfExp, sides: list[ast.expr], site: Site) -> bool:
        """Whether the sides are functions or classes: by what they are, or because what is chosen is called."""
        if all(kind(side, site, self.lexicon) for side in sides):
            return True
        parent = self.lexicon.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if isinstance(parent, ast.Assign):
            called = any(
                isinstance(target, ast.Name) and target.id in self.called.get(site.scope, ())
                for target in parent.targets
            )
        return called and all(isinstance(side, (ast.Name, ast.Attribute, ast.Lambda)) for side in sides)

    def _sides(self, node: ast.IfExp, site: Site) -> tuple[Paths, list[ast.expr]]:
        tests: set[str] = set()
        sides: list[ast.expr] = []
        stack: list[ast.expr] = [node]
        while stack:
            one = stack.pop()
            if isinstance(one, ast.IfExp):
                tests |= self.tests.of(one.test, site)
                stack.extend((one.orelse, one.body))
            else:
                sides.append(one)
        return frozenset(tests), sides

    def _named(self, node: ast.expr, site: Site, side: ast.expr) -> str:
        """The name that an expression's value gets; that of its first side where it gets none."""
        parent = self.lexicon.parents.get(node)
        if isinstance(parent, ast.keyword) and parent.arg:
            return parent.arg
        target: ast.expr | None = None
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
        elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
            target = parent.target
        elif isinstance(parent, ast.Return):
            return site.scope.qualname.rpartition(".")[2]
        if isinstance(target, ast.Name):
            return target.id
        if isinstance(target, ast.Attribute):
            return target.attr
        return _last(side)

    # (d)

    def _factories(self) -> Iterator[Candidate]:
        returns: dict[Scope, list[Choice]] = {}
        for site in self.lexicon.of(ast.Return):
            if site.node.value is not None and site.scope.kind == "function":
                tests = self.tests.around(site.arm, site.scope)
                if tests is not None:
                    returns.setdefault(site.scope, []).extend(self._calls(site.node.value, site, tests))
        for scope, choices in returns.items():
            choices.sort(key=lambda choice: (choice.place.line, choice.place.column))
            if any(choice.tests for choice in choices):
                yield Candidate("d", scope.qualname.rpartition(".")[2], scope.qualname, tuple(choices))

    def _lambdas(self) -> Iterator[Candidate]:
        """A lambda is a function too."""
        for site in self.lexicon.of(ast.Lambda):
            inner = Site(site.node.body, self.lexicon.scope_of[site.node], None, site.statement)
            choices = tuple(self._calls(site.node.body, inner, frozenset()))
            if any(choice.tests for choice in choices):
                yield Candidate("d", self._named(site.node, site, site.node), site.scope.qualname, choices)

    def _calls(self, value: ast.expr, site: Site, tests: Paths, depth: int = 0) -> Iterator[Choice]:
        if isinstance(value, ast.IfExp):
            inside = tests | self.tests.of(value.test, site)
            yield from self._calls(value.body, site, inside, depth)
            yield from self._calls(value.orelse, site, inside, depth)
        elif isinstance(value, ast.Call):
            paths = classes(value.func, site, self.lexicon, self.naming)
            if paths:
                yield Choice(min(paths), tests, place(self.module, value, site), True)
        elif isinstance(value, ast.Name) and depth < 4:
            for binding in lookup(value.id, site.scope, site.arm, (value.lineno, value.col_offset)):
                if binding.value is not None and binding.scope is site.scope:
                    around = self.tests.around(binding.arm, binding.scope)
                    if around is not None:
                        inner = Site(binding.value, binding.scope, binding.arm, binding.statement)
                        yield from self._calls(binding.value, inner, around | tests, depth + 1)


def _repeats(binding: Binding) -> bool:
    """Whether a def is another part of one thing: an overload, a setter of a property."""
    for decorator in getattr(binding.node, "decorator_list", ()):
        if _last(decorator) in ("overload", "setter", "getter", "deleter", "register"):
            return True
    return False


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "function"
