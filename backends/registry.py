"""The capability registry: every op, implementation, rule, library and platform that this installation knows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confbag.backends import catalogue
from confbag.backends.conditions import Condition
from confbag.backends.libraries import Library
from confbag.backends.op import Implementation, Op, Target, build
from confbag.backends.platforms.platform import Platform
from confbag.backends.rules import Fill, Rule
from confbag.errors import RegistrationError
from confbag.suggest import nearest

DEVICES = ("cuda", "hip", "npu", "xpu", "musa", "mps", "cpu")


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A plug-in that was discovered and could not be loaded: shown in every plan, never hidden."""

    name: str
    distribution: str
    error: str


class Registry:
    """What can be chosen from, filled by the `register(registry)` functions of the entry-point group, ours first.

    Two registries share nothing: `add` takes an op with the rows declared on it, later rows belong to the registry.
    """

    def __init__(self) -> None:
        self.ops: dict[str, Op] = {}
        self.rules: list[Rule] = []
        self.fills: list[Fill] = []
        self.named: dict[str, Condition] = {}
        self.libraries: dict[str, Library] = {}
        self.platforms: dict[str, Platform] = {}
        self.devices: list[str] = list(DEVICES)
        self.failures: list[PluginFailure] = []
        self._rows: dict[str, list[Implementation]] = {}
        self._plugin: str | None = None
        self._checked = False

    # What a plug-in calls

    def add(self, op: Op) -> Op:
        """Register an op with the implementations declared on it. Ops are planned in the order of their adding."""
        known = self.ops.get(op.name)
        if known is not None:
            raise RegistrationError(
                f"op {op.name} is registered twice; add implementations to it with registry.implement"
            )
        self.ops[op.name] = op
        self._rows[op.name] = list(op.implementations)
        self._checked = False
        return op

    def implement(self, op: str, provider: str, target: Target, **row: Any) -> Implementation:
        """Add an implementation to a registered op; the fields are those of `Op.implement`."""
        made = build(self._op(op), provider, target, **row)
        if made.replaces is not None:
            kept = [other for other in self._rows[op] if made.replaces not in (other.provider, other.name)]
            if len(kept) == len(self._rows[op]):
                raise RegistrationError(f"{op}, {provider}: it replaces {made.replaces!r}, which is not there")
            self._rows[op] = kept
        self._rows[op].append(made)
        self._checked = False
        return made

    def catalogue(self, path: str | Path) -> None:
        """Add the rows, facts, rules and fills of a catalogue file; a contradiction names file and row."""
        where = path if isinstance(path, str) else path.name
        data = catalogue.read(path)
        unknown = set(data) - {"op", "engine", "rows", "facts", "choose", "fill"}
        if unknown:
            raise RegistrationError(f"{where}: unknown section {', '.join(sorted(unknown))}")
        if "rows" in data:
            for provider, target, fields in catalogue.rows(data, where):
                self.implement(data.get("op", ""), provider, target, **fields)
        for name, condition in data.get("facts", {}).items():
            self.fact(name, condition)
        for number, rule in enumerate(data.get("choose", ()), 1):
            self.rules.append(Rule.of(rule, f"{where}: rule {number}", self._plugin))
        for number, fill in enumerate(data.get("fill", ()), 1):
            self.fills.append(Fill.of(fill, f"{where}: fill {number}", self._plugin))
        self._checked = False

    def fact(self, name: str, condition: Mapping[str, Any]) -> None:
        """Give a condition a name that other conditions may read."""
        if name in self.named:
            raise RegistrationError(f"fact {name!r} is registered twice")
        self.named[name] = Condition(condition, where=f"fact {name}")

    def rule(self, name: str, op: str, **data: Any) -> Rule:
        """Add one rule; a plug-in's rules go before ours on the devices that it added."""
        made = Rule.of({"name": name, "op": op, **data}, f"rule {name}", self._plugin)
        self.rules.append(made)
        self._checked = False
        return made

    def library(self, library: Library) -> Library:
        """Register a native op library, which implementations name in their requirements."""
        if library.name in self.libraries:
            raise RegistrationError(f"library {library.name!r} is registered twice")
        self.libraries[library.name] = library
        return library

    def device(self, kind: str) -> None:
        """Make a new device kind known."""
        if kind not in self.devices:
            self.devices.append(kind)

    def platform(self, name: str, platform: Platform) -> None:
        """Make a platform known by name, and its device with it."""
        if name in self.platforms:
            raise RegistrationError(f"platform {name!r} is registered twice")
        self.device(platform.device)
        self.platforms[name] = platform

    # What the planner reads

    def rows(self, op: str) -> Sequence[Implementation]:
        """Every implementation of an op, in order of registration."""
        return self._rows[op]

    def providers(self, op: str) -> dict[str, list[Implementation]]:
        """Provider -> its variants, in an order that does not depend on registration."""
        ordered = sorted(self._rows[op], key=lambda row: (row.provider, row.variant or ""))
        return {provider: list(rows) for provider, rows in itertools.groupby(ordered, key=lambda row: row.provider)}

    def aliases(self, op: str) -> dict[str, str]:
        """Old name -> the provider to write instead."""
        return {alias: row.provider for row in self._rows[op] for alias in row.aliases}

    def components(self) -> tuple[str, ...]:
        """The components that rules ask about by `component.NAME`."""
        conditions = [rule.when for rule in self.rules] + [fill.when for fill in self.fills]
        named = {fact for condition in conditions for fact in condition.facts_named()}
        return tuple(sorted(fact.removeprefix("component.") for fact in named if fact.startswith("component.")))

    def rules_for(self, op: str, device: str) -> list[Rule]:
        """The rules of an op in order; on a device that a plug-in's rules name, those go first."""
        rules = [rule for rule in self.rules if rule.op == op]
        own = [rule for rule in rules if rule.plugin is not None and _names_device(rule, device)]
        return own + [rule for rule in rules if not any(rule is other for other in own)]

    def check(self) -> None:
        """Refuse contradictions between rows: unknown devices, ties, overlapping variants, rules without a provider."""
        if self._checked:
            return
        for op, rows in self._rows.items():
            for row in rows:
                self._check_row(op, row)
            for one, other in itertools.combinations(rows, 2):
                _check_pair(op, one, other)
        for rule in self.rules:
            known = {row.provider for row in self._rows.get(rule.op, ())}
            if rule.op in self.ops and rule.propose is not None and rule.propose not in known:
                raise RegistrationError(
                    f"rule {rule.name}: {rule.op} has no provider {rule.propose!r}; known:  {', '.join(sorted(known))}"
                )
        for fill in self.fills:
            if fill.after is not None and fill.after not in self.ops:
                raise RegistrationError(f"rule {fill.name}: unknown op {fill.after!r} in `after`")
        self._checked = True

    def _check_row(self, op: str, row: Implementation) -> None:
        where = row.source or f"{op}, {row.name}"
        for device in row.requires.device:
            if device not in self.devices:
                hint = nearest(device, self.devices)
                raise RegistrationError(
                    f"{where}: unknown device {device!r}; {f'write {hint}' if hint else 'register its platform first'}"
                )
        if row.requires.library is not None and row.requires.library not in self.libraries:
            raise RegistrationError(
                f"{where}: unknown library {row.requires.library!r}; register it with registry.library"
            )
        for phase, companion in row.companions.items():
            if not any(other.provider == companion for other in self._rows[op]):
                raise RegistrationError(f"{where}: unknown companion {companion!r} for {phase}")

    def _op(self, name: str) -> Op:
        found = self.ops.get(name)
        if found is None:
            hint = nearest(name, self.ops)
            raise RegistrationError(
                f"unknown op {name!r}; {f'did you mean {hint}?' if hint else 'register it with registry.add first'}"
            )
        return found


def _names_device(rule: Rule, device: str) -> bool:
    named = rule.when.data.get("platform.device")
    return named == device or (isinstance(named, (list, tuple)) and device in named)


def _check_pair(op: str, one: Implementation, other: Implementation) -> None:
    if one.provider == other.provider:
        if one.variant == other.variant:
            raise RegistrationError(
                f"{op}, {one.name}: registered twice; a second one needs a variant, or replaces={one.provider!r}"
            )
        if not _apart(one, other):
            raise RegistrationError(
                f"{op}: the variants {one.name} and {other.name} can both be asked; let their requirements exclude it"
            )
    elif one.priority == other.priority > 0 and not _apart(one, other):
        raise RegistrationError(
            f"{op}: {one.name} and {other.name} have priority {one.priority} and can both be asked; make one higher"
        )


def _apart(one: Implementation, other: Implementation) -> bool:
    """Whether no situation satisfies both: disjoint phases, or disjoint values of one fact."""
    if one.phases and other.phases and not set(one.phases) & set(other.phases):
        return True
    mine, theirs = dict(_allowed(one)), dict(_allowed(other))
    for fact in set(mine) & set(theirs):
        (kind_a, a), (kind_b, b) = mine[fact], theirs[fact]
        if kind_a == kind_b == "in" and not set(a) & set(b):
            return True
        if {kind_a, kind_b} == {"in", "not"}:
            inside, outside = (a, b) if kind_a == "in" else (b, a)
            if set(inside) <= set(outside):
                return True
    return False


def _allowed(row: Implementation) -> Iterator[tuple[str, tuple[str, Sequence[Any]]]]:
    if row.requires.device:
        yield "platform.device", ("in", row.requires.device)
    if row.requires.arch:
        yield "platform.arch", ("in", row.requires.arch)
    for need in row.requires.needs:
        if need.when or (need.fact == "platform.device" and row.requires.device):
            continue
        if isinstance(need.test, Mapping):
            if "not" in need.test:
                operand = need.test["not"]
                yield need.fact, ("not", operand if isinstance(operand, list) else [operand])
        else:
            yield need.fact, ("in", need.test if isinstance(need.test, (list, tuple)) else [need.test])
