"""Makes a plan: for one bag on one platform, which implementation runs each op, and what every `auto` becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confbag.backends.decide import fill, names
from confbag.backends.decide.check import Situation, assumed, best_reasons
from confbag.backends.decide.choose import Decision, proposal
from confbag.backends.decide.facts import gather
from confbag.backends.decide.plan import Binding, Plan
from confbag.backends.decide.sites import Part, common, decide, shared
from confbag.backends.declare.op import Op
from confbag.backends.declare.plugins import installed
from confbag.backends.declare.registry import Registry
from confbag.backends.platforms.arch import normalise
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.errors import ConfigError
from confbag.words.provenance import AUTO


def make_plan(bag: Bag, platform: Platform | None = None, *, registry: Registry | None = None) -> Plan:
    """Plan a bag for a platform (None: this machine, or its CPU where device.kind says cpu) with a registry (None: what
    is installed).

    Pure but for the probe and the scan of entry points behind the two defaults. What cannot be satisfied is in
    `plan.faults`. Raises ConfigError for names that no op or provider answers to, RegistrationError for a registry that
    contradicts itself.
    """
    registry = installed() if registry is None else registry
    registry.check()
    wrong = names.check(bag.values(), bag.setting, registry)
    if wrong:
        raise ConfigError(wrong)
    if platform is None:
        # An accelerator in the machine is no reason against a bag that asks for its CPU.
        platform = Platform.cpu() if bag["device.kind"] == "cpu" else Platform.this(registry.probes)
    return _Run(bag, platform, registry).plan()


@dataclass
class _Run:
    """One planning run: the ledger that grows while ops are decided in their order."""

    bag: Bag
    platform: Platform
    registry: Registry
    ledger: fill.Ledger = field(init=False)
    bindings: list[Binding] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        facts = gather(self.bag, self.platform, self.registry.named, self.registry.components())
        self.ledger = fill.Ledger(self.bag, facts)

    def plan(self) -> Plan:
        ledger, registry = self.ledger, self.registry
        ledger.warnings += self.platform.notes
        ledger.warnings += map(str, registry.failures)
        ledger.warnings += names.old(self.bag.values(), registry)
        renamed = names.renamed(self.bag.values(), registry)
        for key, new in renamed.items():
            ledger.fill(key, new, names.RENAMED, f"{self.bag[key]} is an old name of it")
        ledger.faults += _wrong_device(self.bag, self.platform)
        fill.by_rules(ledger, registry.fills_after(None, self.platform.device), None)
        for op in registry.ops.values():
            self._decide(op)
            fill.by_rules(ledger, registry.fills_after(op.name, self.platform.device), op.name)
        ledger.warnings += self._untraced()
        return Plan(
            asked=self.bag,
            platform=self.platform,
            registry=registry,
            bindings=tuple(self.bindings),
            faults=tuple(ledger.faults),
            environment=dict(sorted(ledger.environment.items())),
            warnings=tuple(dict.fromkeys(ledger.warnings)),
            resolved=None if ledger.faults else self.bag.resolve(ledger.filled, renamed),
            filled=dict(ledger.filled),
        )

    def _decide(self, op: Op) -> None:
        """Choose for every used phase of one op, and write down what follows from it."""
        ledger = self.ledger
        decided: dict[str | None, list[Part]] = {}
        followed: dict[str | None, str | None] = {}
        for phase in op.slots:
            reason = _unused(op, phase, ledger.facts)
            if reason is not None:
                self.bindings.append(Binding(op.name, phase, used=False, skipped_because=reason))
                if not op.applies or op.applies.holds(ledger.facts):
                    followed[phase] = self._followed(op, phase)
                continue
            facts = {**ledger.facts, "phase": phase}
            situation = Situation(self.bag, self.platform, facts, dict(ledger.filled))
            decided[phase] = decide(op, phase, situation, self.registry, decided)
            for part in decided[phase]:
                ledger.faults += [fault for fault in part.decision.faults if not self._said(fault, op)]
                ledger.warnings += part.decision.warnings
                self.bindings.append(self._binding(op, phase, part))
            provider = shared(decided[phase])
            if provider is not None:
                ledger.facts[op.name if phase is None else f"{op.name}@{phase}"] = provider
        if decided:
            rows = [part.decision.row for parts in decided.values() for part in parts if part.decision.row is not None]
            fill.by_decisions(ledger, op, {phase: common(parts) for phase, parts in decided.items()}, followed, rows)
            fill.page_size(ledger, op, rows)

    def _said(self, fault: Rejection, op: Op) -> bool:
        """Whether an earlier phase has this fault: the same reason, or any against a provider named once for all."""
        for other in self.ledger.faults:
            if other.op == op.name and other.provider == fault.provider is not None:
                same = (other.code, other.field) == (fault.code, fault.field)
                shared = any(
                    self.ledger.facts[key] == fault.provider for keys in op.settings.values() for key in keys[1:]
                )
                if same or shared:
                    return True
        return False

    def _followed(self, op: Op, phase: str | None) -> str | None:
        """The provider that an unused phase would take after another, so that no setting stays auto."""
        for rule in self.registry.rules_for(op.name, self.platform.device):
            if rule.same_as is not None and phase in rule.phases and rule.when.holds(self.ledger.facts):
                return proposal(rule, op, Situation(self.bag, self.platform, self.ledger.facts, self.ledger.filled))
        return None

    def _binding(self, op: Op, phase: str | None, part: Part) -> Binding:
        decision, situation = part.decision, part.situation
        row = decision.row
        return Binding(
            op=op.name,
            phase=phase,
            layers=part.layers,
            part=part.part,
            used=True,
            provider=None if row is None else row.provider,
            variant=None if row is None else row.variant,
            target=None if row is None else row.target_name,
            rule=decision.rule,
            why=decision.why,
            implementation=row,
            assumed=() if row is None else tuple(assumed(row, phase, situation)),
            _explain=partial(_explain, op, phase, decision, situation, self.registry),
        )

    def _untraced(self) -> list[str]:
        if not self.ledger.facts["exec.compile"]:
            return []
        rows = [
            (b.slot, b.implementation)
            for b in self.bindings
            if b.implementation is not None and not b.implementation.declared_only
        ]
        return [
            f"{slot}: torch.compile does not trace {row.name}; it breaks the graph"
            for slot, row in rows
            if not row.compile
        ]


def _unused(op: Op, phase: str | None, facts: dict[str, Any]) -> str | None:
    """Why an op or a phase of it is not used; None when it is."""
    if not op.applies.holds(facts):
        return op.applies.failing(facts)
    if phase == "draft" and not facts["spec.active"]:
        return "no speculation: spec.algorithm is none"
    return None


def _explain(
    op: Op, phase: str | None, decision: Decision, situation: Situation, registry: Registry
) -> tuple[Rejection, ...]:
    """Every reason against every provider that was not chosen; one that could have run says what decided instead."""
    found: list[Rejection] = []
    chosen = None if decision.row is None else decision.row.provider
    for provider, rows in registry.providers(op.name).items():
        if provider == chosen:
            continue
        against = best_reasons(op, rows, phase, situation)
        if not against and chosen is not None:
            code = "pinned-away" if decision.exclusive else "lower-priority"
            against = [Rejection(provider, code, "choice", f"{decision.rule}: {chosen}", "could run")]
        elif not against:
            against = [Rejection(provider, "pinned-away", "choice", decision.rule, "could run")]
        found += against
    return tuple(found)


def _wrong_device(bag: Bag, platform: Platform) -> list[Rejection]:
    """What was said of the device and is not the platform's."""
    found: list[Rejection] = []
    values = bag.values()

    def fault(code: str, key: str, required: Any) -> None:
        hint = f"leave {key} out, or plan for another --platform"
        found.append(Rejection(None, code, key, required, values[key], bag.origin(key), hint, None, None))

    if values["device.kind"] not in (AUTO, platform.device):
        fault("device", "device.kind", platform.device)
    elif values["device.arch"] != AUTO and normalise(str(values["device.arch"])) != platform.arch:
        fault("arch", "device.arch", platform.arch)
    if (
        platform.count is not None
        and values["device.index"] != AUTO
        and values["device.index"] >= max(platform.count, 1)
    ):
        fault("device", "device.index", f"below {max(platform.count, 1)}, the number of devices")
    return found
