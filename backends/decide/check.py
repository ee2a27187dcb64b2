"""Whether an implementation can run here, and every reason why it cannot: pure functions over facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from confbag.backends.decide.pages import page_sizes, takes_page
from confbag.backends.decide.question import Question, Situation
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.requires import Requires
from confbag.backends.platforms.components import component_version, wanted
from confbag.backends.platforms.pairs import mismatch
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.levels import ALWAYS, NEVER, UNIFORM_BATCH, satisfies
from confbag.backends.words.rejection import Rejection
from confbag.backends.words.versions import version_matches
from confbag.words.provenance import AUTO

UNIFORM = ("decode", "draft")
"""The phases in which every request of a batch has as many queries as the next."""


def reasons(row: Implementation, question: Question) -> list[Rejection]:
    """Every reason against one implementation, first codes first; empty when it can run."""
    return sorted(_reasons(row, question), key=lambda rejection: rejection.rank)


def runs(row: Implementation, question: Question) -> bool:
    """Whether nothing speaks against it; stops at the first reason."""
    return next(_reasons(row, question), None) is None


def assumed(row: Implementation, question: Question) -> Iterator[str]:
    """The names of facts that nobody measured and that its requirements rest on."""
    facts, platform, requires = question.facts, question.situation.platform, row.requires
    for component in requires.parsed_components:
        if platform.packages is None or "packages" in platform.assumed:
            yield f"package {component}"
    for tool in requires.parsed_toolkit:
        if "toolkit" in platform.assumed or f"toolkit.{tool.name}" in platform.assumed:
            yield f"toolkit {tool}"
    for need in requires.needs:
        if need.assumed(facts):
            yield need.fact
    if requires.head_sizes and facts["model.head_dim"] is None:
        yield "model.head_dim"
    if requires.dtypes and facts["model.dtype"] is None:
        yield "model.dtype"
    if platform.native_ops is None or "native_ops" in platform.assumed:
        for native in requires.native_ops:
            yield f"native op {native.name}"


def unmet(provider: str, requires: Requires, situation: Situation) -> Iterator[Rejection]:
    """What of the machine and the settings speaks against whatever has these requirements."""

    def no(code: str, field: str, required: Any, actual: Any, hint: str | None = None) -> Rejection:
        return Rejection(provider, code, field, required, actual, situation.origin(field), hint)

    facts, platform = situation.facts, situation.platform
    if requires.device and platform.device not in requires.device:
        yield no("device", "platform.device", list(requires.device), platform.device)
    if requires.arch and platform.arch not in requires.arch:
        yield no("arch", "platform.arch", list(requires.arch), platform.arch)
    for feature in requires.device_features:
        if feature not in platform.features:
            yield no("feature", "platform.features", feature, sorted(platform.features) or "none of it")
    for need in requires.needs:
        if not need.met(facts):
            yield no(need.code, need.fact, need.required, facts[need.fact], need.hint)
    if requires.dtypes and facts["model.dtype"] not in (None, *requires.dtypes):
        yield no("dtype", "model.dtype", list(requires.dtypes), facts["model.dtype"])
    if requires.head_sizes and facts["model.head_dim"] not in (None, *requires.head_sizes):
        yield no("head-size", "model.head_dim", list(requires.head_sizes), facts["model.head_dim"])
    yield from _installed(provider, requires, platform)
    if requires.known_issue:
        yield no("known-issue", "implementation", "no known issue", requires.known_issue)


def full(row: Implementation, question: Question) -> bool:
    """Whether a capture of this slot can hold it whole."""
    return row.graph == ALWAYS or (row.graph == UNIFORM_BATCH and question.regime_name in UNIFORM)


def _reasons(row: Implementation, question: Question) -> Iterator[Rejection]:
    situation, facts = question.situation, question.facts
    platform, requires = situation.platform, row.requires

    def no(code: str, field: str, required: Any, actual: Any, hint: str | None = None) -> Rejection:
        return Rejection(row.provider, code, field, required, actual, situation.origin(field), hint)

    if row.disabled:
        yield no("disabled", "implementation", None, row.disabled, row.disabled)
    regime = question.regime_name
    if regime is not None and regime not in row.regimes:
        yield no("phase", question.op.kind_of_regime, list(row.regimes), regime, _regime_hint(row, regime))
    yield from unmet(row.provider, requires, situation)
    for feature, when in question.op.asks.items():
        if feature not in requires.features and when.holds(facts):
            field = next(when.facts_named())
            actual = facts[field]
            yield no("feature", field, False if actual is True else "unset", actual, f"{row.provider} has no {feature}")
    page = facts["memory.page_size"]
    if page != AUTO and not takes_page(row, page, facts):
        sizes = page_sizes(row, facts) or ()
        yield no(
            "page-size", "memory.page_size", list(sizes), page, f"{_nearest(page, sizes)} is the nearest that works"
        )
    yield from _bound(row, question)
    if facts["exec.deterministic"]:
        asked, declared = facts["exec.determinism"], row.determinism_in(regime)
        if not satisfies(declared, asked):
            yield no("determinism", "exec.deterministic", asked, declared, f"{row.name} declares {declared}")
    yield from _graph(row, question)
    if platform.native_ops is not None and requires.native_ops:
        present = {text.partition("(")[0].partition(".")[0].strip() for text in platform.native_ops}
        for native in requires.native_ops:
            if native.name not in present:
                yield no("op-missing", native.name, native.schema, "not there", _library_hint(row, platform))


def _bound(row: Implementation, question: Question) -> Iterator[Rejection]:
    """Of a measured op: what it takes is not enough."""
    most, measure = row.most, question.op.measure
    if most is None:
        return
    if question.whole:
        hint = f"beyond {most} {measure} another kernel would run, and a row's bits would depend on its batch"
        asked = question.facts["exec.determinism"]
        origin = question.situation.origin("exec.deterministic")
        yield Rejection(row.provider, "determinism", "exec.deterministic", asked, f"at most {most}", origin, hint)
    elif most <= question.beyond:
        yield Rejection(row.provider, "bound", measure or "", f"at most {most}", f"above {question.beyond}")


def _graph(row: Implementation, question: Question) -> Iterator[Rejection]:
    asked = question.facts["exec.graph"]
    if asked in (False, AUTO) or (row.graph != NEVER and not question.captured):
        return
    if row.graph == NEVER or not full(row, question):
        declares = f"declares graph {row.graph}" if row.graph_declared else "declares no graph level, which is never"
        remedy = "" if row.graph_declared else "; declare graph=... where it is implemented"
        hint = f"{row.name} {declares}{remedy}"
        required = False if row.graph == NEVER else "piecewise"
        origin = question.situation.origin("exec.graph")
        yield Rejection(row.provider, "graph", "exec.graph", required, asked, origin, hint)


def _installed(provider: str, requires: Requires, platform: Platform) -> Iterator[Rejection]:
    for component in requires.parsed_components if platform.packages is not None else ():
        found = component_version(platform, component.name)
        if found is None:
            brings = wanted(platform, component.name)
            own = {"torch": "pip install 'confbag[torch]'"}.get(brings)
            hint = own or (None if brings == component.name else f"install {brings}")
            yield Rejection(provider, "package-missing", component.name, str(component), "not installed", None, hint)
        elif component.specifier and not version_matches(component.specifier, found[1]):
            yield Rejection(provider, "package-version", component.name, str(component), f"{found[0]} {found[1]}")
        elif (clash := mismatch(platform, found[0])) is not None:
            hint = f"{clash.why}; {clash.hint}"
            yield Rejection(provider, clash.code, clash.field, clash.required, clash.actual, None, hint)
    for tool in requires.parsed_toolkit:
        version = platform.toolkit.get(tool.name)
        if version is None or not version_matches(tool.specifier, version):
            yield Rejection(provider, "toolchain", tool.name, str(tool), version and f"{tool.name} {version}")


def _regime_hint(row: Implementation, regime: str) -> str | None:
    other = row.companions.get(regime)
    return f"name {other} for {regime}" if other else None


def _library_hint(row: Implementation, platform: Platform) -> str | None:
    where = platform.arch or platform.device
    return f"install a build of {row.requires.library} that has it on {where}" if row.requires.library else None


def _nearest(size: int, sizes: Iterable[int]) -> int:
    return min(sizes, key=lambda candidate: (abs(candidate - size), candidate))


def best_reasons(rows: Iterable[Implementation], question: Question) -> list[Rejection]:
    """The reasons against a provider with variants: those of the variant that was meant for this model and device.

    Where every variant meant for this model fails on one field alone, such as the device, their requirements are shown
    together.
    """
    judged = [(row, reasons(row, question)) for row in rows]
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
