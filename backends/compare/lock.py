"""A lock: what a plan decided and what that rests on, without paths, hosts or times, to be kept in version control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confbag.backends.decide.deciders import Decider
from confbag.backends.declare.slots import PHASES
from confbag.schema.identity import OURS, digest_of, name_of
from confbag.schema.leaves import leaves
from confbag.sources.keys import same
from confbag.words.plain import canonical
from confbag.words.provenance import Layer
from confbag.words.text import printable_data

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Member, Plan
    from confbag.schema.leaves import Leaf

VERSION = 2
"""The version of a lock file."""

NOWHERE: Mapping[tuple[str, ...], str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Runs:
    """One implementation that a slot runs.

    decider: what decided.
    target: what bind imports; engine: who constructs it where there is none.
    most: so much of the op's measure at most; None is without bound.
    assumed: the facts that nobody measured and that the choice rests on.
    """

    provider: str
    decider: Decider
    variant: str | None = None
    target: str | None = None
    engine: str | None = None
    most: int | None = None
    assumed: tuple[str, ...] = ()

    @classmethod
    def of(cls, member: Member) -> Runs:
        """What a plan's member says, every text of it printable."""
        row = member.implementation
        return cls(
            provider=printable_data(row.provider),
            decider=member.decider._replace(name=printable_data(member.decider.name)),
            variant=printable_data(row.variant),
            target=printable_data(row.target_name),
            engine=printable_data(row.engine) if row.target is None else None,
            most=member.most,
            assumed=tuple(printable_data(list(member.assumed))),
        )

    @property
    def name(self) -> str:
        """`provider`, or `provider (variant)`."""
        return f"{self.provider} ({self.variant})" if self.variant else self.provider


@dataclass(frozen=True, slots=True)
class LockedSetting:
    """A setting's value as plain data, and the rule that filled it; None where somebody asked for the value."""

    value: Any
    rule: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LockedSetting):
            return NotImplemented
        return self.rule == other.rule and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash((canonical(self.value), self.rule))


@dataclass(frozen=True, slots=True)
class Lock:
    """What one plan decided, immutable; two are equal when they say the same, whatever their files are called.

    platform: `device:arch`; features: of the machine; assumed: what of the platform nobody measured.
    ops: slot -> what runs, a chain in the order of its bounds.
    settings: every setting that rules filled or that is not its default.
    environment: what bind sets.
    libraries: native library -> the schemas that it must carry.
    schema, digest: whose settings they are, and what of it could be set.
    name: its file's; places: where each part stands in the file.
    """

    platform: str
    ops: Mapping[str, tuple[Runs, ...]]
    settings: Mapping[str, LockedSetting]
    environment: Mapping[str, str]
    libraries: Mapping[str, tuple[str, ...]]
    features: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    schema: str = OURS
    digest: str = field(default="", compare=False)
    name: str = field(default="", compare=False)
    places: Mapping[tuple[str, ...], str] = field(default_factory=lambda: NOWHERE, compare=False, repr=False)

    @classmethod
    def of(cls, plan: Plan) -> Lock:
        """The lock of a plan. Raises PlanError when the plan has faults: there is nothing to hold on to."""
        plan.raise_for_faults()
        platform = plan.platform
        used = sorted((binding for binding in plan.bindings if binding.used), key=_order)
        return cls(
            platform=platform.spec,
            features=tuple(sorted(platform.features)),
            assumed=tuple(sorted({fact for fact in platform.assumed if not fact.startswith("packages.")})),
            ops=MappingProxyType({printable_data(binding.slot): _runs(binding) for binding in used}),
            settings=MappingProxyType(dict(_settings(plan))),
            environment=MappingProxyType(printable_data(dict(sorted(plan.environment.items())))),
            libraries=MappingProxyType(schemas(plan)),
            schema=name_of(plan.asked.schema),
            digest=digest_of(plan.asked.schema),
        )

    def text(self) -> str:
        """The lock as a file: one op a line, one setting a line; `read_lock` gives an equal lock."""
        from confbag.backends.compare.lock_file import write_lock

        return write_lock(self)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return _restore, ({name: dict(part) if isinstance(part, Mapping) else part for name, part in parts.items()},)


def covers(leaf: Leaf) -> bool:
    """Whether a lock holds this key: what the fingerprint counts, places left out (`{"lock": False}`)."""
    return leaf.fingerprint and leaf.lock and not leaf.secret


def locked_value(leaf: Leaf, value: Any) -> Any:
    """A setting's value as a lock holds it: plain data, whose texts can all be printed."""
    return printable_data(leaf.written(value))


def schemas(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Native library -> the schemas that the plan needs of it; `torch.ops.NAMESPACE` where no library is declared."""
    needed: dict[str, set[str]] = {}
    for requires in (member.implementation.requires for member in plan.members):
        for native in requires.native_ops:
            library = requires.library or f"torch.ops.{native.name.partition('::')[0]}"
            needed.setdefault(printable_data(library), set()).add(printable_data(" ".join(native.schema.split())))
    return {library: tuple(sorted(found)) for library, found in sorted(needed.items())}


def _runs(binding: Binding) -> tuple[Runs, ...]:
    return tuple(map(Runs.of, binding.members))


def _settings(plan: Plan) -> Iterator[tuple[str, LockedSetting]]:
    bag = plan.bag
    for key, leaf in leaves(bag.schema).items():
        setting = bag.setting(key)
        value = locked_value(leaf, bag[key])
        by_rule = setting.layer is Layer.RULE
        if covers(leaf) and (by_rule or not same(value, locked_value(leaf, leaf.default))):
            yield key, LockedSetting(value, setting.rule)


def _order(binding: Binding) -> tuple[str, int]:
    """By name, phases in their own order, sites in the plan's: the order of registration never shows."""
    return binding.op, PHASES.index(binding.phase) if binding.phase is not None else -1


def _restore(parts: dict[str, Any]) -> Lock:
    """A lock from its parts: pickle cannot take the read-only views that it holds."""
    views: dict[str, Any] = {
        name: MappingProxyType(part) if isinstance(part, dict) else part for name, part in parts.items()
    }
    return Lock(**views)
