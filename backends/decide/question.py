"""What is to be decided: a slot of an op, for one bag on one platform, with every fact and decision so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import Regime, Sites, Slot
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.words.provenance import Filled


@dataclass(frozen=True)
class Situation:
    """What every choice of a plan is made in.

    bag, platform, registry: what is planned, for which machine, from what.
    facts: every fact and decision so far.
    filled: the settings that rules have filled so far.
    """

    bag: Bag
    platform: Platform
    registry: Registry
    facts: Mapping[str, Any]
    filled: Mapping[str, Filled] = field(default_factory=dict)

    def origin(self, field: str) -> str | None:
        """Who set the value that a fact rests on: a source or a rule; None for the platform's facts and defaults."""
        key = self.registry.blamed(field)
        if key in self.filled:
            return f"rule {self.filled[key].rule}"
        if key not in self.bag.values():
            return None
        origin = self.bag.origin(key)
        return None if origin == "default" else origin


@dataclass(frozen=True)
class Question:
    """One slot that a provider is wanted for.

    op, regime: which; regime None is the op without regimes, or a measured op as a whole.
    situation: what it is asked in, the facts of the site among its facts.
    sites, site: the op's sites where they are known, and which of them it is.
    beyond: of a measured op, so much is taken care of already, and something larger is wanted.
    whole: of a measured op, one implementation must take everything, for two would not be batch invariant.
    captured: nothing less than a full capture will do.
    """

    op: Op
    regime: Regime | None
    situation: Situation
    sites: Sites | None = None
    site: str | None = None
    beyond: int = 0
    whole: bool = False
    captured: bool = False

    @property
    def facts(self) -> Mapping[str, Any]:
        """Every fact, the regime and the site's own among them."""
        return self.situation.facts

    @property
    def regime_name(self) -> str | None:
        """The regime's name."""
        return None if self.regime is None else self.regime.name

    @property
    def slot(self) -> str:
        """`op`, or `op@regime`."""
        return str(Slot(self.op.name, self.regime_name))

    @property
    def providers(self) -> Mapping[str, Sequence[Implementation]]:
        """Provider -> its variants."""
        return self.situation.registry.providers(self.op.name)

    def covered_by(self, slot: Slot) -> bool:
        """Whether a place that somebody named is this one."""
        counted = self.sites is None or self.sites.counted
        return slot.covers(self.op.name, self.regime_name, self.site, counted=counted)

    def named(self, provider: str) -> str:
        """A provider by the name that it has now."""
        return self.situation.registry.aliases(self.op.name).get(provider, provider)

    def at(self, site: str, facts: Mapping[str, Any]) -> Question:
        """The same question of one site, with what it says of itself."""
        return replace(self, site=site, situation=replace(self.situation, facts={**self.facts, **facts}))

    def fault(self, rejection: Rejection, namer: str | None = None) -> Rejection:
        """A rejection as a fault of this slot, by who set what failed and, beside it, who named the provider."""
        who = [] if namer is None or namer == rejection.origin else [f"named by {namer}"]
        origin = "; ".join(([rejection.origin] if rejection.origin else []) + who) or None
        return replace(rejection, origin=origin, op=self.op.name, regime=self.regime_name)
