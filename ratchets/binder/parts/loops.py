"""Loops, each to a fixpoint."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Env, Key, join_env
from confbag.ratchets.binder.values import NOTHING, UNKNOWN, Atom, Box, Partial, Value, content, interesting, join

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder

_Loop = ast.For | ast.AsyncFor | ast.While
_Begin = Callable[[], "tuple[Env, Env | None]"]

# Each round walks the body, so a short one may take more of them.
_FEWEST = 8
_MOST = 64
_LINES = 8_000


class Loops(Part):
    """A loop's head joins what comes in and what comes back."""

    def __init__(self, binder: Binder) -> None:
        super().__init__(binder)
        self.heads: dict[ast.AST, Env] = {}
        self._endless: set[ast.AST] = set()

    def begin(self) -> None:
        """A pass begins."""
        self.heads = {}
        self._endless = set()

    def for_statement(self, node: ast.For | ast.AsyncFor) -> None:
        """A loop over a value."""
        self.places.enter(node)
        element = self.binder.displays.element(self.binder.evaluate(node.iter))

        def begin() -> tuple[Env, None]:
            self.places.enter(node)
            self.binder.targets.assign(node.target, element)
            return self.names.scope.env, None

        self._loop(node, begin, endless=False)

    def while_statement(self, node: ast.While) -> None:
        """A loop under a test."""
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

        def begin() -> tuple[Env, Env]:
            self.places.enter(node)
            held, refused = self.binder.conditions.test(node.test)
            return (dict(held), held) if held is refused else (held, refused)

        self._loop(node, begin, endless=endless)

    def _loop(self, node: _Loop, begin: _Begin, *, endless: bool) -> None:
        """Rounds until a round brings nothing new to the head; after too many, a guess that covers all."""
        scope = self.names.scope
        # A loop inside a loop starts from what it met before, so that nesting costs no power.
        held = self.heads.get(node)
        first = entry = scope.env if held is None else join_env([scope.env, held])
        left = self._rounds(node)
        while True:
            breaks: list[Env] = []
            continues: list[Env] = []
            scope.loops.append((breaks, continues))
            scope.env = dict(entry)
            scope.dead = False
            scope.env, refused = begin()
            self.binder.flow.block(node.body)
            ends = continues if scope.dead else [scope.env, *continues]
            scope.loops.pop()
            met = join_env([entry, *ends])
            left -= 1
            if met == entry or left < 0:
                break
            entry = met
            if not left:
                self._endless.add(node)
                entry = _widened(node, first, met)
        self.heads[node] = entry
        ends = list(breaks)
        if not endless:
            scope.env = met if refused is None else refused
            scope.dead = False
            self.binder.flow.block(node.orelse)
            if not scope.dead:
                ends.append(scope.env)
        self.binder.flow.meet(ends)

    def _rounds(self, node: _Loop) -> int:
        if node in self._endless:
            return 2
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        return min(_MOST, max(_FEWEST, _LINES // lines))


def _widened(node: _Loop, first: Env, met: Env) -> Env:
    """Whatever changes in a loop may hold everything that anything which changes in it holds."""
    changed: set[Key] = {key for key, value in met.items() if first.get(key) is not value}
    changed.update(
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    )
    held = frozenset(atom for key in changed for atom in _kept(met.get(key, NOTHING)))
    if not held:
        return met
    return {**met, **{key: join([met.get(key, NOTHING), held, UNKNOWN]) for key in changed}}


def _kept(value: Value) -> set[Atom]:
    found: set[Atom] = set()
    for atom in value:
        if isinstance(atom, Box):
            found |= _kept(content(atom))
        elif not isinstance(atom, Partial) and interesting(frozenset({atom})):
            found.add(atom)
    return found
