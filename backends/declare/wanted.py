"""What of a catalogue is asked for: the rows of an op that can be meant, and the rules that may speak of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.words.conditions import Condition


@dataclass(frozen=True)
class Wanted:
    """Of one op: only what can run on these devices, takes these kinds of model and these regimes, or is one of these
    providers; empty is everything."""

    registry: Registry
    op: str
    devices: Sequence[str] = ()
    kinds: Sequence[str] = ()
    regimes: Sequence[str] = ()
    providers: Sequence[str] = ()

    @property
    def rows(self) -> list[Implementation]:
        """The implementations, in the order of the catalogue."""
        return [row for row in self.registry.rows(self.op) if self._shown(row)]

    @property
    def rules(self) -> list[Rule]:
        """The rules that can speak of what is asked for, in order."""
        providers = self._providers()
        return [
            rule
            for rule in self.registry.rules
            if rule.op == self.op
            and self._can_hold(rule.when)
            and (not self.regimes or not rule.regimes or bool(set(rule.regimes) & set(self.regimes)))
            and (not providers or rule.propose is None or rule.propose in providers)
        ]

    @property
    def fills(self) -> list[Fill]:
        """The rules that fill settings before the op or after it, where what is asked for can be, in order."""
        return [fill for fill in self.registry.fills if fill.after in (None, self.op) and self._can_hold(fill.when)]

    def _providers(self) -> set[str]:
        aliases = self.registry.aliases(self.op)
        return {aliases.get(name, name) for name in self.providers}

    def _shown(self, row: Implementation) -> bool:
        names = self._providers()
        return (
            (not names or row.provider in names)
            and (not self.regimes or bool(set(row.regimes) & set(self.regimes)))
            and (not self.devices or any(_fits(row, "platform.device", device) for device in self.devices))
            and (not self.kinds or any(_fits(row, "model.kind", kind) for kind in self.kinds))
        )

    def _can_hold(self, when: Condition) -> bool:
        for fact, values in (("platform.device", self.devices), ("model.kind", self.kinds)):
            if values and fact in when.data:
                test = Condition({fact: when.data[fact]})
                if not any(test.holds({fact: value}) for value in values):
                    return False
        return True


def _fits(row: Implementation, fact: str, value: str) -> bool:
    """Whether a row can run where a fact has a value: nothing that it needs whatever else holds speaks against it."""
    kind, allowed = row.allowed.get(fact, ("not", ()))
    return (value in allowed) is (kind == "in")
