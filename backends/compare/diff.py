"""What two plans, two locks or one of each decide differently, and why; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from confbag.backends.compare.lock import Lock
from confbag.backends.compare.reasons import deciding, failing
from confbag.backends.compare.sides import Decided, Fact, Side, Valued, side
from confbag.backends.decide.plan import Plan
from confbag.backends.declare.slots import Slot, expanded, spelled
from confbag.backends.words.rejection import Rejection
from confbag.schema.config import Config
from confbag.sources.keys import same

T = TypeVar("T")

DECISIVE = ("platform.device", "platform.arch", "platform.features")
"""What a lock says of its platform. Versions and counts differ between machines that decide the same."""


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One thing that the sides say differently; None where a side does not have it."""

    name: str
    a: T | None
    b: T | None


@dataclass(frozen=True, slots=True)
class BindingChange:
    """A slot that is decided differently.

    against_a: in b, the reason against what a runs; against_b: in a, the reason against what b runs. None where the
    same provider runs, or where only a lock speaks. because: what the decision rests on and differs: settings, facts of
    the platform and decisions for other ops, by name.
    """

    slot: str
    a: Decided
    b: Decided
    against_a: Rejection | None = None
    against_b: Rejection | None = None
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingChange(Change[Valued]):
    """A setting whose value differs, or who decided it."""

    @property
    def asked(self) -> bool:
        """Whether somebody asked for it on either side; else rules filled it on both."""
        return not all(valued is None or valued.rule is not None for valued in (self.a, self.b))


@dataclass(frozen=True, eq=False)
class Diff:
    """What a and b decide differently. Immutable.

    bindings: slots. settings: those asked for first, then those that rules filled. environment, libraries:
    what bind sets and loads. platform: facts of the machines. assumed: for ops that are decided alike, the facts that
    only one side assumes.
    """

    a: Side
    b: Side
    bindings: tuple[BindingChange, ...]
    settings: tuple[SettingChange, ...]
    environment: tuple[Change[str], ...]
    libraries: tuple[Change[tuple[str, ...]], ...]
    platform: tuple[Change[Fact], ...]
    assumed: tuple[Change[tuple[str, ...]], ...]

    @property
    def same(self) -> bool:
        """Whether everything is decided alike, for the same kind of machine. Versions, counts and what nobody measured
        count only through what they decided."""
        decisive = [change for change in self.platform if change.name in DECISIVE]
        changes = (*self.bindings, *self.settings, *self.environment, *self.libraries, *decisive)
        return (
            self.a.schema == self.b.schema
            and not changes
            and set(map(str, self.a.faults)) == set(map(str, self.b.faults))
        )

    def to_dict(self) -> dict[str, Any]:
        """The diff as plain data."""
        from confbag.backends.render.diff_json import diff_dict

        return diff_dict(self)

    def __repr__(self) -> str:
        counts = f"{len(self.bindings)} bindings, {len(self.settings)} settings"
        return f"<Diff {self.a.name} | {self.b.name}: {'the same' if self.same else counts}>"


def diff(a: Plan | Lock, b: Plan | Lock, schema: type[Config] = Config) -> Diff:
    """Compare two plans, two locks, or one of each; plans with faults too. schema: of two locks, which leave out what
    is at its default."""
    one, other = side(a, b, schema), side(b, a, schema)
    settings = _settings(one, other)
    platform = _platform(one, other)
    slots = _slots(one, other)
    differing = [slot for slot in slots if one.at(slot).outcome != other.at(slot).outcome]
    causes = {*differing, *_causes(settings, one, other), *(change.name for change in platform)}
    return Diff(
        a=one,
        b=other,
        bindings=tuple(_binding(slot, one, other, causes - {slot}, settings) for slot in differing),
        settings=tuple(sorted(settings, key=lambda change: not change.asked)),
        environment=_changes(one.environment, other.environment),
        libraries=_changes(one.libraries, other.libraries),
        platform=platform,
        assumed=tuple(
            _assumed(slot, one, other) for slot in slots if slot not in differing and _unlike(slot, one, other)
        ),
    )


def _slots(a: Side, b: Side) -> tuple[str, ...]:
    """Every slot of both, in the order of a plan where there is one; ranges and sites where a side divides them."""
    first, second = (b, a) if a.plan is None else (a, b)
    every = [Slot.parse(text) for text in dict.fromkeys((*first.decided, *second.decided))]
    found: dict[str, None] = {}
    for slot in every:
        if any(_within(other, slot) for other in every):
            continue
        if slot.site is None:
            found[str(slot)] = None
            continue
        # The sides may divide sites differently: those that each decided alike are one part of the diff.
        alike: dict[tuple[Decided, Decided], list[str]] = {}
        beside = [other.site for other in every if other.site and (other.op, other.regime) == (slot.op, slot.regime)]
        for site in dict.fromkeys(name for pattern in beside for name in expanded(pattern)):
            one = str(slot._replace(site=site))
            alike.setdefault((a.at(one), b.at(one)), []).append(site)
        found.update(dict.fromkeys(str(slot._replace(site=spelled(sites))) for sites in alike.values()))
    return tuple(found)


def _within(finer: Slot, slot: Slot) -> bool:
    """Whether a slot is a true part of another: one of its ranges, or some of its sites."""
    same = finer.op == slot.op and slot.regime in (None, finer.regime) and slot.site in (None, finer.site)
    return same and finer != slot


def _causes(settings: tuple[SettingChange, ...], a: Side, b: Side) -> Iterator[str]:
    """The settings that can have decided an op. One that the choice itself filled with the provider's name cannot."""
    plans = [side.plan for side in (a, b) if side.plan is not None]
    names = {
        key for plan in plans for op in plan.registry.ops.values() for keys in op.settings.values() for key in keys
    }
    for change in settings:
        differs = change.a is None or change.b is None or not same(change.a.value, change.b.value)
        if change.asked or (differs and change.name not in names):
            yield change.name


def _binding(slot: str, a: Side, b: Side, causes: set[str], settings: tuple[SettingChange, ...]) -> BindingChange:
    runs = a.at(slot), b.at(slot)
    registry = next((side.plan.registry for side in (a, b) if side.plan is not None), None)
    if registry is None:  # two locks: what their rules read is not known
        because = {change.name for change in settings if change.asked} | (causes & set(DECISIVE))
    else:
        because = causes & {fact for side in (a, b) for fact in deciding(side, slot, registry)}
    against_a, against_b = _against(b, slot, runs[0]), _against(a, slot, runs[1])
    because |= causes & {name for no in (against_a, against_b) if no is not None for name in failing(no)}
    order = dict.fromkeys((*DECISIVE, *(change.name for change in settings if change.asked), *sorted(causes)))
    return BindingChange(slot, *runs, against_a, against_b, tuple(name for name in order if name in because))


def _against(side: Side, slot: str, runs: Decided) -> Rejection | None:
    """On a side, the first reason against what only the other runs."""
    binding = side.binding(slot)
    if binding is None or not binding.used:
        return None
    only = [provider for provider in runs.providers if provider not in side.at(slot).providers]
    return next((no for no in binding.first_rejections() if no.provider in only), None)


def _settings(a: Side, b: Side) -> tuple[SettingChange, ...]:
    found = []
    for key in dict.fromkeys((*a.settings, *b.settings)):
        one, other = a.settings.get(key), b.settings.get(key)
        if one is None or other is None:
            if not (a.faults or b.faults):  # with faults, what is missing is only undecided
                found.append(SettingChange(key, one, other))
        elif one.rule != other.rule or not same(one.value, other.value):
            found.append(SettingChange(key, one, other))
    return tuple(found)


def _platform(a: Side, b: Side) -> tuple[Change[Fact], ...]:
    names = dict.fromkeys((*a.facts, *b.facts))
    if a.plan is None or b.plan is None:
        names = dict.fromkeys(DECISIVE)
    pairs = [Change(name, a.facts.get(name), b.facts.get(name)) for name in names]
    return tuple(pair for pair in pairs if not same(_value(pair.a), _value(pair.b)))


def _value(fact: Fact | None) -> Any:
    return None if fact is None else fact.value


def _changes(a: Mapping[str, T], b: Mapping[str, T]) -> tuple[Change[T], ...]:
    return tuple(Change(name, a.get(name), b.get(name)) for name in sorted({*a, *b}) if a.get(name) != b.get(name))


def _unlike(slot: str, a: Side, b: Side) -> bool:
    return a.at(slot).assumed != b.at(slot).assumed


def _assumed(slot: str, a: Side, b: Side) -> Change[tuple[str, ...]]:
    one, other = a.at(slot).assumed, b.at(slot).assumed
    only = [tuple(sorted(here - there)) for here, there in ((one, other), (other, one))]
    return Change(slot, only[0] or None, only[1] or None)
