"""The choice of one provider for one slot, in six steps; pure, and without an effect on what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from confbag.backends.decide.asked import (
    PIN,
    PREFER,
    PREFER_ONLY,
    Named,
    may_run,
    named,
    passed_over,
    preferred,
    reference_asked,
)
from confbag.backends.decide.check import best_reasons, full, runs
from confbag.backends.decide.deciders import (
    FALLBACK,
    FALLEN,
    FIRST_CLASS,
    PINNED,
    PREFERRED,
    PRIORITY,
    REFERENCE,
    SETTING,
    Decider,
    by_rule,
    companion_of,
)
from confbag.backends.decide.question import Question
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.rules import Rule
from confbag.backends.words.levels import ALWAYS
from confbag.backends.words.rejection import Rejection


class Decision(NamedTuple):
    """What was chosen, by what, why, and what stands in the way.

    row: None where nothing can run.
    decider: None where nothing was even proposed.
    most: so much of the op's measure at most was it chosen for; None is without bound.
    exclusive: no other was allowed.
    captured: only what can be captured whole was considered.
    over: the settings of lower layers that gave way.
    faults, warnings, notes: what keeps the plan from being satisfied, what to act upon, what to know.
    """

    row: Implementation | None
    decider: Decider | None
    why: str
    most: int | None = None
    exclusive: bool = False
    captured: bool = False
    over: frozenset[str] = frozenset()
    faults: tuple[Rejection, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Proposal(NamedTuple):
    """A provider that a rule or a step proposes."""

    provider: str
    decider: Decider
    why: str
    most: int | None = None
    only: bool = False


def choose(question: Question) -> Decision:
    """The six steps: what was named, reference_only, prefer, rules, priority, the reference."""
    name = named(question)
    if name is not None:
        return _captured(question, _by_name(question, name))
    if reference_asked(question):
        references = question.op.references
        rows = [row for reference in references for row in question.providers.get(reference, [])]
        return _only(question, rows, references[0], REFERENCE, "only references may run")
    if question.facts["exec.graph"] == "full":
        # What can be captured whole goes first; a reference is no remedy for what cannot.
        whole = _proposed(replace(question, captured=True))
        if whole is not None and whole.row is not None:
            return _instead(question, whole)
    return _captured(question, _proposed(question) or _fall_back(question))


def _proposed(question: Question) -> Decision | None:
    """What prefer, the rules or priority choose; None where nothing that they propose can run."""
    for wanted in preferred(question):
        row = _first(question, question.providers.get(wanted, []))
        if row is not None:
            return Decision(row, PREFERRED, f"the first of {PREFER} that can run", row.most)
    for rule in _rules(question, fallback=False):
        provider = proposal(rule, question)
        decider = by_rule(rule.name)
        if provider is None:
            return Decision(None, decider, f"{rule.why}, which nothing was found for")
        rows = question.providers.get(provider, [])
        if rule.only:
            return _only(question, rows, provider, decider, rule.why)
        row = _first(question, rows)
        if row is not None:
            return Decision(row, decider, rule.why, _smaller(row.most, rule.up_to), warnings=_slow(row))
    for row in question.situation.registry.by_priority(question.op.name):
        if runs(row, question) and may_run(question, row.provider):
            return Decision(row, PRIORITY, f"the highest priority ({row.priority}) that can run here", row.most)
    return None


def proposal(rule: Rule, question: Question) -> str | None:
    """The provider that a rule proposes: its own, or the one that another phase decided."""
    if rule.same_as is None:
        return rule.propose
    decided: str | None = question.facts.get(question.situation.registry.decided(question.op, rule.same_as))
    return decided


def _rules(question: Question, *, fallback: bool) -> Iterator[Rule]:
    """The rules that speak of this slot, those asked last or the others."""
    situation = question.situation
    for rule in situation.registry.rules_for(question.op.name, situation.platform.device):
        here = not rule.regimes or question.regime_name in rule.regimes
        # One that speaks of less than all has no say where one implementation must take everything.
        enough = not question.whole or (rule.up_to is None and not rule.regimes)
        beyond = rule.up_to is None or rule.up_to > question.beyond
        if rule.fallback is fallback and here and enough and beyond and rule.when.holds(question.facts):
            yield rule


def _first(question: Question, rows: Sequence[Implementation]) -> Implementation | None:
    return next((row for row in rows if may_run(question, row.provider) and runs(row, question)), None)


def _smaller(one: int | None, other: int | None) -> int | None:
    return min((bound for bound in (one, other) if bound is not None), default=None)


def _captured(question: Question, decision: Decision) -> Decision:
    """The decision with what its graph level makes of what was asked: a downgrade is named, any other a note."""
    asked, row = question.facts["exec.graph"], decision.row
    if row is None or asked not in (True, "full") or row.graph == ALWAYS:
        return decision
    if asked is True or full(row, question):
        note = f"{question.slot}: a graph captures {row.name} {row.graph} only"
        return decision._replace(notes=(*decision.notes, note))
    said = f"{question.slot}: exec.graph asks for full, and {row.name} is captured {row.graph} only"
    warning = f"{said}; write true, or name one that is captured always"
    return decision._replace(warnings=(*decision.warnings, warning))


def _instead(question: Question, whole: Decision) -> Decision:
    """What is captured whole, with a note of what would have been chosen if less were enough."""
    otherwise = _proposed(question)
    passed = None if otherwise is None else otherwise.row
    if passed is None or passed is whole.row or whole.row is None:
        return whole
    note = f"{question.slot}: {whole.row.name} and not {passed.name}, which a graph captures {passed.graph} only"
    return whole._replace(captured=True, notes=(*whole.notes, f"{note}: exec.graph asks for full"))


def _by_name(question: Question, asked: Named) -> Decision:
    rows, regime = question.providers.get(asked.provider, []), question.regime_name
    passed = passed_over(question, asked)
    notes = tuple(f"{question.slot}: {one} gives way to {asked}" for one in passed)
    over = frozenset(one.key for one in passed)
    if asked.shared and regime is not None and rows and all(regime not in row.regimes for row in rows):
        companion = next((row.companions[regime] for row in rows if regime in row.companions), None)
        if companion is not None:
            why = f"{asked.provider} has no {regime} {question.op.kind_of_regime}"
            decision = _only(question, question.providers[companion], companion, companion_of(asked.provider), why)
            return decision._replace(notes=notes, over=over)
    decider = PINNED if asked.key == PIN else SETTING
    decision = _only(question, rows, asked.provider, decider, f"{asked.key} names it", asked.origin)
    return decision._replace(notes=notes, over=over)


def _only(
    question: Question,
    rows: Sequence[Implementation],
    provider: str,
    decider: Decider,
    why: str,
    namer: str | None = None,
) -> Decision:
    """A provider that no other may replace: it runs, or the plan has a fault."""
    row = _first(question, rows)
    if row is not None:
        return Decision(row, decider, why, row.most, exclusive=True)
    if not rows:
        origin = question.situation.origin(decider.name)
        what = f"a {provider} of {question.op.name}"
        fault = Rejection(provider, "disabled", "implementation", what, "not there", origin)
    elif allowed := [row for row in rows if may_run(question, row.provider)]:
        fault = best_reasons(allowed, question)[0]
    else:
        fault = not_listed(question, provider)
    return Decision(None, decider, why, exclusive=True, faults=(question.fault(fault, namer),))


def not_listed(question: Question, provider: str | None) -> Rejection:
    """What to say of a provider that exec.kernels.prefer_only does not let run; None for all of them."""
    hint = f"add one that can run to {PREFER}, or leave {PREFER_ONLY} out"
    origin = question.situation.origin(PREFER_ONLY)
    listed = list(dict.fromkeys(preferred(question)))
    return Rejection(provider, "disabled", PREFER_ONLY, listed or "a provider in the list", "not in it", origin, hint)


def _fall_back(question: Question) -> Decision:
    policy = question.facts[FALLBACK]
    for provider, decider, why, first_class in _last_resorts(question):
        row = _first(question, question.providers.get(provider, []))
        if row is None:
            continue
        if first_class:
            return Decision(row, decider, why, row.most)
        if policy == "error":
            actual = f"only {provider} can run"
            origin = question.situation.origin(FALLBACK)
            refusal = Rejection(provider, "disabled", FALLBACK, ["allow", "warn"], "error", origin, actual)
            others = [fault for fault in _faults(question, _wanted(question)) if fault.provider != provider]
            return Decision(None, decider, why, faults=(*others, question.fault(refusal)))
        warnings = (_fallen(question, row, why),) if policy != "allow" else ()
        return Decision(row, decider, why, row.most, warnings=warnings)
    return _nothing(question)


def _fallen(question: Question, row: Implementation, why: str) -> str:
    # Of what was wanted, the one that the least keeps away: what an installation could mend comes last in the codes.
    nearest = max(_faults(question, _wanted(question)), key=lambda fault: fault.rank, default=None)
    tail = (f": {row.slow}" if row.slow else "") + (f" (not {nearest.provider} - {nearest})" if nearest else "")
    return f"{question.slot} falls back to {row.name}: {why}{tail}"


def _nothing(question: Question) -> Decision:
    if question.facts[PREFER_ONLY]:
        listed = [provider for provider in dict.fromkeys(preferred(question)) if provider in question.providers]
        against = [*_faults(question, listed)] or [question.fault(not_listed(question, None))]
        return Decision(None, None, "nothing in the list can run here", faults=tuple(against))
    faults = _faults(question, _wanted(question) or list(question.providers))
    if faults:
        return Decision(None, None, "nothing that was proposed can run here", faults=faults)
    needed = "a rule, a priority or a reference"
    undecided = Rejection(None, "disabled", "choice", needed, "none", None, _pick(question))
    return Decision(None, None, "nothing decides between the providers", faults=(question.fault(undecided),))


def _pick(question: Question) -> str:
    known = sorted(question.providers)
    return f"pin one: {PIN}: {{{question.op.name}: {' or '.join(known)}}}" if known else "no provider is registered"


def _last_resorts(question: Question) -> Iterator[tuple[str, Decider, str, bool]]:
    for rule in _rules(question, fallback=True):
        provider = proposal(rule, question)
        if provider is not None:
            yield provider, by_rule(rule.name), rule.why, rule.first_class
    device = question.situation.platform.device
    first_class = device in question.op.reference_on
    why = f"first class on {device}" if first_class else "no other implementation can run here"
    for reference in question.op.references:
        yield reference, FIRST_CLASS if first_class else FALLEN, why, first_class


def _wanted(question: Question) -> list[str]:
    """The providers that something proposed, in order."""
    proposed = [proposal(rule, question) for rule in _rules(question, fallback=False)]
    proposed += [row.provider for row in question.situation.registry.by_priority(question.op.name)]
    proposed += [
        provider
        for rule in _rules(question, fallback=True)
        if (provider := proposal(rule, question)) in question.providers
    ]
    return [provider for provider in dict.fromkeys(proposed) if provider is not None]


def _faults(question: Question, wanted: Iterable[str]) -> tuple[Rejection, ...]:
    """The first reason against each provider that was wanted, in the order of the codes. What no such device can run is
    left out where something else is nearer."""
    found = [best_reasons(question.providers[provider], question) for provider in wanted]
    first = sorted((reasons[0] for reasons in found if reasons), key=lambda rejection: rejection.rank)
    nearer = [rejection for rejection in first if rejection.code != "device"]
    return tuple(question.fault(rejection) for rejection in nearer or first)


def _slow(row: Implementation) -> tuple[str, ...]:
    return (f"{row.op}: {row.name} is slow: {row.slow}",) if row.slow else ()
