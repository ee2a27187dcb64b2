"""What `confbag verify` runs: every implementation that this machine can run, against which reference, on what inputs.

Pure. What a configuration asks of a kernel (a dtype, a page size) does not count here: each input brings its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from confbag.backends.decide.check import reasons
from confbag.backends.decide.facts import gather
from confbag.backends.decide.plan import Plan
from confbag.backends.decide.question import Question, Situation
from confbag.backends.declare.derived import DERIVED
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.words.rejection import Rejection

AGREES, DISAGREES, FAILED, NOT_RUN = "agrees", "disagrees", "failed", "not run"


@dataclass(frozen=True)
class Task:
    """One implementation and what is to be done with it.

    reference: what it is compared with, itself where it is one; None where it is not run, and then `rejection`, or else
    `reason`, says why. bound: the slots that the plan binds it to.
    """

    implementation: Implementation
    bound: tuple[str, ...]
    reference: Implementation | None = None
    cases: str | None = None
    rejection: Rejection | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    status: `agrees`, `disagrees`, `failed` (a signature, a library, an exception) or `not run`. cases: the inputs that
    were run. said: the first difference, the fault, or why it was not run. schemas: native op -> whether its schema was
    verified, of those that were looked at. notes: what bind would warn of.
    """

    task: Task
    status: str
    cases: int = 0
    said: str | None = None
    schemas: tuple[tuple[str, bool], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Count:
    """How many outcomes there are of each status, and of native schemas."""

    agree: int
    disagree: int
    failed: int
    not_run: int
    verified: int
    unverified: int
    not_looked_at: int

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Count:
        """Of every outcome of one run."""
        every = list(outcomes)
        schemas = [verified for outcome in every for _, verified in outcome.schemas]
        required = sum(len(outcome.task.implementation.requires.native_ops) for outcome in every)

        def having(status: str) -> int:
            return sum(outcome.status == status for outcome in every)

        return cls(
            agree=having(AGREES),
            disagree=having(DISAGREES),
            failed=having(FAILED),
            not_run=having(NOT_RUN),
            verified=sum(schemas),
            unverified=len(schemas) - sum(schemas),
            not_looked_at=required - len(schemas),
        )

    @property
    def run(self) -> int:
        """How many implementations were run, or tried to be."""
        return self.agree + self.disagree + self.failed


def tasks(plan: Plan, ops: Iterable[str] = ()) -> list[Task]:
    """Every implementation of these ops (none: of all), in the registry's order, whether or not the plan uses it."""
    facts = gather(plan.asked, plan.platform, plan.registry.named, plan.registry.components())
    situation = Situation(plan.asked, plan.platform, plan.registry, facts)
    wanted = set(ops) or set(plan.registry.ops)
    return [
        _task(plan, op, row, situation)
        for op in plan.registry.ops.values()
        if op.name in wanted
        for row in plan.registry.rows(op.name)
    ]


def _task(plan: Plan, op: Op, row: Implementation, situation: Situation) -> Task:
    bound = tuple(each.slot for each in plan.bindings if any(member.implementation is row for member in each.members))
    if row.declared_only:
        return Task(row, bound, reason=f"declared only: {row.engine} constructs its own class")
    rejection = _unable(op, row, situation)
    if rejection is not None:
        return Task(row, bound, rejection=rejection)
    cases = row.cases or op.cases
    if cases is None:
        return Task(row, bound, reason=f"{op.name} ships no cases to run it on")
    for provider in op.references:
        for reference in plan.registry.providers(op.name).get(provider, ()):
            if reference.declared_only or not _of_one_kind(row, reference):
                continue
            if _unable(op, reference, situation) is None:
                return Task(row, bound, reference, cases)
    return Task(row, bound, reason=f"no reference of {op.name} can run here ({' or '.join(op.references)})")


def _unable(op: Op, row: Implementation, situation: Situation) -> Rejection | None:
    """The first reason of this machine against an implementation; None when it can run here."""
    regime = op.regime(row.regimes[0]) if row.regimes and op.measure is None else None
    facts = {**dict.fromkeys(op.site_facts), **situation.facts, op.kind_of_regime: regime and regime.name}
    question = Question(op, regime, replace(situation, facts=facts))
    return next((each for each in reasons(row, question) if _of_the_machine(each, situation)), None)


def _of_the_machine(rejection: Rejection, situation: Situation) -> bool:
    return rejection.field not in DERIVED and rejection.field not in situation.bag.values()


def _of_one_kind(row: Implementation, reference: Implementation) -> bool:
    """Whether some kind of model takes both: an op may have one reference for each kind."""
    anything = ("not", ())
    (how, some), (other_how, others) = (each.allowed.get("model.kind", anything) for each in (row, reference))
    if how == other_how == "in":
        return bool(set(some) & set(others))
    return True
