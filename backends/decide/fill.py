"""Fills settings that are still auto: by rules, by what was decided for an op, and the page size of all phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confbag.backends.decide.choose import Decision
from confbag.backends.decide.pages import PAGE_SIZE, common_size
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.declare.rules import Fill
from confbag.backends.words.levels import ALWAYS, GRAPH
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.words.provenance import AUTO, Filled


@dataclass
class Ledger:
    """What one planning run has decided so far; the only thing that planning changes.

    facts: read by every condition.
    filled: what rules and decisions make of settings.
    over: the keys whose filling goes before what somebody set: a new name, or what a higher layer asked for.
    """

    bag: Bag
    facts: dict[str, Any]
    filled: dict[str, Filled] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)
    environment: dict[str, str] = field(default_factory=dict)
    faults: list[Rejection] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fill(self, key: str, value: Any, rule: str, why: str) -> None:
        """Replace an auto, once."""
        self.filled[key] = Filled(value, rule, why)
        self.facts[key] = value

    def origin(self, key: str) -> str | None:
        """Who set the value of a key: a source, or the rule that filled it; None for a default."""
        if key in self.filled:
            return f"rule {self.filled[key].rule}"
        origin = self.bag.origin(key)
        return None if origin == "default" else origin


def by_rules(
    ledger: Ledger, fills: Sequence[Fill], op: str | None, against: Callable[[str, Any], Rejection | None]
) -> None:
    """Apply the fills that belong after an op (None: before any). against: what speaks against a value here, which then
    is left to the next rule."""
    for fill in fills:
        if not fill.when.holds(ledger.facts):
            continue
        acted = not fill.set
        for key in fill.set:
            value = fill.value(key, ledger.facts)
            if ledger.facts[key] == AUTO:
                if not fill.force and (reason := against(key, value)) is not None:
                    ledger.notes.append(f"{key}: not {value} (rule {fill.name}) - {reason}")
                    continue
                ledger.fill(key, value, fill.name, fill.why)
                acted = True
            elif fill.force and ledger.facts[key] != value:
                ledger.faults.append(_refused(ledger, fill, key, value, op))
            else:
                acted = acted or ledger.facts[key] == value
        if acted:
            _export(ledger, fill, op)


def _export(ledger: Ledger, fill: Fill, op: str | None) -> None:
    """Take over a fill's environment; two rules that want different values of one variable are a fault."""
    for name, value in fill.environment.items():
        taken = ledger.environment.setdefault(name, value)
        if taken != value:
            hint = f"rule {fill.name} wants {value}, another rule {taken}; drop what asks for one of them"
            ledger.faults.append(Rejection(None, "environment", name, value, taken, f"rule {fill.name}", hint, op))


def _refused(ledger: Ledger, fill: Fill, key: str, value: Any, op: str | None) -> Rejection:
    code = fill.code or "environment"
    hint = f"{fill.why} (rule {fill.name}); leave {key} out"
    return Rejection(None, code, key, value, ledger.facts[key], ledger.origin(key), hint, op)


def by_decisions(
    ledger: Ledger,
    op: Op,
    decisions: Mapping[str | None, Decision],
    followed: Mapping[str | None, str | None],
    rows: Sequence[Implementation],
) -> None:
    """Write what was decided for an op into the settings that name its providers.

    decisions: by regime, the one that a setting can say. followed: for a regime that is not used, the provider that it
    would follow. rows: all that were chosen.
    """
    general = [key for keys in op.settings.values() for key in keys[1:]]
    for regime, keys in op.settings.items():
        # Where one implementation takes every range of a measured op, it is the one of each.
        decision = decisions.get(regime, decisions.get(None))
        provider = decision.row.provider if decision is not None and decision.row is not None else followed.get(regime)
        if not keys or provider is None:
            continue
        if decision is not None:
            rule, why = decision.decider.name if decision.decider else "", decision.why
        else:
            rule, why = f"{regime}-unused", f"this {op.kind_of_regime} is not used"
        _name(ledger, keys[0], provider, rule, why, over=decision is not None and keys[0] in decision.over)
    order = [decisions[each] for each in ("decode", "prefill", None) if each in decisions]
    last = next((decision for decision in order if decision.row is not None), None)
    for key in dict.fromkeys(general):
        if last is not None and last.row is not None:
            rule = last.decider.name if last.decider else ""
            everywhere = all(key in decision.over for decision in order if decision.row is not None)
            _name(ledger, key, last.row.provider, rule, last.why, over=everywhere)
    ledger.facts[f"{op.name}:graph"] = min((row.graph for row in rows), key=GRAPH.index, default=ALWAYS)


def _name(ledger: Ledger, key: str, provider: str, rule: str, why: str, *, over: bool = False) -> None:
    """over: something of a lower layer gave way, and if it was this key, the plan says what runs instead of it."""
    held = ledger.facts[key]
    # A key without a value names nobody either; one that was emptied on purpose stays empty.
    if held == AUTO or (held is None and not ledger.bag.is_set(key)):
        ledger.fill(key, provider, rule, why)
    elif over and held is not None and held != provider:
        ledger.fill(key, provider, rule, why)
        ledger.over.add(key)


def page_size(ledger: Ledger, op: Op, rows: Sequence[Implementation]) -> None:
    """Replace `memory.page_size: auto` by the size that all take, or add a fault that names who takes what."""
    if ledger.facts[PAGE_SIZE] != AUTO:
        return
    size = common_size(op.name, rows, ledger.facts)
    if isinstance(size, Rejection):
        ledger.faults.append(size)
    elif size is not None:
        paged = dict.fromkeys(row.provider for row in rows if row.requires.page_sizes is not None)
        ledger.fill(PAGE_SIZE, size, "page-size-of-backends", f"what {', '.join(paged)} takes")
