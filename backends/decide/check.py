"""Whether an implementation can run here, and every reason why it cannot: pure functions over facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confbag.backends.declare.derived import DERIVED
from confbag.backends.declare.op import Implementation, Op
from confbag.backends.platforms.components import component_version
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.conditions import version_matches
from confbag.backends.words.levels import NEVER, satisfies
from confbag.backends.words.rejection import Rejection
from confbag.bag.bag import Bag
from confbag.words.provenance import AUTO


@dataclass(frozen=True, slots=True)
class Situation:
    """What a choice is made in: the bag, the platform, every fact and decision so far, and what rules have filled.

    layer: for which of the op's layers, where they are decided one by one; counted: whether it is a number.
    """

    bag: Bag
    platform: Platform
    facts: Mapping[str, Any]
    filled: Mapping[str, tuple[Any, str, str]] = field(default_factory=dict)
    layer: str | None = None
    counted: bool = True

    def origin(self, field: str) -> str | None:
        """Who set the value that a fact rests on: a source or a rule; None for the platform's facts and defaults."""
        derived = DERIVED.get(field)
        key = field if derived is None else derived.blamed
        if key in self.filled:
            return f"rule {self.filled[key][1]}"
        if key not in self.bag.values():
            return None
        origin = self.bag.origin(key)
        return None if origin == "default" else origin


def reasons(op: Op, row: Implementation, phase: str | None, situation: Situation) -> list[Rejection]:
    """Every reason against one implementation, first codes first; empty when it can run."""
    return sorted(_reasons(op, row, phase, situation), key=lambda rejection: rejection.rank)


def runs(op: Op, row: Implementation, phase: str | None, situation: Situation) -> bool:
    """Whether nothing speaks against it; stops at the first reason."""
    return next(_reasons(op, row, phase, situation), None) is None


def page_sizes(row: Implementation, facts: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The page sizes that it takes in this situation, the default first; None when it says nothing of pages."""
    requires = row.requires
    if requires.branching_page_sizes is not None and facts["spec.branches"] > 1:
        return requires.branching_page_sizes
    return requires.page_sizes


def takes_page(row: Implementation, size: int, facts: Mapping[str, Any]) -> bool:
    """Whether it can run over pages of this size."""
    sizes = page_sizes(row, facts)
    any_page = row.requires.any_page and not (
        row.requires.branching_page_sizes is not None and facts["spec.branches"] > 1
    )
    return sizes is None or any_page or size in sizes


def assumed(row: Implementation, phase: str | None, situation: Situation) -> Iterator[str]:
    """The names of facts that nobody measured and that its requirements rest on."""
    platform = situation.platform
    for component in row.requires.parsed_components:
        if platform.packages is None or "packages" in platform.assumed:
            yield f"package {component}"
    for tool in row.requires.parsed_toolkit:
        if "toolkit" in platform.assumed or f"toolkit.{tool.name}" in platform.assumed:
            yield f"toolkit {tool}"
    for need in row.requires.needs:
        if need.assumed({**situation.facts, "phase": phase}):
            yield need.fact
    if row.requires.head_sizes and situation.facts["model.head_dim"] is None:
        yield "model.head_dim"
    if row.requires.dtypes and situation.facts["model.dtype"] is None:
        yield "model.dtype"
    if platform.native_ops is None or "native_ops" in platform.assumed:
        for native in row.requires.native_ops:
            yield f"native op {native.name}"


def _reasons(op: Op, row: Implementation, phase: str | None, situation: Situation) -> Iterator[Rejection]:
    def no(code: str, field: str, required: Any, actual: Any, hint: str | None = None) -> Rejection:
        return Rejection(row.provider, code, field, required, actual, situation.origin(field), hint)

    facts, platform, requires = situation.facts, situation.platform, row.requires
    if row.disabled:
        yield no("disabled", "implementation", None, row.disabled, row.disabled)
    if requires.device and platform.device not in requires.device:
        yield no("device", "platform.device", list(requires.device), platform.device)
    if requires.arch and platform.arch not in requires.arch:
        yield no("arch", "platform.arch", list(requires.arch), platform.arch)
    if phase is not None and phase not in row.phases:
        yield no("phase", "phase", list(row.phases), phase, _phase_hint(row, phase))
    for feature in requires.device_features:
        if feature not in platform.features:
            yield no("feature", "platform.features", feature, sorted(platform.features) or "none of it")
    yield from _needs(row, phase, situation)
    for feature, when in op.asks.items():
        if feature not in requires.features and when.holds(facts):
            field = next(when.facts_named())
            actual = facts[field]
            yield no("feature", field, False if actual is True else "unset", actual, f"{row.provider} has no {feature}")
    if requires.dtypes and facts["model.dtype"] not in (None, *requires.dtypes):
        yield no("dtype", "model.dtype", list(requires.dtypes), facts["model.dtype"])
    if requires.head_sizes and facts["model.head_dim"] not in (None, *requires.head_sizes):
        yield no("head-size", "model.head_dim", list(requires.head_sizes), facts["model.head_dim"])
    page = facts["memory.page_size"]
    if page != AUTO and not takes_page(row, page, facts):
        sizes = page_sizes(row, facts) or ()
        yield no(
            "page-size", "memory.page_size", list(sizes), page, f"{_nearest(page, sizes)} is the nearest that works"
        )
    if facts["exec.deterministic"]:
        asked, declared = facts["exec.determinism"], row.determinism_in(phase)
        if not satisfies(declared, asked):
            yield no("determinism", "exec.deterministic", asked, declared, f"{row.name} declares {declared}")
    if facts["exec.graph"] is True and row.graph == NEVER:
        yield no("graph", "exec.graph", False, True, f"{row.provider} cannot be captured")
    yield from _installed(row, situation)
    if platform.native_ops is not None and requires.native_ops:
        present = {text.partition("(")[0].partition(".")[0].strip() for text in platform.native_ops}
        for native in requires.native_ops:
            if native.name not in present:
                yield no("op-missing", native.name, native.schema, "not there", _library_hint(row, platform))
    if requires.known_issue:
        yield no("known-issue", "implementation", "no known issue", requires.known_issue)


def _needs(row: Implementation, phase: str | None, situation: Situation) -> Iterator[Rejection]:
    if not row.requires.needs:
        return
    facts = situation.facts
    if "phase" not in facts or facts["phase"] != phase:
        facts = {**facts, "phase": phase}
    for need in row.requires.needs:
        if not need.met(facts):
            yield Rejection(
                row.provider,
                need.code,
                need.fact,
                need.required,
                facts[need.fact],
                situation.origin(need.fact),
                need.hint,
            )


def _installed(row: Implementation, situation: Situation) -> Iterator[Rejection]:
    platform = situation.platform
    for component in row.requires.parsed_components if platform.packages is not None else ():
        found = component_version(platform, component.name)
        if found is None:
            yield Rejection(row.provider, "package-missing", component.name, str(component), "not installed")
        elif component.specifier and not version_matches(component.specifier, found[1]):
            yield Rejection(row.provider, "package-version", component.name, str(component), f"{found[0]} {found[1]}")
    for tool in row.requires.parsed_toolkit:
        version = platform.toolkit.get(tool.name)
        if version is None or not version_matches(tool.specifier, version):
            yield Rejection(row.provider, "toolchain", tool.name, str(tool), version and f"{tool.name} {version}")


def _phase_hint(row: Implementation, phase: str) -> str | None:
    other = row.companions.get(phase)
    return f"name {other} for {phase}" if other else None


def _library_hint(row: Implementation, platform: Platform) -> str | None:
    where = platform.arch or platform.device
    return f"install a build of {row.requires.library} that has it on {where}" if row.requires.library else None


def _nearest(size: int, sizes: Iterable[int]) -> int:
    return min(sizes, key=lambda candidate: (abs(candidate - size), candidate))


def best_reasons(op: Op, rows: Iterable[Implementation], phase: str | None, situation: Situation) -> list[Rejection]:
    """The reasons against a provider with variants: those of the variant that was meant for this model and device.

    Where every variant meant for this model fails on one field alone, such as the device, their requirements are shown
    together.
    """
    judged = [(row, reasons(op, row, phase, situation)) for row in rows]
    judged.sort(key=lambda pair: (_misplaced(pair[1]), -pair[1][0].rank if pair[1] else 0))
    _, chosen = judged[0]
    if not chosen:
        return chosen
    first = chosen[0]
    kin = [found[0] for _, found in judged if found and (found[0].code, found[0].field) == (first.code, first.field)]
    if first.code in ("device", "arch") and len(kin) > 1:
        required = list(dict.fromkeys(item for rejection in kin for item in _list(rejection.required)))
        first = Rejection(first.provider, first.code, first.field, required, first.actual, first.origin, first.hint)
    return [first, *chosen[1:]]


def _misplaced(found: list[Rejection]) -> tuple[bool, bool]:
    fields = {rejection.field for rejection in found}
    return "model.kind" in fields, "platform.device" in fields


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
