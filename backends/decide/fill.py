"""Fills settings that are still auto: by rules, by what was decided for an op, and the page size of all phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confbag.backends.decide.check import page_sizes, takes_page
from confbag.backends.decide.choose import Decision
from confbag.backends.declare.op import Implementation, Op
from confbag.backends.declare.rules import Fill
from confbag.backends.words.levels import ALWAYS, GRAPH
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.words.provenance import AUTO

PAGE_SIZE = "memory.page_size"


@dataclass
class Ledger:
    """What one planning run has decided so far; the only thing that planning changes.

    facts: read by every condition. filled: key -> (value, rule, why).
    """

    bag: Bag
    facts: dict[str, Any]
    filled: dict[str, tuple[Any, str, str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    faults: list[Rejection] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fill(self, key: str, value: Any, rule: str, why: str) -> None:
        """Replace an auto, once."""
        self.filled[key] = (value, rule, why)
        self.facts[key] = value

    def origin(self, key: str) -> str | None:
        """Who set the value of a key: a source, or the rule that filled it; None for a default."""
        if key in self.filled:
            return f"rule {self.filled[key][1]}"
        origin = self.bag.origin(key)
        return None if origin == "default" else origin


def by_rules(ledger: Ledger, fills: Sequence[Fill], op: str | None) -> None:
    """Apply the fills that belong after an op (None: before any); what they say of another engine's keys is left."""
    for fill in fills:
        if not fill.when.holds(ledger.facts):
            continue
        acted = not fill.set
        for key in fill.set:
            if key not in ledger.facts:
                continue
            value = fill.value(key, ledger.facts)
            if ledger.facts[key] == AUTO:
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
            ledger.faults.append(
                Rejection(None, "environment", name, value, taken, f"rule {fill.name}", hint, op, None)
            )


def _refused(ledger: Ledger, fill: Fill, key: str, value: Any, op: str | None) -> Rejection:
    code = fill.code or "environment"
    hint = f"{fill.why} (rule {fill.name}); leave {key} out"
    return Rejection(None, code, key, value, ledger.facts[key], ledger.origin(key), hint, op, None)


def by_decisions(
    ledger: Ledger,
    op: Op,
    decisions: Mapping[str | None, Decision],
    followed: Mapping[str | None, str | None],
    rows: Sequence[Implementation],
) -> None:
    """Write what was decided for an op into the settings that name its providers.

    followed: for a phase that is not used, the provider that it would follow. rows: all that were chosen.
    """
    shared = [key for keys in op.settings.values() for key in keys[1:]]
    for phase, keys in op.settings.items():
        decision = decisions.get(phase)
        provider = decision.row.provider if decision is not None and decision.row is not None else followed.get(phase)
        if not keys or provider is None:
            continue
        rule, why = (
            (decision.rule or "", decision.why)
            if decision is not None
            else (f"{phase}-unused", "this phase is not used")
        )
        _name(ledger, keys[0], provider, rule, why)
    last = next(
        (decisions[phase] for phase in ("decode", "prefill", None) if phase in decisions and decisions[phase].row), None
    )
    for key in dict.fromkeys(shared):
        if last is not None and last.row is not None:
            _name(ledger, key, last.row.provider, last.rule or "", last.why)
    ledger.facts[f"{op.name}.graph"] = min((row.graph for row in rows), key=GRAPH.index, default=ALWAYS)


def _name(ledger: Ledger, key: str, provider: str, rule: str, why: str) -> None:
    # A key without a value names nobody either; one that was emptied on purpose stays empty.
    if ledger.facts[key] == AUTO or (ledger.facts[key] is None and not ledger.bag.is_set(key)):
        ledger.fill(key, provider, rule, why)


def page_size(ledger: Ledger, op: Op, rows: Sequence[Implementation]) -> None:
    """Replace `memory.page_size: auto` by the size that every phase takes, or add a fault that names who takes what.

    One phase's default if every phase takes it (the smallest of such), else the smallest size that all list.
    """
    paged = [row for row in rows if row.requires.page_sizes is not None]
    asked = ledger.facts[PAGE_SIZE]
    if asked != AUTO or not paged:
        return
    takes = {row.name: page_sizes(row, ledger.facts) or () for row in paged}
    defaults = sorted({sizes[0] for sizes in takes.values()})
    listed = sorted({size for sizes in takes.values() for size in sizes})
    for size in (*defaults, *listed):
        if all(takes_page(row, size, ledger.facts) for row in paged):
            names = ", ".join(dict.fromkeys(row.provider for row in paged))
            ledger.fill(PAGE_SIZE, size, "page-size-of-backends", f"what {names} takes")
            return
    first, *others = takes.items()
    other = next(((name, sizes) for name, sizes in others if not set(sizes) & set(first[1])), others[0])
    ledger.faults.append(
        Rejection(
            None,
            "page-size",
            PAGE_SIZE,
            f"{first[0]} takes {_sizes(first[1])}",
            f"{other[0]} takes {_sizes(other[1])}",
            None,
            "name backends that share a page size",
            op.name,
            None,
        )
    )


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
