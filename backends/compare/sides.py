"""One side of a diff: what a plan or a lock says of ops, settings, environment, libraries and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from confbag.backends.compare.lock import Lock, Runs, covers, locked_value, schemas
from confbag.backends.decide.plan import Binding, Plan
from confbag.backends.declare.slots import Slot, expanded
from confbag.backends.words.rejection import Rejection
from confbag.schema.config import Config
from confbag.schema.identity import digest_of, name_of
from confbag.schema.leaves import Leaf, leaves
from confbag.words.given import expect, is_path
from confbag.words.provenance import AUTO, Layer
from confbag.words.text import printable, printable_data


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided for a slot. runs: a chain in the order of its bounds; empty where nothing can run or it is not
    used."""

    used: bool
    runs: tuple[Runs, ...] = ()
    why: str | None = None
    skipped_because: str | None = None

    @property
    def outcome(self) -> tuple[Any, ...]:
        """What makes two of them the same; sentences and what nobody measured do not, nor does where a slot ends."""
        last = len(self.runs) - 1
        return self.used, tuple(
            replace(runs, assumed=(), most=None if place == last else runs.most) for place, runs in enumerate(self.runs)
        )

    @property
    def providers(self) -> tuple[str, ...]:
        """Whose implementations run."""
        return tuple(dict.fromkeys(runs.provider for runs in self.runs))

    @property
    def assumed(self) -> frozenset[str]:
        """The facts that nobody measured and that what runs rests on."""
        return frozenset(fact for runs in self.runs for fact in runs.assumed)


@dataclass(frozen=True, slots=True)
class Valued:
    """A setting's value, where it comes from, and the rule that filled it (None: asked for, or the default)."""

    value: Any
    origin: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a platform, and whether it was assumed and not measured."""

    value: Any
    assumed: bool = False


@dataclass(frozen=True, eq=False)
class Side:
    """A plan or a lock as the diff reads it. name: what a person calls it. source: the plan or the lock itself."""

    name: str
    source: Plan | Lock
    platform: str
    fingerprint: str | None
    decided: Mapping[str, Decided]
    settings: Mapping[str, Valued]
    environment: Mapping[str, str]
    libraries: Mapping[str, tuple[str, ...]]
    facts: Mapping[str, Fact]
    schema: str
    digest: str
    faults: tuple[Rejection, ...] = ()

    @property
    def plan(self) -> Plan | None:
        """The plan behind it; None for a lock."""
        return self.source if isinstance(self.source, Plan) else None

    @property
    def kind(self) -> str:
        """`plan` or `lock`."""
        return "lock" if isinstance(self.source, Lock) else "plan"

    def at(self, slot: str) -> Decided:
        """What was decided for a slot, or for what it is a part of."""
        own = self._covering(slot)
        return self.decided[own] if own is not None else Decided(used=False, skipped_because=self._missing(slot))

    def binding(self, slot: str) -> Binding | None:
        """The plan's own binding of a slot, which knows every rejection; None where there is none."""
        own = self._covering(slot)
        bindings = self.source.bindings if isinstance(self.source, Plan) else ()
        return next((binding for binding in bindings if printable_data(binding.slot) == own), None)

    def _covering(self, slot: str) -> str | None:
        """The slot on this side that a slot is or belongs to: of all sites, of all ranges. Sites that a slot joins are
        decided alike."""
        if slot in self.decided:
            return slot
        wanted = Slot.parse(slot)
        site = expanded(wanted.site)[0] if wanted.site is not None else None
        for text in self.decided:
            own = Slot.parse(text)
            here = own.op == wanted.op and own.regime in (None, wanted.regime)
            if here and (own.site is None or site in expanded(own.site)):
                return text
        return None

    def _missing(self, slot: str) -> str | None:
        op = Slot.parse(slot).op
        divided = any(Slot.parse(own).op == op for own in self.decided)
        return "it is no part of its own" if divided else None


def side(source: Plan | Lock, beside: Plan | Lock, schema: type[Config] = Config) -> Side:
    """The side that a plan or a lock is, to be compared with what is beside it: a lock leaves settings out, and those
    are not compared. schema: whose defaults a lock beside another left out."""
    expect(source, (Plan, Lock), "diff", "plans and locks", _instead(source))
    if isinstance(source, Lock):
        return _of_lock(source, beside.asked.schema if isinstance(beside, Plan) else schema)
    return _of_plan(source, beside)


def _instead(given: object) -> str:
    if is_path(given):
        return "plan.diff(read_lock(PATH)), from confbag.backends.compare.lock_file"
    return "plan.diff(make_plan(bag, 'cuda:sm90')), or diff(a, b) of two plans"


def _of_plan(plan: Plan, beside: Plan | Lock) -> Side:
    asked = printable(", ".join(plan.asked.sources()) or "defaults only")
    where, spec = printable_data(plan.platform.name), plan.platform.spec
    return Side(
        name=f"{asked} on {where if where == spec else f'{where} ({spec})'}",
        source=plan,
        platform=plan.platform.spec,
        fingerprint=plan.fingerprint(),
        decided=MappingProxyType({printable_data(binding.slot): _decided(binding) for binding in plan.bindings}),
        settings=MappingProxyType(dict(_values(plan, isinstance(beside, Lock)))),
        environment=MappingProxyType(printable_data(dict(plan.environment))),
        libraries=MappingProxyType(schemas(plan)),
        facts=MappingProxyType(dict(_facts(plan))),
        schema=name_of(plan.asked.schema),
        digest=digest_of(plan.asked.schema),
        faults=plan.faults,
    )


def _decided(binding: Binding) -> Decided:
    return Decided(
        used=binding.used,
        runs=tuple(map(Runs.of, binding.members)),
        why=printable_data(binding.why),
        skipped_because=printable_data(binding.skipped_because),
    )


def _values(plan: Plan, narrow: bool) -> Iterator[tuple[str, Valued]]:
    """Every setting that is no secret. With faults there is no resolved bag, and an `auto` that no rule reached is left
    out: it is undecided."""
    bag = plan.resolved or plan.asked
    for key, leaf in leaves(bag.schema).items():
        if leaf.secret or (narrow and not covers(leaf)):
            continue
        setting = bag.setting(key)
        value, rule, origin = bag[key], None, setting.origin
        if setting.layer is Layer.RULE:
            rule = setting.rule
        elif plan.resolved is None and key in plan.filled:
            value, rule = plan.filled[key].value, plan.filled[key].rule
            origin = f"rule {rule}"
        elif plan.resolved is None and leaf.auto and value == AUTO:
            continue
        yield key, Valued(locked_value(leaf, value), origin, rule)


def _facts(plan: Plan) -> Iterator[tuple[str, Fact]]:
    platform = plan.platform
    yield "platform.device", Fact(platform.device)
    yield "platform.arch", Fact(platform.arch)
    yield "platform.features", Fact(sorted(platform.features))
    yield "platform.count", Fact(platform.count)
    for tool, version in platform.toolkit.items():
        yield f"platform.toolkit.{tool}", Fact(version, bool({"toolkit", f"toolkit.{tool}"} & platform.assumed))
    if platform.native_ops is not None:
        yield "platform.native_ops", Fact(sorted(platform.native_ops), "native_ops" in platform.assumed)
    if platform.packages is not None:
        for name, version in platform.packages.items():
            assumed = bool({"packages", f"packages.{name}"} & platform.assumed)
            yield f"platform.packages.{name}", Fact(version, assumed)


def _of_lock(lock: Lock, schema: type[Config]) -> Side:
    device, _, arch = lock.platform.partition(":")
    return Side(
        name=f"{lock.name or 'a lock'} for {lock.platform}",
        source=lock,
        platform=lock.platform,
        fingerprint=None,
        decided=MappingProxyType({slot: Decided(True, runs) for slot, runs in lock.ops.items()}),
        settings=MappingProxyType(dict(_locked(lock, leaves(schema)))),
        environment=lock.environment,
        libraries=lock.libraries,
        facts=MappingProxyType(
            {
                "platform.device": Fact(device),
                "platform.arch": Fact(arch or None),
                "platform.features": Fact(list(lock.features)),
            }
        ),
        schema=lock.schema,
        digest=lock.digest,
    )


def _locked(lock: Lock, known: Mapping[str, Leaf]) -> Iterator[tuple[str, Valued]]:
    """What the lock holds, and the default of every key that it could hold and does not."""
    for key in dict.fromkeys((*known, *lock.settings)):
        if key in lock.settings:
            held = lock.settings[key]
            section = "asked" if held.rule is None else "filled"
            origin = lock.places.get((section, key), "lock") if held.rule is None else f"rule {held.rule}"
            yield key, Valued(held.value, origin, held.rule)
        elif covers(known[key]):
            yield key, Valued(locked_value(known[key], known[key].default), "default")
