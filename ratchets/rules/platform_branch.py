"""CB131 platform-branch: an implementation chosen by a platform test instead of the registry."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names.callables import classes, enclosing_class, is_receiver, kind
from confbag.ratchets.names.exports import Exports, Tree, exports, words
from confbag.ratchets.names.lexicon import Arm, Binding, Lexicon, Scope, Site, lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.rules.platform_branch_cases import CASES as CASES
from confbag.ratchets.source.parse import Module

CODE = "CB131"
NAME = "platform-branch"
MEANS = (
    "A test of the platform decides which function or class a name is: (a) the name has two or more import or def "
    "bindings in one scope, one of them under such a test; (b) it has one such binding and None; (c) a ternary's sides "
    "are functions or classes; (d) a function returns calls of two classes. `predicates` lists the tests, which are "
    "followed through imports, and flags assigned from them count as they do. With `strict`, a name bound only under "
    "a test counts too."
)
WHY = (
    "Whoever adds a platform must find and edit every such branch; nobody can list what may run, say why one was "
    "chosen, or choose another by configuration."
)
INSTEAD = (
    'Register each implementation for its op with what it requires (`op.implement("provider", "module:function", '
    'requires=Requires(device=("npu",)))`) and call the one that the plan has bound.'
)

_FORMS = {
    "a": "`{name}` is one implementation or another by a test of the platform",
    "b": "`{name}` is an implementation or None by a test of the platform",
    "c": "a ternary on the platform chooses what `{name}` is",
    "d": "`{name}` returns one class or another by a test of the platform",
    "strict": "`{name}` is there only on some platforms",
}
Paths = frozenset[str]


@dataclass(frozen=True, slots=True)
class Choice:
    """One binding, side or return: what it gives, the paths that its tests mention, and where it stands."""

    target: str
    tests: Paths
    place: Place


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name of one scope that may be chosen by a test; `form` is "name" where the bindings tell which."""

    form: str
    name: str
    qualname: str
    choices: tuple[Choice, ...]
    none: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What one module offers (names and flags) and what may be a finding in it."""

    exports: Exports
    flags: Mapping[str, Paths] = field(default_factory=dict)
    offered: frozenset[str] = frozenset()
    candidates: tuple[Candidate, ...] = ()


def triggers(configuration: Configuration) -> tuple[bytes, ...]:
    """The names of the predicates; star imports hand them on unnamed."""
    return (*sorted({path.rpartition(".")[2].encode() for path in configuration.predicates}), b"import *")


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Whatever holds a trigger hands a name on or tests it."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """The names, flags and candidates of one module."""
    return _Collector(module).facts()


def echoes(facts: Mapping[str, Facts], configuration: Configuration) -> set[bytes]:
    """Names under which predicates and flags are handed on: triggers of a further round."""
    tests = _Tests(facts, configuration)
    flags = {flag for one in facts.values() for flag in one.offered if tests.platform(flag)}
    found = words(tests.tree, [*configuration.predicates, *flags])
    return found | {flag.rpartition(".")[2].encode() for flag in flags}


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """One finding a name and scope."""
    for path, form, candidate, at in found(facts, configuration):
        message = _FORMS[form].format(name=candidate.name) + "; register the implementations and let the plan choose"
        yield Finding(
            path,
            at.line,
            at.column,
            CODE,
            candidate.name,
            candidate.qualname,
            message,
            end_line=at.end_line,
            end_column=at.end_column,
            first=at.first,
            last=at.last,
        )


def found(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[tuple[str, str, Candidate, Place]]:
    """Path, form, candidate and place of each finding."""
    tests = _Tests(facts, configuration)
    for path, one in facts.items():
        seen: set[tuple[str, str]] = set()
        for candidate in one.candidates:
            key = (candidate.qualname, candidate.name)
            form = _form(candidate, tests, configuration.strict)
            if form is not None and key not in seen:
                seen.add(key)
                at = next(choice.place for choice in candidate.choices if tests.any(choice.tests))
                yield path, form, candidate, at


def _form(candidate: Candidate, tests: _Tests, strict: bool) -> str | None:
    if not any(tests.any(choice.tests) for choice in candidate.choices):
        return None
    targets = {tests.origin(choice.target) for choice in candidate.choices}
    if candidate.form != "name":
        return candidate.form if len(targets) > 1 else None
    if len(targets) > 1:
        return "a"
    if candidate.none:
        return "b"
    alone = candidate.alone and all(tests.any(choice.tests) for choice in candidate.choices)
    return "strict" if strict and alone else None


class _Tests:
    """Which paths are tests of the platform: the predicates, what re-exports them, and flags made of them."""

    def __init__(self, facts: Mapping[str, Facts], configuration: Configuration) -> None:
        self.tree = Tree(one.exports for one in facts.values())
        self.flags: dict[str, Paths] = {}
        for one in facts.values():
            self.flags.update(one.flags)
        self.predicates: set[str] = set()
        for path in configuration.predicates:
            self.predicates |= self.tree.all(path)
        self._known: dict[str, bool] = {}

    def any(self, paths: Iterable[str]) -> bool:
        return any(self.platform(path) for path in paths)

    def platform(self, path: str) -> bool:
        """Whether a path is a predicate, called or not, or a flag."""
        path = path.removesuffix("()")
        known = self._known.get(path)
        if known is None:
            self._known[path] = False  # a flag made of itself
            names = self.tree.all(path)
            known = bool(names & self.predicates) or any(self.any(self.flags.get(name, ())) for name in names)
            self._known[path] = known
        return known

    def origin(self, target: str) -> str:
        """One name for everything that a target also is."""
        return min(self.tree.all(target))


class _Collector:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.lexicon: Lexicon = lexicon(module)
        self.naming = Naming(self.lexicon)
        self.flags: dict[str, Paths] = {}
        self._tests: dict[ast.expr, Paths] = {}
        self._chains: dict[ast.stmt, list[Paths]] = {}

    def facts(self) -> Facts:
        for scope in self.lexicon.scopes:
            if scope.kind in ("module", "class"):
                for name, bindings in scope.bindings.items():
                    inside = "" if scope.kind == "module" else scope.qualname + "."
                    for binding in bindings:
                        if binding.value is not None:
                            self._flag(f"{inside}{name}", binding.value, binding.scope, binding.arm, binding.statement)
        offered = frozenset(self.flags)
        for site in self.lexicon.of(ast.Assign, ast.AnnAssign):
            node = site.node
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if (
                    isinstance(target, ast.Attribute)
                    and node.value is not None
                    and is_receiver(target.value, site.scope)
                ):
                    owner = enclosing_class(site.scope)
                    if owner is not None:
                        self._flag(f"{owner.qualname}.{target.attr}", node.value, site.scope, site.arm, site.statement)
        candidates = [*self._names(), *self._ternaries(), *self._factories()]
        return Facts(exports(self.lexicon, self.naming), self.flags, offered, tuple(candidates))

    def _flag(self, name: str, value: ast.expr, scope: Scope, arm: Arm | None, statement: ast.stmt) -> None:
        if isinstance(value, ast.Constant) or (isinstance(value, (ast.Name, ast.Attribute)) and "." not in name):
            return  # an alias is among the exports
        paths = self.mentions(value, Site(value, scope, arm, statement))
        if paths:
            key = f"{self.module.name}.{name}" if self.module.name else name
            self.flags[key] = self.flags.get(key, frozenset()) | paths

    # Tests

    def mentions(self, test: ast.expr, site: Site, depth: int = 0) -> Paths:
        """The paths that decide a truth value: under and, or, not, comparisons, bool, any and all."""
        known = self._tests.get(test)
        if known is not None:
            return known
        self._tests[test] = frozenset()
        paths: set[str] = set()
        stack: list[ast.expr] = [test]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.BoolOp):
                stack.extend(node.values)
            elif isinstance(node, ast.UnaryOp):
                stack.append(node.operand)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
                stack.extend((node.left, node.right))
            elif isinstance(node, ast.Compare):
                stack.extend((node.left, *node.comparators))
            elif isinstance(node, ast.NamedExpr):
                stack.append(node.value)
            elif isinstance(node, ast.IfExp):
                # A number that depends on the platform is no test of it; True and False are.
                if any(
                    isinstance(side, ast.Constant) and isinstance(side.value, bool) for side in (node.body, node.orelse)
                ):
                    stack.extend((node.test, node.body, node.orelse))
            elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
                stack.extend(node.elts)
            elif isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name) and node.func.id in ("bool", "any", "all"):
                    stack.extend(node.args)
                else:
                    paths |= self.naming.of(node, site)
            elif isinstance(node, ast.Name):
                paths |= self.naming.of(node, site)
                if depth < 8:
                    paths |= self._through(node, site, depth)
            elif isinstance(node, ast.Attribute):
                paths |= self._attribute(node, site)
        result = frozenset(paths)
        self._tests[test] = result
        return result

    def _through(self, node: ast.Name, site: Site, depth: int) -> set[str]:
        """What the tests behind a flag mention."""
        paths: set[str] = set()
        for binding in lookup(node.id, site.scope, site.arm, (node.lineno, node.col_offset)):
            if binding.kind == "assign" and binding.value is not None:
                inner = Site(binding.value, binding.scope, binding.arm, binding.statement)
                paths |= self.mentions(binding.value, inner, depth + 1)
        return paths

    def _attribute(self, node: ast.Attribute, site: Site) -> Paths:
        owner = enclosing_class(site.scope) if is_receiver(node.value, site.scope) else None
        if owner is not None:
            name = f"{owner.qualname}.{node.attr}"
            return frozenset({f"{self.module.name}.{name}" if self.module.name else name})
        return self.naming.of(node, site)

    def tests_of(self, arm: Arm | None, scope: Scope) -> Paths | None:
        """The paths that the tests around a block mention; None where only a type checker runs it."""
        paths: set[str] = set()
        while arm is not None and arm is not scope.arm:
            if isinstance(arm.root, ast.If):
                paths |= self._chain(arm, scope)
                if arm.number == 0 and _for_types(arm.tests[0]):
                    return None
            arm = arm.parent
        return frozenset(paths)

    def _chain(self, arm: Arm, scope: Scope) -> Paths:
        """What the tests of a chain mention, up to an arm's own."""
        known = self._chains.setdefault(arm.root, [frozenset()])
        while len(known) <= arm.count:
            test = arm.chain[len(known) - 1]
            more = self.mentions(test, Site(test, scope, arm.parent, arm.root))
            known.append(known[-1] | more if more - known[-1] else known[-1])
        return known[arm.count]

    # (a), (b) and strict

    def _names(self) -> Iterator[Candidate]:
        for scope in self.lexicon.scopes:
            if scope.kind not in ("module", "class", "function"):
                continue
            for name, bindings in scope.bindings.items():
                candidate = self._name(name, scope, [one for one in bindings if not one.stored])
                if candidate is not None:
                    yield candidate

    def _name(self, name: str, scope: Scope, bindings: list[Binding]) -> Candidate | None:
        choices: list[Choice] = []
        none = False
        alone = True
        if all(binding.arm is scope.arm or binding.arm is None for binding in bindings):
            return None
        for binding in bindings:
            tests = self.tests_of(binding.arm, scope)
            if tests is None or _repeats(binding):
                continue
            if isinstance(binding.value, ast.Constant) and binding.value.value is None:
                none = True
                continue
            target = self._implementation(binding)
            if target is None:
                alone = False
                continue
            site = Site(binding.node, binding.scope, binding.arm, binding.statement)
            choices.append(Choice(target, tests, place(self.module, binding.node, site)))
        if not any(choice.tests for choice in choices):
            return None
        choices.sort(key=lambda choice: (choice.place.line, choice.place.column))
        return Candidate("name", name, scope.qualname, tuple(choices), none, alone)

    def _implementation(self, binding: Binding) -> str | None:
        """What a binding gives, if that can be an implementation."""
        if binding.kind == "import":
            return binding.path
        if binding.kind in ("def", "class"):
            return f"{self.module.name}:{binding.statement.lineno}"
        if binding.value is None or isinstance(binding.value, ast.IfExp):
            return None
        site = Site(binding.value, binding.scope, binding.arm, binding.statement)
        if not kind(binding.value, site, self.lexicon):
            return None
        paths = self.naming.of(binding.value, site)
        return min(paths) if paths else f"{self.module.name}:{binding.value.lineno}:{binding.value.col_offset}"

    # (c)

    def _ternaries(self) -> Iterator[Candidate]:
        for site in self.lexicon.of(ast.IfExp):
            node: ast.IfExp = site.node
            parent = self.lexicon.parents.get(node)
            if isinstance(parent, ast.IfExp) and node is not parent.test:
                continue
            tests, sides = self._sides(node, site)
            kinds = [kind(side, site, self.lexicon) for side in sides]
            if not tests or not all(kinds):
                continue
            at = place(self.module, node, site)
            choices = [Choice(self._side(side, site), tests, at) for side in sides]
            yield Candidate("c", self._named(node, site, sides[0]), site.scope.qualname, tuple(choices))

    def _sides(self, node: ast.IfExp, site: Site) -> tuple[Paths, list[ast.expr]]:
        tests: set[str] = set()
        sides: list[ast.expr] = []
        stack: list[ast.expr] = [node]
        while stack:
            one = stack.pop()
            if isinstance(one, ast.IfExp):
                tests |= self.mentions(one.test, site)
                stack.extend((one.orelse, one.body))
            else:
                sides.append(one)
        return frozenset(tests), sides

    def _side(self, side: ast.expr, site: Site) -> str:
        paths = self.naming.of(side, site)
        if paths:
            return min(paths)
        return f"{self.module.name}:{ast.unparse(side)}"

    def _named(self, node: ast.expr, site: Site, side: ast.expr) -> str:
        """The name that a ternary's value gets; that of its first side where it gets none."""
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
                tests = self.tests_of(site.arm, site.scope)
                if tests is not None:
                    returns.setdefault(site.scope, []).extend(self._calls(site.node.value, site, tests))
        for scope, choices in returns.items():
            choices.sort(key=lambda choice: (choice.place.line, choice.place.column))
            if any(choice.tests for choice in choices):
                yield Candidate("d", scope.qualname.rpartition(".")[2], scope.qualname, tuple(choices))

    def _calls(self, value: ast.expr, site: Site, tests: Paths, depth: int = 0) -> Iterator[Choice]:
        if isinstance(value, ast.IfExp):
            inside = tests | self.mentions(value.test, site)
            yield from self._calls(value.body, site, inside, depth)
            yield from self._calls(value.orelse, site, inside, depth)
        elif isinstance(value, ast.Call):
            paths = classes(value.func, site, self.lexicon, self.naming)
            if paths:
                yield Choice(min(paths), tests, place(self.module, value, site))
        elif isinstance(value, ast.Name) and depth < 4:
            for binding in lookup(value.id, site.scope, site.arm, (value.lineno, value.col_offset)):
                if binding.value is not None and binding.scope is site.scope:
                    around = self.tests_of(binding.arm, binding.scope)
                    if around is not None:
                        inner = Site(binding.value, binding.scope, binding.arm, binding.statement)
                        yield from self._calls(binding.value, inner, around | tests, depth + 1)


def _repeats(binding: Binding) -> bool:
    """Whether a def is another part of one thing: an overload, a setter of a property."""
    for decorator in getattr(binding.node, "decorator_list", ()):
        if _last(decorator) in ("overload", "setter", "getter", "deleter", "register"):
            return True
    return False


def _for_types(test: ast.expr) -> bool:
    """Whether only a type checker takes the branch."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return any(_last(part) == "TYPE_CHECKING" for part in parts)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "function"
