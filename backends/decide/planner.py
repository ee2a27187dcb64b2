"""Makes a plan: for one bag on one platform, which implementation runs each op, and what every `auto` becomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from confbag.backends.decide import defaults, fill, judge, names, places
from confbag.backends.decide.asked import may_run
from confbag.backends.decide.check import assumed, best_reasons
from confbag.backends.decide.choose import Decision, not_listed, proposal
from confbag.backends.decide.facts import gather
from confbag.backends.decide.plan import Binding, Member, Plan
from confbag.backends.decide.question import Question, Situation
from confbag.backends.decide.slots import Part, common, decide, shared
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.declare.registry import PluginFailure, Registry
from confbag.backends.declare.slots import Regime
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.errors import ConfigError
from confbag.schema.identity import name_of
from confbag.words.given import expect, wrong_type


def make_plan(bag: Bag, platform: Platform | str | None = None, *, registry: Registry | None = None) -> Plan:
    """Plan a bag for a platform with a registry.

    bag: what `load` made.
    platform: one, or what --platform takes (a known name such as cuda:sm90, a file, `this`); None is this machine, or
        its CPU where device.kind says cpu.
    registry: None is `Registry.installed(bag.schema)`.

    Pure but for the probe and the scan of entry points behind the two defaults. What cannot be satisfied is in
    `plan.faults`. Raises ConfigError for names that no op or provider answers to, RegistrationError for a registry that
    contradicts itself, PlatformError for a platform that is unknown, TypeError for anything else that is not these.
    """
    expect(bag, Bag, "make_plan", "a Bag", "make_plan(load('serve.yaml'))")
    if registry is not None:
        write = "make_plan(bag, registry=Registry.installed(bag.schema)), or leave it out"
        expect(registry, Registry, "make_plan(registry=...)", "a Registry", write)
    registry = Registry.installed(bag.schema) if registry is None else registry
    if not issubclass(bag.schema, registry.schema):
        ours, theirs = name_of(bag.schema), name_of(registry.schema)
        raise TypeError(
            f"the bag is one of {ours} and the registry is for {theirs}, whose keys it lacks; "
            f"write load(..., schema={registry.schema.__name__}) or Registry({bag.schema.__name__})"
        )
    registry.check()
    bag, failed = defaults.judged(bag, registry)
    wrong = names.check(bag, registry)
    if wrong:
        raise ConfigError(wrong)
    # What rules filled once is filled anew: it is no source, and nothing that somebody asks for gives way to it.
    return _Run(bag.unfilled(), _platform(platform, bag, registry), registry, failed).plan()


def _platform(given: Platform | str | None, bag: Bag, registry: Registry) -> Platform:
    """The platform that was given, in whatever form."""
    if isinstance(given, Platform):
        return given
    if isinstance(given, str):
        return registry.find_platform(given)
    if given is not None:
        raise wrong_type("make_plan", "a Platform or its name", given, "make_plan(bag, 'cuda:sm90')")
    # An accelerator in the machine is no reason against a bag that asks for its CPU.
    return Platform.cpu() if bag["device.kind"] == "cpu" else Platform.this(registry.probes)


@dataclass
class _Run:
    """One planning run: the ledger that grows while ops are decided in their order."""

    bag: Bag
    platform: Platform
    registry: Registry
    failed: tuple[PluginFailure, ...]
    ledger: fill.Ledger = field(init=False)
    bindings: list[Binding] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        facts = gather(self.bag, self.platform, self.registry.named, self.registry.components())
        self.ledger = fill.Ledger(self.bag, facts)

    def plan(self) -> Plan:
        ledger, registry, device = self.ledger, self.registry, self.platform.device
        ledger.warnings += self.platform.notes
        ledger.warnings += map(str, (*registry.failures, *self.failed))
        ledger.warnings += names.old(self.bag.values(), registry)
        ledger.notes += places.unasked(self.bag.values(), registry)
        for key, new in names.renamed(self.bag.values(), registry).items():
            ledger.fill(key, new, names.RENAMED, f"{self.bag[key]} is an old name of it")
            ledger.over.add(key)
        ledger.faults += judge.machine(self.situation())
        fill.by_rules(ledger, registry.fills_after(None, device), None, self._against)
        for op in registry.ops.values():
            self._decide(op)
            fill.by_rules(ledger, registry.fills_after(op.name, device), op.name, self._against)
        ledger.faults += judge.choices(self.situation())
        ledger.faults[:] = judge.together(ledger.faults)
        ledger.warnings += self._untraced()
        return Plan(
            asked=self.bag,
            platform=self.platform,
            registry=registry,
            bindings=tuple(self.bindings),
            faults=tuple(ledger.faults),
            environment=dict(sorted(ledger.environment.items())),
            warnings=tuple(dict.fromkeys((*ledger.warnings, *self._arranged_otherwise()))),
            resolved=None if ledger.faults else self.bag.resolve(ledger.filled, ledger.over),
            filled=dict(ledger.filled),
            notes=tuple(dict.fromkeys(ledger.notes)),
            not_arranged=tuple(self._not_arranged()),
            _judge=partial(judge.judged, self.situation()),
        )

    def situation(self, **facts: Any) -> Situation:
        """What is known now, with a slot's own facts beside it."""
        known = {**self.ledger.facts, **facts}
        return Situation(self.bag, self.platform, self.registry, known, dict(self.ledger.filled))

    def _against(self, key: str, value: Any) -> Rejection | None:
        """What speaks against a value of a judged setting here, which no rule may then fill in."""
        return judge.against(key, value, self.situation())

    def _decide(self, op: Op) -> None:
        """Choose for every used regime of one op, and write down what follows from it."""
        ledger = self.ledger
        decided: dict[str | None, list[Part]] = {}
        followed: dict[str | None, str | None] = {}
        for question in self._questions(op):
            regime = question.regime_name
            reason = _unused(op, regime, ledger.facts)
            if reason is not None:
                self.bindings.append(Binding(op.name, regime, used=False, skipped_because=reason))
                if not op.applies or op.applies.holds(ledger.facts):
                    followed[regime] = self._followed(question)
                continue
            decided[regime] = decide(question, decided)
            for part in decided[regime]:
                self._write_down(part)
            provider = shared(decided[regime])
            fact = self.registry.decided(op, regime)
            if provider is not None and fact not in self.registry.keys:
                ledger.facts[fact] = provider
        if decided:
            parts = [part for parts in decided.values() for part in parts]
            rows = [one.row for part in parts for one in part.chain if one.row is not None]
            fill.by_decisions(ledger, op, {regime: common(found) for regime, found in decided.items()}, followed, rows)
            fill.page_size(ledger, op, rows)

    def _questions(self, op: Op) -> Iterator[Question]:
        """One for each regime; one alone for all ranges where one implementation must take everything."""
        whole = names.whole(op, self.ledger.facts)
        regimes: tuple[Regime | None, ...] = () if whole else op.regimes
        below = 0
        for regime in regimes or (None,):
            name = None if regime is None else regime.name
            yield Question(op, regime, self.situation(**{op.kind_of_regime: name}), beyond=below, whole=whole)
            below = 0 if regime is None or regime.most is None else regime.most

    def _write_down(self, part: Part) -> None:
        op = part.question.op
        for decision in part.chain:
            self.ledger.faults += [fault for fault in decision.faults if not self._said(fault, op)]
            self.ledger.warnings += decision.warnings
            self.ledger.notes += decision.notes
        self.bindings.append(_binding(part))

    def _said(self, fault: Rejection, op: Op) -> bool:
        """Whether an earlier regime has this fault: the same reason, or any against a provider named once for all."""
        for other in self.ledger.faults:
            if other.op == op.name and other.provider == fault.provider is not None:
                same = (other.code, other.field) == (fault.code, fault.field)
                shared = any(
                    self.ledger.facts[key] == fault.provider for keys in op.settings.values() for key in keys[1:]
                )
                if same or shared:
                    return True
        return False

    def _followed(self, question: Question) -> str | None:
        """The provider that an unused regime would take after another, so that no setting stays auto."""
        for rule in self.registry.rules_for(question.op.name, self.platform.device):
            speaks = rule.same_as is not None and question.regime_name in rule.regimes
            if speaks and rule.when.holds(self.ledger.facts):
                return proposal(rule, question)
        return None

    def _untraced(self) -> Iterator[str]:
        if not self.ledger.facts["exec.compile"]:
            return
        for binding in self.bindings:
            for row in dict.fromkeys(member.implementation for member in binding.members):
                if not row.declared_only and not row.compile:
                    yield f"{binding.slot}: torch.compile does not trace {row.name}; it breaks the graph"

    def _not_arranged(self) -> Iterator[tuple[str, str]]:
        for missing in self.registry.not_arranged:
            if self.ledger.facts["exec.deterministic"] and missing.when.holds(self.ledger.facts):
                yield missing.name, missing.why

    def _arranged_otherwise(self) -> Iterator[str]:
        """What a setting would have arranged, and says otherwise."""
        for missing in self.registry.not_arranged:
            could = missing.could is not None and missing.could.holds(self.ledger.facts)
            if could and self.ledger.facts["exec.deterministic"] and missing.when.holds(self.ledger.facts):
                yield f"exec.deterministic: {missing.name} are not arranged: {missing.why}"


def _unused(op: Op, regime: str | None, facts: dict[str, Any]) -> str | None:
    """Why an op or a regime of it is not used; None when it is."""
    if not op.applies.holds(facts):
        return op.applies.failing(facts)
    if regime == "draft" and op.measure is None and not facts["spec.active"]:
        return "no speculation: spec.algorithm is none"
    return None


def _binding(part: Part) -> Binding:
    question, first = part.question, part.chain[0]
    return Binding(
        op=question.op.name,
        regime=question.regime_name,
        used=True,
        members=tuple(_members(part)),
        decider=first.decider,
        why=first.why,
        sites=part.sites,
        site=part.site,
        _explain=partial(_explain, part),
    )


def _members(part: Part) -> Iterator[Member]:
    for decision in part.chain:
        if decision.row is not None and decision.decider is not None:
            facts = tuple(assumed(decision.row, part.question))
            yield Member(decision.row, decision.most, decision.decider, decision.why, facts)


def _explain(part: Part) -> tuple[Rejection, ...]:
    """Every reason against every provider that was not chosen; one that could have run says what decided instead."""
    found: list[Rejection] = []
    chosen: list[Implementation] = [decision.row for decision in part.chain if decision.row is not None]
    first: Decision = part.chain[0]
    question = replace(part.question, captured=any(decision.captured for decision in part.chain))
    for provider, rows in question.providers.items():
        if any(row.provider == provider for row in chosen):
            continue
        against = best_reasons(rows, question)
        if not against and not may_run(question, provider):
            against = [not_listed(question, provider)]
        name = None if first.decider is None else first.decider.name
        if not against and chosen:
            code = "pinned-away" if first.exclusive else "lower-priority"
            against = [Rejection(provider, code, "choice", f"{name}: {chosen[0].provider}", "could run")]
        elif not against:
            against = [Rejection(provider, "pinned-away", "choice", name, "could run")]
        found += against
    return tuple(found)
