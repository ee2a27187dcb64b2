"""What one module says to the link step: accesses it saw, and what it offers to other modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confbag.ratchets.binder.values import Value
from confbag.ratchets.binder.world import Summary, Table
from confbag.ratchets.finding import Place


@dataclass(frozen=True, slots=True)
class Sight:
    """One way to see an access. `span` is the expression in bytes, where a fix could replace it."""

    code: str
    spec: str
    symbol: str
    guess: tuple[str, str] | None = None
    certain: bool = False
    span: tuple[int, int] | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Handoff:
    """A record given to a function of the tree, judged when its reads are known."""

    place: Place
    spec: str
    callee: str
    parameter: str
    guess: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """All of one module. `declares` says for each class whether an attribute named as a holder is one."""

    module: str
    sights: Mapping[Place, tuple[Sight, ...]]
    handoffs: tuple[Handoff, ...] = ()
    names: Mapping[str, Value] = field(default_factory=dict)
    answers: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, Summary] = field(default_factory=dict)
    classes: Mapping[str, Table] = field(default_factory=dict)
    star: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    declares: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    asked: Mapping[str, object] = field(default_factory=dict)
    wanted: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()  # of these those wanted for what they are, whatever they are given
    words_seen: frozenset[str] = frozenset()
    inexact: bool = False  # something was seen where the tree's positions are not exact
    inner: frozenset[str] = frozenset()  # attributes of other modules' classes that it leaves a record in
