"""The catalogue as it is printed: every column of every implementation of an op, and the rules that may speak of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confbag.backends.declare.op import Implementation
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.requires import Need
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.words.conditions import Condition
from confbag.backends.words.levels import NEVER

ANY = "any"


@dataclass(frozen=True)
class Wanted:
    """What of the catalogue is asked for; empty: everything."""

    devices: Sequence[str] = ()
    kinds: Sequence[str] = ()
    phases: Sequence[str] = ()
    providers: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.devices or self.kinds or self.phases or self.providers)


@dataclass(frozen=True)
class Entry:
    """One row.

    kinds, kv: empty where nothing is said. topk: the most draft branches, `any`, or None without speculation.
    topk_pages: the page sizes at which more branches are taken. paged_topk: more branches are taken over pages above 1
    that somebody asked for. branching_pages: the page sizes with more than one branch. deterministic: phase (`` for an
    op without phases) -> level. needs: its other requirements, each a sentence. unconfirmed: the columns to mark.
    """

    provider: str
    variant: str | None
    old_names: tuple[str, ...]
    kinds: tuple[str, ...]
    device: tuple[str, ...]
    arch: tuple[str, ...]
    device_features: tuple[str, ...]
    components: tuple[str, ...]
    toolkit: tuple[str, ...]
    phases: tuple[str, ...]
    companions: Mapping[str, str]
    pages: tuple[int, ...]
    any_page: bool
    emulated_pages: bool
    branching_pages: tuple[int, ...]
    kv: tuple[str, ...]
    topk: int | str | None
    topk_pages: tuple[int, ...]
    paged_topk: bool
    features: tuple[str, ...]
    deterministic: Mapping[str, str]
    graph: str
    needs: tuple[str, ...]
    engine: str | None
    target: str | None
    slow: str | None
    unconfirmed: tuple[str, ...]

    @property
    def name(self) -> str:
        """`provider`, or `provider (variant)`."""
        return f"{self.provider} ({self.variant})" if self.variant else self.provider


def entries(registry: Registry, op: str, wanted: Wanted) -> list[Entry]:
    """The rows of an op that are asked for, in the order of the catalogue."""
    return [entry(row) for row in registry.rows(op) if _shown(row, registry.aliases(op), wanted)]


def rules(registry: Registry, op: str, wanted: Wanted) -> list[Rule]:
    """The rules of an op that can speak of what is asked for, in order."""
    aliases = registry.aliases(op)
    providers = {aliases.get(name, name) for name in wanted.providers}
    return [
        rule
        for rule in registry.rules
        if rule.op == op
        and _can_hold(rule.when, wanted)
        and (not wanted.phases or not rule.phases or bool(set(rule.phases) & set(wanted.phases)))
        and (not providers or rule.propose is None or rule.propose in providers)
    ]


def fills(registry: Registry, op: str, wanted: Wanted) -> list[Fill]:
    """The rules that fill settings before an op or after it, where what is asked for can be, in order."""
    return [fill for fill in registry.fills if fill.after in (None, op) and _can_hold(fill.when, wanted)]


def entry(row: Implementation) -> Entry:
    """One implementation by columns."""
    requires = row.requires
    kinds = kv = ()
    topk: int | str | None = ANY
    topk_pages: tuple[int, ...] = ()
    paged_topk = True
    others = []
    for need in requires.needs:
        if need.fact == "model.kind" and not need.when and not isinstance(need.test, Mapping):
            kinds = _many(need.test)
        elif need.fact == "memory.kv_cache" and not need.when and not isinstance(need.test, Mapping):
            kv = tuple(dtype for dtype in _many(need.test) if dtype != "model")
        elif need.fact == "spec.active" and need.test is False and not need.when:
            topk = None
        elif need.fact == "spec.branches" and isinstance(need.test, Mapping) and "max" in need.test:
            if "model.kind" in need.when.data:
                paged_topk = False
            else:
                topk = need.test["max"]
                topk_pages = requires.branching_page_sizes or () if need.when else ()
        else:
            others.append(_sentence(need))
    return Entry(
        provider=row.provider,
        variant=row.variant,
        old_names=row.aliases,
        kinds=kinds,
        device=requires.device,
        arch=requires.arch,
        device_features=requires.device_features,
        components=requires.components,
        toolkit=requires.toolkit,
        phases=row.phases,
        companions=dict(row.companions),
        pages=requires.page_sizes or (),
        any_page=requires.any_page,
        emulated_pages=row.emulated_pages,
        branching_pages=() if topk_pages else requires.branching_page_sizes or (),
        kv=kv,
        topk=topk,
        topk_pages=topk_pages,
        paged_topk=paged_topk and topk == ANY,
        features=requires.features,
        deterministic={phase or "": level for phase, level in row.determinism.items() if level != "none"},
        graph=row.graph,
        needs=tuple(others),
        engine=row.engine if row.declared_only else None,
        target=row.target_name,
        slow=row.slow,
        unconfirmed=row.unconfirmed,
    )


def captured(entry: Entry) -> bool:
    """Whether a graph can hold it at all."""
    return entry.graph != NEVER


def _sentence(need: Need) -> str:
    return f"{need.condition}" + (f" where {need.when}" if need.when else "")


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _shown(row: Implementation, aliases: Mapping[str, str], wanted: Wanted) -> bool:
    names = {aliases.get(name, name) for name in wanted.providers}
    return (
        (not names or row.provider in names)
        and (not wanted.phases or bool(set(row.phases) & set(wanted.phases)))
        and (not wanted.devices or any(_fits(row, "platform.device", device) for device in wanted.devices))
        and (not wanted.kinds or any(_fits(row, "model.kind", kind) for kind in wanted.kinds))
    )


def _fits(row: Implementation, fact: str, value: str) -> bool:
    """Whether a row can run where a fact has a value: nothing that it needs whatever else holds speaks against it."""
    kind, allowed = row.allowed.get(fact, ("not", ()))
    return (value in allowed) is (kind == "in")


def _can_hold(when: Condition, wanted: Wanted) -> bool:
    for fact, values in (("platform.device", wanted.devices), ("model.kind", wanted.kinds)):
        if values and fact in when.data:
            test = Condition({fact: when.data[fact]})
            if not any(test.holds({fact: value}) for value in values):
                return False
    return True
