"""CB105: a record that is fetched only to see whether there is one."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import Accessor, Record

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder

_TESTED = (ast.If, ast.While, ast.IfExp, ast.Assert)
_EQUAL = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)


class Presence(Part):
    """Accessor calls of which only the truth is asked."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self._asked: dict[ast.AST, dict[str, str]] = {}

    def probe(self, node: ast.expr) -> None:
        """The truth of a freshly fetched record says only whether one is published."""
        if isinstance(node, ast.Call):
            self.probe_call(node, node)
        else:
            self.kept(node)

    def kept(self, node: ast.expr) -> None:
        """A record fetched in a test, into a name of which nothing more is asked."""
        if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Call):
            self.fetched(node.target.id, node.value, tested=True)

    def probe_call(self, call: ast.Call, whole: ast.expr, *, negated: bool = False, fixable: bool = True) -> None:
        """An accessor's call that only asks whether there is a record."""
        if call.args or call.keywords:
            return
        for atom in self.binder.expressions.quiet(call.func):
            if isinstance(atom, Accessor):
                span = (self.module.start(whole), self.module.end(whole))
                callee = self.binder.expressions.quiet(call.func)
                self.sights.see(
                    "CB105",
                    Record(atom.spec, True),
                    "record",
                    self.places.token(call),
                    certain=fixable and len(callee) == 1,
                    span=span,
                    negated=negated,
                )

    def fetched(self, name: str, call: ast.Call, *, tested: bool = False) -> None:
        """A record fetched into a local name: for a test only, when every use of the name is one.

        `tested` says that it is a test itself, so that the name may have no other use.
        """
        facts = self.state.functions.get(self.names.scope.function)
        if self.names.scope.kind != "function" or facts is None or isinstance(facts.node, ast.Lambda):
            return
        asked = self._asked.get(facts.node)
        if asked is None:
            # Once for all names: a function may fetch very often.
            asked = self._asked[facts.node] = _asked(facts.node.body)
        how = asked.get(name, "")
        if how == "unused" and not tested:
            return
        if how and name not in self.names.scope.globals | self.names.scope.nonlocals:
            self.probe_call(call, call, fixable=how == "truth" and not tested)


def _asked(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Names bound once of which all uses ask, and how: "truth", "none" where some compare with None, or "unused"."""
    stores: Counter[str] = Counter()
    used: dict[str, set[str]] = {}
    stack: list[tuple[ast.AST, bool]] = [(node, False) for node in nodes]
    while stack:
        node, test = stack.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used.setdefault(node.id, set()).add("truth" if test else "")
            else:
                stores[node.id] += 1
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _EQUAL):
            sides = (node.left, node.comparators[0])
            if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
                for side in sides:
                    if isinstance(side, ast.Name):
                        used.setdefault(side.id, set()).add("none")
                    else:
                        stack.append((side, False))
                continue
        if isinstance(node, ast.BoolOp):
            last = len(node.values) - 1
            conjunction = isinstance(node.op, ast.And)
            for index, value in enumerate(node.values):
                stack.append((value, test or (conjunction and index < last)))
            continue
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            stack.append((node.operand, True))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool" and node.args:
            stack.extend((part, True) for part in node.args)
            continue
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                used.setdefault(name, set()).add("")
        for child in ast.iter_child_nodes(node):
            tested = isinstance(node, _TESTED) and child is node.test
            tested = tested or (isinstance(node, ast.comprehension) and child in node.ifs)
            stack.append((child, tested))
    return {
        name: "none" if "none" in how else "truth" if how else "unused"
        for name, how in ((name, used.get(name, set())) for name, count in stores.items() if count == 1)
        if "" not in how
    }
