"""An implementation: one provider of one op, what it needs and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from confbag.backends.declare.requires import Requires
from confbag.backends.words.levels import DETERMINISM, NEVER, NONE
from confbag.words.once import once

Target: TypeAlias = "str | Callable[..., Any] | None"

ANYWHERE = Requires()


@dataclass(frozen=True, eq=False)
class Implementation:
    """One provider of one op; with a variant where one provider differs by model kind or device.

    op: the name of the op.
    provider: the word that a configuration names it by.
    target: `module:callable`, imported only at bind; or the function; or None for a provider that is declared only,
        whose class `engine` constructs.
    variant: tells two implementations of one provider apart; None for the only one.
    priority: decides among those that can run when no rule does.
    requires: what it needs.
    regimes: those of the op that it takes.
    most: the largest amount of the op's measure that it takes; None is without bound.
    determinism: a level for each regime (None for an op without); undeclared is none.
    graph: how far it can be captured; `never` where nothing was declared.
    graph_declared: False where `graph` was not declared.
    compile: whether torch.compile traces it.
    replaces: the provider that it stands in for.
    engine: the class that an engine constructs for a provider that is declared only.
    slow: what is slow about it and when; a plan that chooses it by itself warns.
    disabled: why it may not be chosen.
    aliases: old names, each still accepted with a warning.
    companions: the provider another regime takes when this one was named for the whole op and lacks that regime.
    source: the file and row that declares it.
    description: a line for the catalogue.
    emulated_pages: it takes any page size through per-token tables.
    unconfirmed: the columns of its row that nobody confirmed.
    cases: what `confbag verify` runs it on instead of the op's cases.
    """

    op: str
    provider: str
    target: Target
    variant: str | None = None
    priority: int = 0
    requires: Requires = ANYWHERE
    regimes: tuple[str, ...] = ()
    most: int | None = None
    determinism: Mapping[str | None, str] = field(default_factory=dict)
    graph: str = NEVER
    graph_declared: bool = True
    compile: bool = False
    replaces: str | None = None
    engine: str | None = None
    slow: str | None = None
    disabled: str | None = None
    aliases: tuple[str, ...] = ()
    companions: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    description: str = ""
    emulated_pages: bool = False
    unconfirmed: tuple[str, ...] = ()
    cases: str | None = None

    @property
    def name(self) -> str:
        """`provider`, or `provider (variant)`."""
        return f"{self.provider} ({self.variant})" if self.variant else self.provider

    @property
    def place(self) -> str:
        """Where it was written: its file and number, or its op and name."""
        return self.source or f"{self.op}, {self.name}"

    @property
    def declared_only(self) -> bool:
        """Whether the plan may name it but bind leaves it to the engine."""
        return self.target is None

    @once
    def allowed(self) -> dict[str, tuple[str, tuple[Any, ...]]]:
        """Facts that it needs whatever else holds -> `in` or `not`, and the values."""
        found: dict[str, tuple[str, tuple[Any, ...]]] = {}
        for need in self.requires.needs:
            if not need.when:
                kind = "not" if isinstance(need.test, Mapping) else "in"
                found.update({fact: (kind, values) for fact, values in need.condition.values_named()})
        if self.requires.device:
            found["platform.device"] = ("in", self.requires.device)
        if self.requires.arch:
            found["platform.arch"] = ("in", self.requires.arch)
        return found

    @property
    def target_name(self) -> str | None:
        """The target as `module:callable`."""
        if self.target is None or isinstance(self.target, str):
            return self.target
        return f"{self.target.__module__}:{self.target.__qualname__}"

    def determinism_in(self, regime: str | None) -> str:
        """The level declared for a regime; of all regimes together the weakest."""
        if regime is None and None not in self.determinism:
            return min(self.determinism.values(), key=DETERMINISM.index, default=NONE)
        return self.determinism.get(regime, NONE)
