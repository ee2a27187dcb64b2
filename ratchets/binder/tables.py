"""The functions and classes of a module while it is read."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from confbag.ratchets.binder.scopes import FunctionNode, Scope
from confbag.ratchets.binder.values import NOTHING, Value
from confbag.ratchets.binder.world import Summary
from confbag.ratchets.source.tree import parameters


@dataclass(eq=False)
class FunctionFacts:
    """One function of this module while it is read."""

    key: str
    name: str
    node: FunctionNode
    scope: Scope
    owner: str
    kind: str = ""
    context: bool = False
    coroutine: bool = False
    defaults: dict[str, Value] = field(default_factory=dict)
    holds: set[str] = field(default_factory=set)
    returns: Value = NOTHING
    yields: Value = NOTHING
    reads: dict[str, set[str]] = field(default_factory=dict)
    passes: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    promise: Value | None = None  # what its annotation says that it returns, once that was asked for
    done: bool = False

    def without_body(self) -> bool:
        """Whether there is nothing in it to run: a method for others to write."""
        return not isinstance(self.node, ast.Lambda) and all(
            isinstance(part, (ast.Pass, ast.Raise))
            or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            for part in self.node.body
        )

    def summary(self) -> Summary:
        """What other functions may know of it."""
        given = self.node.args
        return Summary(
            self.name,
            tuple(argument.arg for argument in parameters(given)),
            self.returns,
            self.yields,
            self.kind,
            self.context,
            {name: frozenset(fields) for name, fields in self.reads.items()},
            {name: frozenset(others) for name, others in self.passes.items()},
            bool(self.owner),
            frozenset(self.holds),
            self.coroutine,
            len(given.posonlyargs) + len(given.args),
            given.vararg.arg if given.vararg else "",
            given.kwarg.arg if given.kwarg else "",
        )


@dataclass(eq=False)
class ClassFacts:
    """One class of this module while it is read: its body's names, and what methods leave in attributes."""

    key: str
    name: str
    node: ast.ClassDef
    bases: tuple[Value, ...] = ()
    body: dict[str, Value] = field(default_factory=dict)
    annotated: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)
