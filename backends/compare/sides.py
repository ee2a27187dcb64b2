"""One side of a diff: what a plan or a lock says of ops, settings, environment, libraries and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from confbag.backends.compare.lock import Lock, covers, locked_value, schemas
from confbag.backends.decide.plan import Binding, Plan
from confbag.backends.words.rejection import Rejection
from confbag.schema.config import Config
from confbag.schema.leaves import Leaf, leaves
from confbag.words.provenance import AUTO, Layer
from confbag.words.text import printable, printable_data


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided for an op or a phase. provider: None where nothing can run or the op is not used."""

    used: bool
    provider: str | None = None
    variant: str | None = None
    target: str | None = None
    engine: str | None = None
    rule: str | None = None
    why: str | None = None
    skipped_because: str | None = None
    assumed: tuple[str, ...] = ()

    @property
    def outcome(self) -> tuple[Any, ...]:
        """What makes two of them the same; sentences and what nobody measured do not."""
        if not self.used:
            return (False,)
        return True, self.provider, self.variant, self.target, self.engine, self.rule


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
        """What was decided for a slot: of some layers, what was decided for all where they are not divided."""
        place, _, layers = slot.partition("/")
        found = self.decided.get(slot) or self.decided.get(place)
        if found is None and layers and any(other.startswith(f"{place}/") for other in self.decided):
            return Decided(used=False, skipped_because="these layers are no part of their own")
        return found or Decided(used=False)

    def binding(self, slot: str) -> Binding | None:
        """The plan's own binding of a slot, which knows every rejection; None where there is none."""
        bindings = self.source.bindings if isinstance(self.source, Plan) else ()
        slots = {printable_data(binding.slot): binding for binding in bindings}
        return slots.get(slot) or slots.get(slot.partition("/")[0])


def side(source: Plan | Lock, beside: Plan | Lock) -> Side:
    """The side that a plan or a lock is, to be compared with what is beside it: a lock leaves settings out, and those
    are not compared."""
    return _of_lock(source, beside) if isinstance(source, Lock) else _of_plan(source, beside)


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
        faults=plan.faults,
    )


def _decided(binding: Binding) -> Decided:
    row = binding.implementation
    return Decided(
        used=binding.used,
        provider=printable_data(binding.provider),
        variant=printable_data(binding.variant),
        target=printable_data(binding.target),
        engine=printable_data(row.engine) if row is not None and row.target is None else None,
        rule=printable_data(binding.rule) if binding.provider is not None else None,
        why=printable_data(binding.why),
        skipped_because=printable_data(binding.skipped_because),
        assumed=tuple(printable_data(list(binding.assumed))),
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
            rule = setting.origin.removeprefix("rule ")
        elif plan.resolved is None and key in plan.filled:
            value, rule, _ = plan.filled[key]
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


def _of_lock(lock: Lock, beside: Plan | Lock) -> Side:
    device, _, arch = lock.platform.partition(":")
    schema = beside.asked.schema if isinstance(beside, Plan) else Config
    return Side(
        name=f"{lock.name or 'a lock'} for {lock.platform}",
        source=lock,
        platform=lock.platform,
        fingerprint=None,
        decided=MappingProxyType(
            {
                slot: Decided(True, op.provider, op.variant, op.target, op.engine, op.rule, assumed=op.assumed)
                for slot, op in lock.ops.items()
            }
        ),
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
