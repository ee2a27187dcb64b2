"""Statements by flow: branches join, loops run to a fixpoint, what leaves is not reached."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from confbag.ratchets.binder.scopes import Env
from confbag.ratchets.binder.state import join_env
from confbag.ratchets.binder.targets import Targets
from confbag.ratchets.binder.values import (
    NONE,
    UNKNOWN,
    Accessor,
    Box,
    Function,
    Instance,
    Of,
    Property,
    Record,
    Symbol,
    Type,
    Value,
    content,
    join,
    opaque,
    records,
)

_ROUNDS = 6


class Flow(Targets):
    """Execution of statements that others hang on."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Run statements in order until one leaves."""
        scope = self.scope
        for node in body:
            if scope.dead:
                return
            self.span = (node.lineno, node.end_lineno or node.lineno)
            self.run(node)

    def heading(self, node: ast.AST, body: Sequence[ast.AST], parts: Sequence[ast.AST | None]) -> None:
        """The lines of a compound statement's header: up to its colon."""
        first: int = node.lineno  # type: ignore[attr-defined]
        last = first
        for part in parts:
            if part is not None:
                last = max(last, getattr(part, "end_lineno", None) or first)
        start: int = getattr(body[0], "lineno", last) if body else last
        decorators = getattr(body[0], "decorator_list", None) if body else None
        if decorators:
            start = min(start, decorators[0].lineno)
        if start > last + 1:
            for number in range(last, start):
                text = self.module.line(number).partition(b"#")[0].rstrip()
                if text.endswith(b":"):
                    last = number
                    break
        self.span = (first, last)

    def branch_statement(self, node: ast.If) -> None:
        """A chain of if and elif."""
        scope = self.scope
        ends: list[Env] = []
        current = node
        while True:
            self.heading(current, current.body, [current.test])
            self.test(current.test)
            before = scope.env
            scope.env = dict(before)
            self.block(current.body)
            if not scope.dead:
                ends.append(scope.env)
            scope.dead = False
            scope.env = before
            if len(current.orelse) == 1 and isinstance(current.orelse[0], ast.If):
                current = current.orelse[0]
                continue
            self.block(current.orelse)
            if not scope.dead:
                ends.append(scope.env)
            break
        self._meet(ends)

    def _meet(self, ends: list[Env]) -> None:
        scope = self.scope
        if ends:
            scope.env = join_env(ends)
            scope.dead = False
        else:
            scope.env = {}
            scope.dead = True

    def for_statement(self, node: ast.For | ast.AsyncFor) -> None:
        """A loop over a value."""
        self.heading(node, node.body, [node.target, node.iter])
        element = self.element(self.ev(node.iter))

        def begin() -> None:
            self.heading(node, node.body, [node.target, node.iter])
            self.assign(node.target, element)

        self._loop(node, begin, endless=False)

    def while_statement(self, node: ast.While) -> None:
        """A loop under a test."""
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

        def begin() -> None:
            self.heading(node, node.body, [node.test])
            self.test(node.test)

        self._loop(node, begin, endless=endless)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], None], *, endless: bool) -> None:
        scope = self.scope
        # A loop inside a loop starts from what it met before, so that nesting costs no power.
        held = self.heads.get(node)
        entry = scope.env if held is None else join_env([scope.env, held])
        test_first = isinstance(node, ast.While)
        out: list[Env] = []
        for _ in range(_ROUNDS):
            breaks: list[Env] = []
            continues: list[Env] = []
            scope.loops.append((breaks, continues))
            scope.env = dict(entry)
            scope.dead = False
            begin()
            tested = dict(scope.env)
            self.block(node.body)
            ends = continues if scope.dead else [scope.env, *continues]
            scope.loops.pop()
            met = join_env([entry, *ends])
            out = [*([] if endless else [tested, met] if test_first else [met]), *breaks]
            if met == entry:
                break
            entry = met
        self.heads[node] = entry
        normal = out[: len(out) - len(breaks)]
        ends = list(breaks)
        if normal:
            scope.env = join_env(normal)
            scope.dead = False
            self.block(node.orelse)
            if not scope.dead:
                ends.append(scope.env)
        self._meet(ends)

    def try_statement(self, node: ast.Try) -> None:
        """What may be thrown reaches every handler."""
        scope = self.scope
        reached = [dict(scope.env)]
        for statement in node.body:
            if scope.dead:
                break
            self.block([statement])
            if not scope.dead:
                reached.append(dict(scope.env))
        thrown = join_env(reached)
        ends: list[Env] = []
        if not scope.dead:
            self.block(node.orelse)
            if not scope.dead:
                ends.append(scope.env)
        for handler in node.handlers:
            scope.env = dict(thrown)
            scope.dead = False
            self.heading(handler, handler.body, [handler.type])
            if handler.type is not None:
                self.ev(handler.type)
            if handler.name is not None:
                self.bind(handler.name, UNKNOWN)
            self.block(handler.body)
            if not scope.dead:
                ends.append(scope.env)
        if node.finalbody:
            normal = bool(ends)
            scope.env = join_env([*ends, thrown]) if not normal else join_env(ends)
            scope.dead = False
            if normal:
                # What a throw leaves is seen in the block, not after it.
                after = scope.env
                scope.env = join_env([after, thrown])
                self.block(node.finalbody)
                if scope.dead:
                    return
                scope.env = after
                scope.dead = False
            self.block(node.finalbody)
            if not normal:
                self._leave()
            return
        self._meet(ends)

    def with_statement(self, node: ast.With | ast.AsyncWith) -> None:
        """Context managers and what they give."""
        self.heading(node, node.body, [part for item in node.items for part in (item.context_expr, item.optional_vars)])
        for item in node.items:
            value = self.ev(item.context_expr)
            entered = self.entered(item.context_expr, value)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
        self.block(node.body)

    def entered(self, node: ast.expr, value: Value) -> Value:
        """What `as` takes."""
        values: list[Value] = []
        for atom in value:
            if isinstance(atom, Box):
                values.append(content(atom))
            elif isinstance(atom, Instance):
                found, _ = self.member(atom.key, "__enter__")
                methods = [part for part in found or () if isinstance(part, Function)]
                for method in methods:
                    prop = Property(frozenset({method}))
                    values.append(self.got(prop, frozenset({atom})))
                if not methods:
                    values.append(UNKNOWN)
            elif isinstance(atom, (Symbol, Of)) or atom in UNKNOWN:
                values.append(self._from_unknown(node))
            else:
                values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def _from_unknown(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.Call):
            return UNKNOWN
        given: list[Value] = []
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(part, (ast.Name, ast.Attribute)):
                found = self._silent(part)
                given.append(frozenset(records(found)))
            elif isinstance(part, ast.Call) and not part.args:
                for atom in self.quiet(part.func):
                    if isinstance(atom, (Accessor, Type)):
                        given.append(frozenset({Record(atom.spec, isinstance(atom, Accessor))}))
        held = join(given)
        return join([opaque(held), UNKNOWN]) if held else UNKNOWN

    def _silent(self, node: ast.expr) -> Value:
        """A value without noting what it takes to get it."""
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            base = self._silent(node.value)
            if records(base):
                return UNKNOWN
            return self.attribute(base, node.attr, node)
        return UNKNOWN

    def match(self, node: ast.Match) -> None:
        """Each case starts from the subject; the last one may not match."""
        scope = self.scope
        self.heading(node, node.cases, [node.subject])
        subject = self.ev(node.subject)
        before = scope.env
        ends: list[Env] = []
        for case in node.cases:
            scope.env = dict(before)
            scope.dead = False
            first, last = case.pattern.lineno, case.pattern.end_lineno
            self.span = (first, max(last, case.guard.end_lineno or last) if case.guard else last)
            self.pattern(case.pattern, subject)
            if case.guard is not None:
                self.test(case.guard)
            self.block(case.body)
            if not scope.dead:
                ends.append(scope.env)
        ends.append(before)
        self._meet(ends)

    def return_statement(self, node: ast.Return) -> None:
        """A way out of the function."""
        value = self.use(node.value) if node.value is not None else NONE
        scope = self.scope
        facts = self.functions.get(scope.function)
        if facts is not None:
            facts.returns = join([facts.returns, value])
        scope.exits.append(scope.env)
        self._leave()

    def raise_statement(self, node: ast.Raise) -> None:
        """A way out that leaves nothing."""
        for part in (node.exc, node.cause):
            if part is not None:
                self.use(part)
        self._leave()

    def _leave(self) -> None:
        self.scope.dead = True
        self.scope.env = {}

    def break_statement(self, node: ast.Break) -> None:
        """A way out of the loop."""
        if self.scope.loops:
            self.scope.loops[-1][0].append(self.scope.env)
        self._leave()

    def continue_statement(self, node: ast.Continue) -> None:
        """A way back to the loop's head."""
        if self.scope.loops:
            self.scope.loops[-1][1].append(self.scope.env)
        self._leave()

    # What other parts do

    def run(self, node: ast.stmt) -> None:
        """One statement."""
        raise NotImplementedError
