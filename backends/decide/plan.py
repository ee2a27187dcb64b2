"""The plan: which implementation runs each op for one bag on one platform, and why each other one does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from confbag.backends.declare.op import Implementation
from confbag.backends.declare.registry import Registry
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.errors import PlanError
from confbag.words.suggest import nearest

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
class Binding:
    """What was decided for one op, for one phase of it, or for those of its layers that were decided alike.

    provider, variant, target, rule: None where the op is not used or nothing can run. rule: `setting`, `pin`, `prefer`,
    `priority`, `fallback` or a rule's name. why: the end of a sentence for people. skipped_because: why the op is not
    used. layers: the names of the layers, where the op declares them and they are known. part: how the slot spells
    them; None where they are all of the op's.
    """

    op: str
    phase: str | None
    used: bool
    provider: str | None = None
    variant: str | None = None
    target: str | None = None
    rule: str | None = None
    why: str | None = None
    layers: tuple[str, ...] | None = None
    part: str | None = None
    implementation: Implementation | None = None
    assumed: tuple[str, ...] = ()
    skipped_because: str | None = None
    _explain: Callable[[], tuple[Rejection, ...]] = field(default=tuple, repr=False)

    @property
    def slot(self) -> str:
        """`op`, or `op@phase`; with `/layers` where other layers were decided otherwise. A pin may be written so."""
        place = self.op if self.phase is None else f"{self.op}@{self.phase}"
        return place if self.part is None else f"{place}/{self.part}"

    @cached_property
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

    asked: the bag that was planned for. environment: variables that bind sets. warnings: sentences, none of which stops
    anything. not_covered: what a plan says nothing about.
    """

    asked: Bag
    platform: Platform
    registry: Registry
    bindings: tuple[Binding, ...]
    faults: tuple[Rejection, ...]
    environment: Mapping[str, str]
    warnings: tuple[str, ...]
    resolved: Bag | None
    filled: Mapping[str, tuple[Any, str, str]]
    not_covered: tuple[str, ...] = NOT_COVERED

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

    def __getitem__(self, slot: str) -> Binding:
        """The binding of `op` or `op@phase`, and of a layer of it after a slash. KeyError names the nearest; an op with
        phases needs its phase, and one whose layers differ a layer."""
        place, _, layer = slot.partition("/")
        for binding in self.bindings:
            held = layer and binding.layers is not None and layer in binding.layers
            if binding.slot == slot or (held and binding.slot.partition("/")[0] == place):
                return binding
        slots = [binding.slot for binding in self.bindings]
        phases = [
            candidate for candidate in slots if slot in (candidate.partition("@")[0], candidate.partition("/")[0])
        ]
        hint = f"write {' or '.join(phases)}" if phases else f"did you mean {nearest(slot, slots) or ', '.join(slots)}?"
        raise KeyError(f"the plan has no {slot!r}; {hint}")

    @cached_property
    def libraries(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The native libraries that bind loads: `(name, native ops needed of it)`."""
        needed: dict[str, list[str]] = {}
        for binding in self.bindings:
            row = binding.implementation
            if row is not None and row.requires.library is not None:
                needed.setdefault(row.requires.library, []).extend(native.name for native in row.requires.native_ops)
        return tuple((name, tuple(dict.fromkeys(ops))) for name, ops in sorted(needed.items()))

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
                [
                    b.op,
                    b.phase,
                    b.provider,
                    b.variant,
                    b.target,
                    [n.schema for n in b.implementation.requires.native_ops],
                    *([] if b.part is None else [list(b.layers or ())]),
                ]
                for b in sorted(self.bindings, key=lambda binding: binding.slot)
                if b.implementation is not None
            ],
            "environment": dict(self.environment),
        }
        return hashlib.sha256(json.dumps(decided, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

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

        ops: only these (`op` or `op@phase`). set_environment: put `environment` into os.environ. Raises PlanError when
        the plan has faults, BindError with every fault of this machine at once, DeclaredOnlyError for a provider that
        its engine constructs.
        """
        from confbag.backends.bind.bind import bind

        return bind(self, ops=ops, set_environment=set_environment)

    def __repr__(self) -> str:
        state = f"{len(self.faults)} faults" if self.faults else (self.fingerprint() or "")[:12]
        return f"<Plan {self.platform.name}: {len(self.bindings)} bindings, {state}>"
