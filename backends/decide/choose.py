"""The choice of one provider for one op and phase, in six steps; pure, and without an effect on what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from confbag.backends.decide.asked import PIN, PREFER, REFERENCE_ONLY, Named, named, preferred, reference_asked
from confbag.backends.decide.check import Situation, best_reasons, runs
from confbag.backends.declare.op import Implementation, Op
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.rules import Rule
from confbag.backends.words.rejection import Rejection

FALLBACK = "exec.kernels.fallback"
FALLEN = "fallback"
"""What decided when only the reference was left."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen (row None: nothing can run), by which step or rule, why, and what stands in the way."""

    row: Implementation | None
    rule: str | None
    why: str
    exclusive: bool = False
    faults: tuple[Rejection, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(op: Op, phase: str | None, situation: Situation, registry: Registry) -> Decision:
    """The six steps: what was named, reference_only, prefer, rules, priority, the reference."""
    name = named(op, phase, situation, registry)
    if name is not None:
        return _by_name(op, phase, situation, registry, name)
    providers = registry.providers(op.name)
    if reference_asked(op, phase, situation):
        return _only(
            op,
            phase,
            situation,
            [row for reference in op.references for row in providers.get(reference, [])],
            op.references[0],
            REFERENCE_ONLY,
            "only references may run",
        )
    for wanted in preferred(op, phase, situation, registry):
        row = _first(op, phase, situation, providers.get(wanted, []))
        if row is not None:
            return Decision(row, "prefer", f"the first of {PREFER} that can run")
    proposed: list[str] = []
    rules = [rule for rule in registry.rules_for(op.name, situation.platform.device) if _speaks(rule, phase, situation)]
    for rule in rules:
        if rule.fallback:
            continue
        provider = proposal(rule, op, situation)
        if provider is None:
            return Decision(None, rule.name, f"{rule.why}, which nothing was found for")
        if rule.only:
            return _only(op, phase, situation, providers.get(provider, []), provider, rule.name, rule.why)
        row = _first(op, phase, situation, providers.get(provider, []))
        if row is not None:
            return Decision(row, rule.name, rule.why, warnings=_slow(row))
        proposed.append(provider)
    for row in registry.by_priority(op.name):
        if runs(op, row, phase, situation):
            return Decision(row, "priority", f"the highest priority ({row.priority}) that can run here")
        proposed.append(row.provider)
    return _fall_back(op, phase, situation, registry, [rule for rule in rules if rule.fallback], proposed)


def proposal(rule: Rule, op: Op, situation: Situation) -> str | None:
    """The provider that a rule proposes: its own, or the one that another phase decided."""
    if rule.same_as is None:
        return rule.propose
    return situation.facts.get(f"{op.name}@{rule.same_as}")


def _speaks(rule: Rule, phase: str | None, situation: Situation) -> bool:
    return (not rule.phases or phase in rule.phases) and rule.when.holds(situation.facts)


def _first(op: Op, phase: str | None, situation: Situation, rows: Sequence[Implementation]) -> Implementation | None:
    return next((row for row in rows if runs(op, row, phase, situation)), None)


def _by_name(op: Op, phase: str | None, situation: Situation, registry: Registry, asked: Named) -> Decision:
    providers = registry.providers(op.name)
    rows = providers.get(asked.provider, [])
    if asked.shared and phase is not None and rows and all(phase not in row.phases for row in rows):
        companion = next((row.companions[phase] for row in rows if phase in row.companions), None)
        if companion is not None:
            why = f"{asked.provider} has no {phase} phase"
            return _only(op, phase, situation, providers[companion], companion, f"companion-of-{asked.provider}", why)
    rule = "pin" if asked.key == PIN else "setting"
    return _only(op, phase, situation, rows, asked.provider, rule, f"{asked.key} names it", asked.key)


def _only(
    op: Op,
    phase: str | None,
    situation: Situation,
    rows: Sequence[Implementation],
    provider: str,
    rule: str,
    why: str,
    key: str | None = None,
) -> Decision:
    """A provider that no other may replace: it runs, or the plan has a fault."""
    row = _first(op, phase, situation, rows)
    if row is not None:
        return Decision(row, rule, why, exclusive=True)
    if not rows:
        fault = Rejection(
            provider, "disabled", "implementation", f"a {provider} of {op.name}", "not there", situation.origin(rule)
        )
    else:
        fault = best_reasons(op, rows, phase, situation)[0]
    who = situation.origin(key) if key is not None else None
    return Decision(None, rule, why, exclusive=True, faults=(_placed(fault, op, phase, who),))


def _fall_back(
    op: Op, phase: str | None, situation: Situation, registry: Registry, rules: Sequence[Rule], proposed: list[str]
) -> Decision:
    providers = registry.providers(op.name)
    policy = situation.facts[FALLBACK]
    for provider, rule, why, first_class in _last_resorts(op, situation, rules):
        row = _first(op, phase, situation, providers.get(provider, []))
        if row is None:
            if provider in providers and rule != FALLEN:
                proposed.append(provider)
            continue
        if first_class:
            return Decision(row, rule, why)
        if policy == "error":
            actual = f"only {provider} can run"
            refusal = Rejection(
                provider, "disabled", FALLBACK, ["allow", "warn"], "error", situation.origin(FALLBACK), actual
            )
            others = [
                fault for fault in _faults(op, phase, situation, registry, proposed) if fault.provider != provider
            ]
            return Decision(None, rule, why, faults=(*others, _placed(refusal, op, phase)))
        slot = op.name if phase is None else f"{op.name}@{phase}"
        tail = f": {row.slow}" if row.slow else ""
        warnings = (f"{slot} falls back to {row.name}: {why}{tail}",) if policy != "allow" else ()
        return Decision(row, rule, why, warnings=warnings)
    faults = _faults(op, phase, situation, registry, proposed or list(providers))
    if faults:
        return Decision(None, None, "nothing that was proposed can run here", faults=faults)
    needed = "a rule, a priority or a reference"
    undecided = Rejection(None, "disabled", "choice", needed, "none", None, _pick(op, providers))
    return Decision(None, None, "nothing decides between the providers", faults=(_placed(undecided, op, phase),))


def _pick(op: Op, providers: Iterable[str]) -> str:
    known = sorted(providers)
    return f"pin one: {PIN}: {{{op.name}: {' or '.join(known)}}}" if known else "no provider is registered"


def _last_resorts(op: Op, situation: Situation, rules: Sequence[Rule]) -> Iterator[tuple[str, str, str, bool]]:
    for rule in rules:
        provider = proposal(rule, op, situation)
        if provider is not None:
            yield provider, rule.name, rule.why, rule.first_class
    first_class = situation.platform.device in op.reference_on
    why = f"first class on {situation.platform.device}" if first_class else "no other implementation can run here"
    for reference in op.references:
        yield reference, "first-class-reference" if first_class else FALLEN, why, first_class


def _faults(
    op: Op, phase: str | None, situation: Situation, registry: Registry, proposed: Sequence[str]
) -> tuple[Rejection, ...]:
    """The first reason against each provider that was wanted, in the order of the codes."""
    providers = registry.providers(op.name)
    found = [best_reasons(op, providers[provider], phase, situation) for provider in dict.fromkeys(proposed)]
    first = sorted((reasons[0] for reasons in found if reasons), key=lambda rejection: rejection.rank)
    return tuple(_placed(rejection, op, phase) for rejection in first)


def _placed(rejection: Rejection, op: Op, phase: str | None, namer: str | None = None) -> Rejection:
    """The rejection as a fault of an op and phase, by who set what failed and, beside it, who named the provider."""
    who = [] if namer is None or namer == rejection.origin else [f"named by {namer}"]
    origin = "; ".join(([rejection.origin] if rejection.origin else []) + who) or None
    return replace(rejection, origin=origin, op=op.name, phase=phase)


def _slow(row: Implementation) -> tuple[str, ...]:
    return (f"{row.op}: {row.name} is slow: {row.slow}",) if row.slow else ()
