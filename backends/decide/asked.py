"""What somebody asked for at one place: a provider by setting or pin, the reference, providers to take first.

Of several that speak of one place the highest layer wins, and within a layer what says more of the place; two of one
layer that say as much and name different providers are a fault, found before anything is planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from confbag.backends.decide.question import Question
from confbag.backends.declare.slots import Slot
from confbag.words.provenance import AUTO, Layer, Setting

PIN = "exec.kernels.pin"
PREFER = "exec.kernels.prefer"
PREFER_ONLY = "exec.kernels.prefer_only"
REFERENCE_ONLY = "exec.kernels.reference_only"

Rank = tuple[Layer, int]
LOWEST: Rank = (Layer.DEFAULT, 0)


@dataclass(frozen=True, slots=True)
class Named:
    """A provider that somebody named.

    provider: by the name that it has now.
    key: the setting that names it; place: the pin's own words, where it is one.
    shared: whether the key names it for every regime.
    origin: who did.
    rank, weight: by which it goes before others.
    """

    provider: str
    key: str
    shared: bool
    place: str | None = field(default=None, compare=False)
    origin: str | None = field(default=None, compare=False)
    rank: Rank = field(default=LOWEST, compare=False)
    weight: tuple[bool, bool] = field(default=(False, False), compare=False)

    def __str__(self) -> str:
        said = f"{self.key}: {self.provider}" if self.place is None else f"the pin {self.place}: {self.provider}"
        return f"{said} ({self.origin})" if self.origin else said


def named(question: Question) -> Named | None:
    """The provider that a setting or a pin names for this slot; None when nobody named one."""
    found = [*_by_setting(question), *_by_pin(question)]
    return max(found, key=lambda one: (one.rank, one.weight, one.key == PIN), default=None)


def passed_over(question: Question, taken: Named) -> list[Named]:
    """What a lower layer named for this slot, and does not run because of what was taken."""
    others = (*_by_setting(question), *_by_pin(question), *_covered(question, taken))
    return [one for one in others if one.provider != taken.provider and one.rank < taken.rank]


def _by_setting(question: Question) -> Iterator[Named]:
    """The setting that names a provider; the exact key before the general ones, which the bag has judged by layer."""
    op, facts = question.op, question.facts
    for place, key in enumerate(op.settings.get(question.regime_name, ())):
        value = facts[key]
        if value not in (AUTO, None):
            setting = question.situation.bag.setting(key)
            shared = place > 0 and len(op.regimes) > 1
            provider = question.named(value)
            yield Named(provider, key, shared, None, _origin(setting), _rank(setting), (False, place == 0))
            return


def _covered(question: Question, taken: Named) -> Iterator[Named]:
    """What a lower layer said by the exact key, where a general one of a higher layer covers it."""
    keys = question.op.settings.get(question.regime_name, ())
    if taken.key in keys[1:]:
        for setting in reversed(question.situation.bag.chain(keys[0])):
            if setting.value not in (AUTO, None):
                name = question.named(setting.value)
                yield Named(name, keys[0], False, None, _origin(setting), setting.rank, (False, True))
                return


def _by_pin(question: Question) -> Iterator[Named]:
    pins = question.facts[PIN]
    who = question.situation.bag.entries(PIN) if pins else {}
    for text, provider in pins:
        slot = Slot.parse(text)
        if question.covered_by(slot):
            setting = who.get(text)
            shared = slot.regime is None and bool(question.op.regimes)
            name = question.named(provider)
            yield Named(name, PIN, shared, text, _origin(setting), _rank(setting), slot.weight)


def _origin(setting: Setting | None) -> str | None:
    return None if setting is None or setting.layer is Layer.DEFAULT else setting.origin


def _rank(setting: Setting | None) -> Rank:
    return LOWEST if setting is None else setting.rank


def reference_asked(question: Question) -> bool:
    """Whether only a reference may run here."""
    asked = question.facts[REFERENCE_ONLY]
    if isinstance(asked, bool):
        return asked
    return any(question.covered_by(Slot.parse(text)) for text in asked)


def preferred(question: Question) -> Iterator[str]:
    """The providers to take first here, best first."""
    for entry in question.facts[PREFER]:
        if isinstance(entry, str):
            yield entry
        elif question.covered_by(Slot.parse(entry[0])):
            yield question.named(entry[1])


def may_run(question: Question, provider: str) -> bool:
    """Whether exec.kernels.prefer_only lets a provider run."""
    return not question.facts[PREFER_ONLY] or provider in preferred(question)


def asked(question: Question) -> tuple[Any, ...]:
    """All that somebody asked for this slot; two sites that are alike and ask alike are decided alike."""
    return named(question), reference_asked(question), tuple(preferred(question))
