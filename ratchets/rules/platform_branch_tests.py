"""What the tests of one module mention: for CB131, which does not know yet which of it asks for the platform."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from confbag.ratchets.names.callables import enclosing_class, is_receiver
from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.reach import ending, lookup
from confbag.ratchets.names.scopes import Arm, Scope, Site

Paths = frozenset[str]
_DEPTH = 8


class Mentions:
    """Paths in tests and flags; what stands around a block."""

    def __init__(self, lexicon: Lexicon, naming: Naming) -> None:
        self.lexicon = lexicon
        self.naming = naming
        self.prefix = f"{naming.module}." if naming.module else ""
        self._tests: dict[ast.expr, Paths] = {}
        self._chains: dict[ast.stmt, list[Paths]] = {}

    # Flags

    def flags(self) -> dict[str, Paths]:
        """Names of modules and classes, and attributes of self, that are assigned from something that may be a test."""
        found: dict[str, Paths] = {}
        for name, value, site in self._assigned():
            if isinstance(value, ast.Constant) or (isinstance(value, (ast.Name, ast.Attribute)) and "." not in name):
                continue  # an alias is among the exports
            paths = self.of(value, site)
            if paths:
                key = self.prefix + name
                found[key] = found.get(key, frozenset()) | paths
        return found

    def _assigned(self) -> Iterator[tuple[str, ast.expr, Site]]:
        for scope in self.lexicon.scopes:
            if scope.kind in ("module", "class"):
                inside = "" if scope.kind == "module" else scope.qualname + "."
                for name, bindings in scope.bindings.items():
                    for binding in ending(bindings):
                        if binding.value is not None:
                            site = Site(binding.value, binding.scope, binding.arm, binding.statement)
                            yield inside + name, binding.value, site
        for site in self.lexicon.of(ast.Assign, ast.AnnAssign):
            node = site.node
            if node.value is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one, value in _pairs(target, node.value):
                    owner = enclosing_class(site.scope)
                    if owner is not None and isinstance(one, ast.Attribute) and is_receiver(one.value, site.scope):
                        yield f"{owner.qualname}.{one.attr}", value, site

    # Tests

    def of(self, test: ast.expr, site: Site, depth: int = 0) -> Paths:
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
                if depth < _DEPTH:
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
                paths |= self.of(binding.value, inner, depth + 1)
        return paths

    def _attribute(self, node: ast.Attribute, site: Site) -> Paths:
        owner = enclosing_class(site.scope) if is_receiver(node.value, site.scope) else None
        if owner is not None:
            return frozenset({f"{self.prefix}{owner.qualname}.{node.attr}"})
        return self.naming.of(node, site)

    # Blocks

    def around(self, arm: Arm | None, scope: Scope) -> Paths | None:
        """The paths that the tests around a block mention; None where only a type checker runs it."""
        paths: set[str] = set()
        while arm is not None and arm is not scope.arm:
            if isinstance(arm.root, ast.If):
                paths |= self._chain(arm, scope)
                if arm.number == 0 and _for_types(arm.tests[0]):
                    return None
            elif isinstance(arm.root, ast.Match):
                guards = [case.guard for case in arm.root.cases[: arm.number + 1] if case.guard is not None]
                for test in (arm.root.subject, *guards):
                    paths |= self.of(test, Site(test, scope, arm.parent, arm.root))
            arm = arm.parent
        return frozenset(paths)

    def _chain(self, arm: Arm, scope: Scope) -> Paths:
        """What the tests of a chain mention, up to an arm's own."""
        known = self._chains.setdefault(arm.root, [frozenset()])
        while len(known) <= arm.count:
            test = arm.chain[len(known) - 1]
            more = self.of(test, Site(test, scope, arm.parent, arm.root))
            known.append(known[-1] | more if more - known[-1] else known[-1])
        return known[arm.count]


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """An assignment's targets, each with its part of the value where that can be told."""
    if (
        isinstance(target, (ast.Tuple, ast.List))
        and isinstance(value, (ast.Tuple, ast.List))
        and len(target.elts) == len(value.elts)
    ):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def _for_types(test: ast.expr) -> bool:
    """Whether only a type checker takes the branch."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return any(_last(part) == "TYPE_CHECKING" for part in parts)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
