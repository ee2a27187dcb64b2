"""Statements by flow: branches join, and what leaves a block is not reached after it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Env, join_env
from confbag.ratchets.binder.values import NONE, UNKNOWN, join

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder


_NESTING = 4  # how deep last blocks in one another are walked for each way into them


class Flow(Part):
    """Blocks, branches and ways out."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self._nesting = 0

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Run statements in order until one leaves."""
        scope = self.names.scope
        for node in body:
            if scope.dead:
                return
            self.places.span = (node.lineno, node.end_lineno or node.lineno)
            self.binder.run(node)

    def branch_statement(self, node: ast.If) -> None:
        """A chain of if and elif."""
        scope = self.names.scope
        ends: list[Env] = []
        mark = self.binder.conditions.mark()
        current = node
        while True:
            self.places.enter(current)
            held, refused = self.binder.conditions.test(current.test)
            scope.env = dict(held)
            self.block(current.body)
            if not scope.dead:
                ends.append(scope.env)
            scope.dead = False
            scope.env = refused
            if len(current.orelse) == 1 and isinstance(current.orelse[0], ast.If):
                current = current.orelse[0]
                continue
            self.block(current.orelse)
            if not scope.dead:
                ends.append(scope.env)
            break
        self.meet(ends)
        self.binder.conditions.rejoin(mark)

    def try_statement(self, node: ast.Try) -> None:
        """What may be thrown reaches every handler; what leaves in any way passes the last block."""
        scope = self.names.scope
        leaving = dict(scope.env)
        if node.finalbody:
            scope.thrown.append(leaving)
        thrown = dict(scope.env)
        scope.thrown.append(thrown)
        self.block(node.body)
        scope.thrown.pop()
        ends: list[Env] = []
        if not scope.dead:
            self.block(node.orelse)
            if not scope.dead:
                ends.append(scope.env)
        for handler in node.handlers:
            scope.env = dict(thrown)
            scope.dead = False
            self.places.enter(handler)
            if handler.type is not None:
                self.binder.evaluate(handler.type)
            if handler.name is not None:
                self.names.bind(handler.name, UNKNOWN)
            self.block(handler.body)
            if not scope.dead:
                ends.append(scope.env)
        if not node.finalbody:
            self.meet(ends)
            return
        scope.thrown.pop()
        self._last(node.finalbody, leaving, ends)

    def _last(self, body: Sequence[ast.stmt], leaving: Env, ends: list[Env]) -> None:
        """The block that everything passes: a throw and a way out as well, and what they leave goes on to no other."""
        scope = self.names.scope
        if self._nesting >= _NESTING:
            scope.env = join_env([leaving, *ends])
            scope.dead = False
            self.block(body)
            if not ends:
                self._leave()
            return
        self._nesting += 1
        scope.env = dict(leaving)
        scope.dead = False
        self.block(body)
        if not scope.dead:
            # A function left here keeps what the block put into attributes.
            scope.exits.append(
                {
                    key: value
                    for key, value in scope.env.items()
                    if isinstance(key, str) or leaving.get(key) is not value
                }
            )
            self.meet(ends)
            if ends:
                self.block(body)
        self._nesting -= 1

    def swallowing(self, body: Sequence[ast.stmt]) -> None:
        """A block after which it goes on even where something was thrown in it."""
        scope = self.names.scope
        thrown = dict(scope.env)
        scope.thrown.append(thrown)
        self.block(body)
        scope.thrown.pop()
        self.meet([thrown] if scope.dead else [scope.env, thrown])

    def match(self, node: ast.Match) -> None:
        """Each case starts from the subject; the last one may not match, but where it takes everything."""
        scope = self.names.scope
        self.places.enter(node)
        subject = self.binder.evaluate(node.subject)
        before = scope.env
        ends: list[Env] = []
        for case in node.cases:
            scope.env = dict(before)
            scope.dead = False
            first, last = case.pattern.lineno, case.pattern.end_lineno
            self.places.span = (first, max(last, case.guard.end_lineno or last) if case.guard else last)
            self.binder.patterns.capture(case.pattern, subject)
            if case.guard is not None:
                # What a case captured stays where its guard does not hold.
                scope.env, refused = self.binder.conditions.test(case.guard)
                before = join_env([before, refused])
            self.block(case.body)
            if not scope.dead:
                ends.append(scope.env)
            if case.guard is None and _takes_all(case.pattern):
                break
        else:
            ends.append(before)
        self.meet(ends)

    def meet(self, ends: list[Env]) -> None:
        """Go on where paths meet; nothing is reached where there are none."""
        scope = self.names.scope
        if ends:
            scope.env = join_env(ends)
            scope.dead = False
        else:
            scope.env = {}
            scope.dead = True

    def return_statement(self, node: ast.Return) -> None:
        """A way out of the function."""
        value = self.binder.use(node.value) if node.value is not None else NONE
        scope = self.names.scope
        facts = self.state.functions.get(scope.function)
        if facts is not None:
            facts.returns = join([facts.returns, value])
        scope.exits.append(scope.env)
        self._leave()

    def raise_statement(self, node: ast.Raise) -> None:
        """A way out that leaves nothing."""
        for part in (node.exc, node.cause):
            if part is not None:
                self.binder.use(part)
        self._leave()

    def break_statement(self, node: ast.Break) -> None:
        """A way out of the loop."""
        if self.names.scope.loops:
            self.names.scope.loops[-1][0].append(self.names.scope.env)
        self._leave()

    def continue_statement(self, node: ast.Continue) -> None:
        """A way back to the loop's head."""
        if self.names.scope.loops:
            self.names.scope.loops[-1][1].append(self.names.scope.env)
        self._leave()

    def _leave(self) -> None:
        self.names.scope.dead = True
        self.names.scope.env = {}


def _takes_all(pattern: ast.pattern) -> bool:
    """Whether a pattern matches whatever comes."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _takes_all(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and any(_takes_all(part) for part in pattern.patterns)
