"""Every plan of a grid of over 5,000 points, judged by an oracle that reads the catalogue's rows and nothing else."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

import confbag.kernels
from confbag import Bag
from confbag.backends import Plan, Platform, Registry, make_plan
from confbag.backends.declare.catalogue import read

ROWS: list[dict[str, Any]] = read("attention.yaml")["rows"]
COMPONENTS: dict[str, Any] = read("components.yaml")
PROVIDERS = sorted({row["provider"] for row in ROWS})
PHASES = ("prefill", "decode", "draft")

PACKAGES = {"torch": "2.13.0", "triton": "3.6.0", "flashinfer-python": "0.7.2", "amd-aiter": "0.1.9"}
MACHINES = [
    ("cuda", "sm75", (), PACKAGES),
    ("cuda", "sm80", (), PACKAGES),
    ("cuda", "sm90", (), PACKAGES),
    ("cuda", "sm90", (), {"torch": "2.13.0"}),
    ("cuda", "sm100", (), PACKAGES),
    ("cuda", "sm120", (), PACKAGES),
    ("cuda", "sm130", (), PACKAGES),
    ("hip", "gfx942", (), PACKAGES),
    ("npu", "ascend910_93", (), {**PACKAGES, "torch-npu": "2.13.0"}),
    ("npu", "ascend910_93", (), PACKAGES),
    ("xpu", "pvc", ("xmx",), PACKAGES),
    ("xpu", "dg2", (), PACKAGES),
    ("musa", "mp31", (), PACKAGES),
    ("mps", "apple", (), PACKAGES),
    ("cpu", "x86_64", ("amx",), PACKAGES),
    ("cpu", "aarch64", (), PACKAGES),
]


@dataclass(frozen=True)
class Asked:
    """The settings of one bag: a point of the grid without its machine."""

    kind: str
    deterministic: bool
    topk: int | None
    page: int | str
    kv: str
    prefill: str = "auto"
    decode: str = "auto"

    def settings(self) -> dict[str, Any]:
        speculation = {} if self.topk is None else {"spec.algorithm": "EAGLE", "spec.topk": self.topk}
        return {
            "model.kind": self.kind,
            "exec.deterministic": self.deterministic,
            "memory.page_size": self.page,
            "memory.kv_cache_dtype": self.kv,
            "exec.attention.prefill": self.prefill,
            "exec.attention.decode": self.decode,
            **speculation,
        }

    @property
    def used(self) -> tuple[str, ...]:
        return PHASES if self.topk is not None else PHASES[:2]

    def named(self, phase: str) -> str:
        return {"prefill": self.prefill, "decode": self.decode}.get(phase, "auto")


def points(machines: Sequence[Platform]) -> Iterator[tuple[Asked, Platform]]:
    """With backends chosen, with one named that fits the model and the device, and with two named apart."""
    turn = itertools.count()
    grid = itertools.product(
        ("mha", "mla", "dsa", "dsv4"), (False, True), (None, 1, 4), ("auto", 16, 64), ("auto", "fp8_e4m3"), machines
    )
    for kind, deterministic, topk, page, kv, machine in grid:
        asked = Asked(kind, deterministic, topk, page, kv)
        here = [row for row in ROWS if kind in row["kind"] and machine.device in row.get("device", [machine.device])]
        fitting = sorted({row["provider"] for row in here}) or PROVIDERS
        one, other = fitting[next(turn) % len(fitting)], fitting[next(turn) % len(fitting)]
        yield asked, machine
        yield replace(asked, prefill=one, decode=one), machine
        another = PROVIDERS[next(turn) % len(PROVIDERS)] if page == 16 else one
        yield replace(asked, prefill=other, decode=another, kv="fp4_e2m1" if page == 64 else kv), machine


# The oracle


def violations(row: Mapping[str, Any], phase: str, asked: Asked, machine: Platform, page: int | None) -> list[str]:
    """The columns of a row that say that it cannot run one phase here; page: None where no size is known yet."""
    branches = 0 if asked.topk is None else asked.topk
    absorbed = asked.kind == "mla"  # without an architecture
    facts = {
        "platform.device": machine.device,
        "platform.arch": machine.arch,
        "model.absorbed_mla": absorbed,
        "memory.kv_cache": "model" if asked.kv == "auto" else asked.kv,
        "memory.state_dtype": "float32",
        "model.kv_heads_per_rank": None,
        "phase": phase,
    }
    asked_page = None if asked.page == "auto" else int(asked.page)
    branched = row.get("branching_pages") if branches > 1 else None
    sizes = branched or (row.get("topk_pages") if branches > 1 else None) or row["pages"]["sizes"]
    own = row["pages"]["sizes"]
    any_page = sizes is own and (row["pages"].get("any", False) or row["pages"].get("emulated", False))
    held = {
        "kind": asked.kind in row["kind"],
        "device": machine.device in row.get("device", [machine.device]),
        "arch": machine.arch in row.get("arch", [machine.arch]),
        "device_features": set(row.get("device_features", ())) <= machine.features,
        "components": all(_installed(name, machine) for name in row.get("components", ())),
        "phases": phase in row["phases"],
        "kv": asked.kv in ("auto", *row.get("kv", ())),
        "deterministic": not asked.deterministic or phase in row.get("deterministic", ()),
        "pages": page is None or any_page or page in sizes,
        "topk": _takes(row, branches, asked_page),
        "needs": all(_met(need, facts) for need in row.get("needs", ())),
    }
    return [column for column, holds in held.items() if not holds]


def _installed(component: str, machine: Platform) -> bool:
    name = component.partition(">")[0]
    known = COMPONENTS.get(name, {"distributions": {name: "any"}})["distributions"]
    brings = [one for one, devices in known.items() if devices == "any" or machine.device in devices]
    return any(one in (machine.packages or {}) for one in brings)


def _takes(row: Mapping[str, Any], branches: int, page: int | None) -> bool:
    topk = row.get("topk", "any")
    if topk == "none":
        return branches == 0
    paged = page is not None and page > 1
    if topk == "any":
        return branches <= 1 or not paged or row.get("paged_topk", False) or "mha" not in row["kind"]
    return branches <= topk or ("topk_pages" in row and not paged)


def _met(need: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    if any(facts[fact] not in _list(value) for fact, value in need.get("when", {}).items()):
        return True
    actual, test = facts[need["fact"]], need["test"]
    if actual is None:
        return True
    return actual not in _list(test["not"]) if isinstance(test, dict) else actual in _list(test)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def rows_of(provider: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["provider"] == provider]


# The grid


def ours() -> Registry:
    """A registry that holds what we ship."""
    registry = Registry()
    confbag.kernels.register(registry)
    return registry


@pytest.fixture(scope="module")
def shuffled() -> Registry:
    """The same rows, each op's in another order; the rules, whose order is their meaning, as they are."""
    registry, shuffler = ours(), random.Random(7)
    for rows in registry._rows.values():
        shuffler.shuffle(rows)
    return registry


@pytest.mark.parametrize("share", range(4))
def test_every_plan_satisfies_what_was_declared(
    share: int, bag_of: Callable[..., Bag], shuffled: Registry, record_property: Callable[[str, object], None]
) -> None:
    registry = ours()
    machines = [
        Platform(device=device, arch=arch, features=frozenset(features), packages=packages, toolkit={"cuda": "13.0"})
        for device, arch, features, packages in MACHINES
    ]
    seen: Counter[str] = Counter()
    bags: dict[Asked, Bag] = {}
    every = list(points(machines))
    assert len(every) > 5000
    for number, (asked, machine) in enumerate(every[share::4]):
        bag = bags.get(asked) or bags.setdefault(asked, bag_of(**asked.settings()))
        plan = make_plan(bag, machine, registry=registry)
        seen["refused" if plan.faults else "satisfied"] += 1
        _judge(plan, asked, machine, registry, number % 3 == 0)
        if number % 9 == 0:
            _same(plan, make_plan(bag, machine, registry=shuffled))
    assert min(seen["satisfied"], seen["refused"]) > 200, seen
    record_property("note", f"grid, share {share}: {seen['satisfied']} plans, {seen['refused']} refused with reasons")


def _judge(plan: Plan, asked: Asked, machine: Platform, registry: Registry, every: bool) -> None:
    """every: look at the rejections of every op, and not only at those of attention."""
    used = [binding for binding in plan.bindings if binding.op == "attention" and binding.used]
    assert [binding.phase for binding in used] == list(asked.used)
    for binding in plan.bindings:
        if binding.used and (binding.op == "attention" or every):
            rejected = {reason.provider for reason in binding.rejected}
            assert rejected == set(registry.providers(binding.op)) - {binding.provider}
    page = None if plan.faults else plan.bag["memory.page_size"]
    if asked.page != "auto":
        assert page in (None, asked.page)
    for binding in used:
        assert binding.phase is not None
        named = asked.named(binding.phase)
        if binding.provider is not None:
            (row,) = [row for row in rows_of(binding.provider) if row.get("variant") == binding.variant]
            broken = violations(row, binding.phase, asked, machine, page if asked.page == "auto" else int(asked.page))
            assert not broken, (asked, machine.name, binding.slot, binding.provider, broken)
            assert named in ("auto", binding.provider)
        elif binding.phase != "draft":
            # What was refused cannot run by what its rows say; nor, where none was named, can what every list of
            # backends ends with (sglang#11801: deterministic without a backend crashed).
            asked_page = None if asked.page == "auto" else int(asked.page)
            last = [*rows_of("triton"), *rows_of("torch_native")]
            rows = rows_of(named) if named != "auto" else last
            free = [row for row in rows if not violations(row, binding.phase, asked, machine, asked_page)]
            assert not free, (asked, machine.name, binding.slot, free)
            assert named == "auto" or any(fault.provider == named for fault in plan.faults)
    if plan.faults:
        assert plan.fingerprint() is None
        assert all(fault.code and str(fault) for fault in plan.faults)


def _same(plan: Plan, other: Plan) -> None:
    assert plan.fingerprint() == other.fingerprint()
    assert plan.faults == other.faults
    for one, another in zip(plan.bindings, other.bindings, strict=True):
        assert (one.slot, one.provider, one.variant, one.rule) == (
            another.slot,
            another.provider,
            another.variant,
            another.rule,
        )
        assert one.rejected == another.rejected
