"""Scopes, the blocks in them, and the bindings of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LAST = (1 << 60, 0)
Position = tuple[int, int]


@dataclass(eq=False, slots=True)
class Arm:
    """One of the blocks of a compound statement; `number` tells the arms of one statement apart.

    An elif chain is one statement: an arm of it stands under the tests up to its own.
    """

    parent: Arm | None
    root: ast.stmt
    number: int
    body: Sequence[ast.stmt]
    chain: Sequence[ast.expr] = ()
    count: int = 0

    @property
    def tests(self) -> Sequence[ast.expr]:
        """The tests that the block stands under: all before it in the chain, and its own."""
        return self.chain[: self.count]

    @property
    def loop(self) -> bool:
        """Whether the block can run again."""
        return isinstance(self.root, (ast.For, ast.AsyncFor, ast.While)) and self.number == 0

    @property
    def leaves(self) -> bool:
        """Whether control never runs out of the block's end."""
        return bool(self.body) and isinstance(self.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


@dataclass(eq=False, slots=True)
class Binding:
    """A name gets a value: `kind` is import, def, class, assign (`value` is known) or other."""

    name: str
    kind: str
    node: ast.AST
    scope: Scope
    position: Position
    arm: Arm | None
    statement: ast.stmt
    path: str = ""
    value: ast.expr | None = None
    stored: bool = False  # by a `global` or `nonlocal` of an inner function


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function, lambda or comprehension, and the names that it binds."""

    kind: str
    parent: Scope | None
    qualname: str
    node: ast.AST
    arm: Arm | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    @property
    def deferred(self) -> bool:
        """Whether the body runs at some other time than where it stands."""
        return self.kind in ("function", "lambda")

    def outward(self) -> Iterator[Scope]:
        """This scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Site(NamedTuple):
    """A node with the scope, the block and the statement that it stands in."""

    node: Any
    scope: Scope
    arm: Arm | None
    statement: ast.stmt
