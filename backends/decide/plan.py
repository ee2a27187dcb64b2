"""The plan: which implementation runs each op for one bag on one platform, and why each other one does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confbag.backends.decide.deciders import Decider
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import PHASES, Slot
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.place import parts
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.errors import PlanError
from confbag.words.once import once
from confbag.words.provenance import Filled
from confbag.words.suggest import nearest
from confbag.words.text import listed

if TYPE_CHECKING:
    from confbag.backends.bind.bound import Ops
    from confbag.backends.compare.diff import Diff
    from confbag.backends.compare.lock import Lock

NOT_COVERED = (
    "collectives (NCCL, RCCL, HCCL), beyond the environment above",
    "kernels that Inductor generates under torch.compile",
    "aten ops and libraries that a model calls by itself",
)


@dataclass(frozen=True, eq=False)
class Member:
    """One implementation that a binding runs.

    most: so much of the op's measure at most; None is without bound.
    decider: what decided.
    why: the end of a sentence for people.
    assumed: the facts that nobody measured and that the choice rests on.
    """

    implementation: Implementation
    most: int | None
    decider: Decider
    why: str
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Binding:
    """What was decided for one slot: an op, one regime of it, and those of its sites that were decided alike.

    op: its name.
    regime: which; None where the op has none.
    used: whether the plan needs it.
    skipped_because: why it does not.
    members: what runs, a chain in the order of their bounds where the op has a measure, else one; none where the op is
        not used or nothing can run.
    decider: what decided where nothing can run.
    why: the end of a sentence for people, there.
    sites: the names of the sites, where the op declares them and they are known.
    site: how the slot spells them; None where they are all of the op's.
    """

    op: str
    regime: str | None
    used: bool
    members: tuple[Member, ...] = ()
    decider: Decider | None = None
    why: str | None = None
    sites: tuple[str, ...] | None = None
    site: str | None = None
    skipped_because: str | None = None
    _explain: Callable[[], tuple[Rejection, ...]] = field(default=tuple, repr=False)

    @property
    def slot(self) -> str:
        """`op`, or `op@regime`; with `/sites` where other sites were decided otherwise. A pin may be written so."""
        return str(Slot(self.op, self.regime, self.site))

    @property
    def phase(self) -> str | None:
        """The regime, where it is a phase."""
        return self.regime if self.regime in PHASES else None

    @property
    def implementation(self) -> Implementation | None:
        """What runs; of a chain its first member. None where nothing does."""
        return self.members[0].implementation if self.members else None

    @property
    def provider(self) -> str | None:
        """Whose it is; of a chain its first member's."""
        return None if self.implementation is None else self.implementation.provider

    @property
    def variant(self) -> str | None:
        """The variant of what runs; of a chain its first member's."""
        return None if self.implementation is None else self.implementation.variant

    @property
    def target(self) -> str | None:
        """`module:callable` of what runs; None for a provider that is declared only."""
        return None if self.implementation is None else self.implementation.target_name

    @property
    def rule(self) -> str | None:
        """What decided: `setting`, `pin`, `prefer`, `priority`, `fallback` or a rule's name."""
        decider = self.members[0].decider if self.members else self.decider
        return None if decider is None else decider.name

    @property
    def assumed(self) -> tuple[str, ...]:
        """The facts that nobody measured and that what runs rests on."""
        return tuple(dict.fromkeys(fact for member in self.members for fact in member.assumed))

    @once
    def rejected(self) -> tuple[Rejection, ...]:
        """Every reason against every other provider, first codes first; worked out when it is first read."""
        return self._explain()

    def first_rejections(self) -> tuple[Rejection, ...]:
        """One reason a provider."""
        seen: dict[str | None, Rejection] = {}
        for rejection in self.rejected:
            seen.setdefault(rejection.provider, rejection)
        return tuple(seen.values())


@dataclass(frozen=True, eq=False)
class Plan:
    """Immutable. `faults` says what keeps it from being satisfied; with faults it has no resolved bag and is not bound.

    asked: the bag that was planned for.
    platform: the machine that it was planned for.
    registry: what there was to choose from.
    bindings: what was decided, a slot each.
    faults: what nothing satisfies; empty when the plan can be bound.
    resolved: the bag with every `auto` filled; None with faults.
    environment: variables that bind sets.
    warnings: sentences, none of which stops anything.
    notes: what to know: what a lower layer asked for and gave way, graph levels that a capture makes do with.
    filled: what rules made of settings.
    not_arranged: what a deterministic plan needs of operations that no op covers, each with its reason.
    not_covered: what a plan says nothing about.

    `print(plan)` is its table.
    """

    asked: Bag
    platform: Platform
    registry: Registry
    bindings: tuple[Binding, ...]
    faults: tuple[Rejection, ...]
    environment: Mapping[str, str]
    warnings: tuple[str, ...]
    resolved: Bag | None
    filled: Mapping[str, Filled]
    notes: tuple[str, ...] = ()
    not_arranged: tuple[tuple[str, str], ...] = ()
    not_covered: tuple[str, ...] = NOT_COVERED
    _judge: Callable[[], Mapping[str, Mapping[str, tuple[Rejection, ...]]]] = field(default=dict, repr=False)

    @property
    def bag(self) -> Bag:
        """The bag with every `auto` replaced. Raises PlanError when the plan has faults."""
        self.raise_for_faults()
        assert self.resolved is not None
        return self.resolved

    def raise_for_faults(self) -> None:
        """Raise PlanError with every fault; nothing when there is none."""
        if self.faults:
            lines = [f"{fault.slot or 'plan'}: {fault.provider or 'the plan'}: {fault}" for fault in self.faults]
            raise PlanError("nothing satisfies this plan:\n" + "\n".join(lines), self.faults)

    def __getitem__(self, slot: str | tuple[str | int | None, ...]) -> Binding:
        """The binding of `op` or `op@regime`, and of a site of it after a slash; or of an op, a site and a regime, as
        bound ops take them. KeyError names the nearest; an op with regimes needs its regime, and one whose sites differ
        a site."""
        op, where, regime = parts(slot, "plan")
        text = str(Slot(op, regime, where))
        place, _, site = text.partition("/")
        for binding in self.bindings:
            held = site and binding.sites is not None and site in binding.sites
            if binding.slot == text or (held and binding.slot.partition("/")[0] == place):
                return binding
        slots = [binding.slot for binding in self.bindings]
        alike = [one for one in slots if op in (one.partition("@")[0], one.partition("/")[0])]
        hint = f"write {' or '.join(alike)}" if alike else f"did you mean {nearest(text, slots) or listed(slots)}?"
        raise KeyError(f"the plan has no {text!r}; {hint}")

    @property
    def members(self) -> tuple[Member, ...]:
        """Every implementation that runs, in the plan's order."""
        return tuple(member for binding in self.bindings for member in binding.members)

    @once
    def choices(self) -> Mapping[str, Mapping[str, tuple[Rejection, ...]]]:
        """Of each setting that names something by a word every value, with what speaks against it on this platform;
        worked out when it is first read."""
        return self._judge()

    @property
    def assumed(self) -> tuple[str, ...]:
        """The facts that the chosen implementations rest on and nobody measured."""
        return tuple(dict.fromkeys(fact for binding in self.bindings for fact in binding.assumed))

    def fingerprint(self) -> str | None:
        """SHA-256 over what was decided: resolved settings, implementations, environment. None when there are faults.

        The same in every process and for every order of registration; facts of the machine count only through what they
        decided.
        """
        if self.faults or self.resolved is None:
            return None
        decided = {
            "bag": self.resolved.fingerprint(),
            "bindings": [
                [binding.op, binding.regime, [_decided(member) for member in binding.members]]
                + ([] if binding.site is None else [list(binding.sites or ())])
                for binding in sorted(self.bindings, key=lambda binding: binding.slot)
                if binding.members
            ],
            "environment": dict(self.environment),
        }
        return hashlib.sha256(json.dumps(decided, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    # What a user calls on a plan: each is one line, and the function behind it stands in its own room.

    def to_dict(self, all: bool = False) -> dict[str, Any]:
        """The plan as plan.schema.json says; all: every reason against a provider instead of the first."""
        from confbag.backends.render.json import plan_dict

        return plan_dict(self, all=all)

    def diff(self, other: Plan | Lock) -> Diff:
        """What this plan (a) and another one, or a lock (b), decide differently, and why."""
        from confbag.backends.compare.diff import diff

        return diff(self, other)

    def bind(self, ops: Sequence[str] | None = None, set_environment: bool = True) -> Ops:
        """Load libraries, verify schemas and signatures, and return an object whose attributes are the implementations.

        ops: only these (`op` or `op@regime`). set_environment: put `environment` into os.environ. Raises PlanError when
        the plan has faults, BindError with every fault of this machine at once, DeclaredOnlyError for a provider that
        its engine constructs.
        """
        from confbag.backends.bind.bind import bind

        return bind(self, ops=ops, set_environment=set_environment)

    def __str__(self) -> str:
        from confbag.backends.render.table import render

        return render(self).rstrip("\n")

    def _repr_html_(self) -> str:
        from confbag.backends.render.html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        state = f"{len(self.faults)} faults" if self.faults else (self.fingerprint() or "")[:12]
        return f"<Plan {self.platform.name}: {len(self.bindings)} bindings, {state}>"


def _decided(member: Member) -> list[Any]:
    row = member.implementation
    schemas = [native.schema for native in row.requires.native_ops]
    return [row.provider, row.variant, row.target_name, schemas, *([] if member.most is None else [member.most])]
