"""What must not change a plan, and what must: relations between plans, on random registries and settings.

Nobody says what a plan is here, only how two of them are related.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confbag.kernels
from confbag import ConfigError, load
from confbag.backends import (
    ALWAYS,
    BATCH_INVARIANT,
    NEVER,
    PIECEWISE,
    Need,
    Op,
    Plan,
    Platform,
    Registry,
    Requires,
    make_plan,
)
from confbag.backends.compare.diff import diff
from confbag.backends.compare.lock import Lock
from confbag.backends.compare.lock_file import parse_lock
from confbag.backends.render import story
from confbag.backends.words.rejection import Rejection

OPS = ("demo.one", "demo.two")
DEVICES = ("cuda", "npu", "cpu")
ARCHES = {"cuda": ("sm80", "sm90"), "npu": ("ascend910b",), "cpu": ("x86_64",)}
PACKAGES = ("torch", "triton", "acme")
LEVELS = (NEVER, PIECEWISE, ALWAYS)


def one(x: int) -> int:
    """Any."""
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class World:
    """A registry's rows and rules as data, settings, and a machine."""

    rows: tuple[tuple[str, str, Mapping[str, Any]], ...]
    rules: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]
    platform: Platform

    def registry(self, shuffled: random.Random | None = None, more: tuple[Any, ...] = ()) -> Registry:
        made = Registry()
        rows = [*self.rows, *more]
        if shuffled is not None:
            shuffled.shuffle(rows)
        for name in OPS:
            op = Op(name, one, phases=("prefill", "decode") if name == "demo.one" else ())
            op.implement("reference", "a:reference", graph=ALWAYS, determinism=BATCH_INVARIANT)
            made.add(op)
        for op_name, provider, row in rows:
            made.implement(op_name, provider, f"a:{provider}", **row)
        for rule in self.rules:
            made.rule(**rule)
        return made

    def plan(self, registry: Registry | None = None, **changed: Any) -> Plan:
        bag = load({**self.settings, **changed}, env={})
        return make_plan(bag, self.platform, registry=registry or self.registry())


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any few rows and rules; every priority is its own, as the registry asks."""
    rows: list[tuple[str, str, Mapping[str, Any]]] = []
    ranks = draw(st.permutations(range(1, 9)))
    for number in range(draw(st.integers(1, 6))):
        devices = draw(st.lists(st.sampled_from(DEVICES), max_size=2, unique=True))
        sizes = draw(st.sampled_from([None, (16, 32), (64,), (1,)]))
        mla = Need("model.kind", "mla", "feature")
        few = Need("parallel.tp_size", {"max": 2}, "topology")
        needs = draw(st.sampled_from([(), (mla,), (few,)]))
        requires = Requires(
            device=devices,
            arch=draw(st.sampled_from([(), ("sm90",)])) if devices == ["cuda"] else (),
            components=draw(st.sampled_from([(), ("triton>=3.0",), ("acme",)])),
            toolkit=draw(st.sampled_from([(), ("cuda>=12.3",)])),
            page_sizes=sizes,
            needs=needs,
        )
        row = {
            "requires": requires,
            "priority": ranks[number],
            "graph": draw(st.sampled_from(LEVELS)),
            "determinism": draw(st.sampled_from(["none", "batch_invariant"])),
        }
        rows.append((draw(st.sampled_from(OPS)), f"p{number}", row))
    named = [(op, provider) for op, provider, _ in rows]
    rules = []
    for number, (op, provider) in enumerate(draw(st.lists(st.sampled_from(named), max_size=3, unique=True))):
        when = draw(st.sampled_from([{}, {"platform.device": "cuda"}, {"model.kind": "mla"}]))
        rules.append({"name": f"r{number}", "op": op, "propose": provider, "when": when})
    given_: dict[str, Any] = {
        "model.kind": draw(st.sampled_from(["mha", "mla"])),
        "parallel.tp_size": draw(st.sampled_from([1, 4])),
        "memory.page_size": draw(st.sampled_from(["auto", 16, 64])),
        "exec.graph": draw(st.sampled_from(["auto", False, True, "full"])),
        "exec.deterministic": draw(st.booleans()),
        "exec.kernels.fallback": draw(st.sampled_from(["auto", "allow", "warn", "error"])),
        "exec.sampling_backend": "pytorch",
    }
    device = draw(st.sampled_from(DEVICES))
    platform = Platform(
        device,
        draw(st.sampled_from(ARCHES[device])),
        toolkit={"cuda": draw(st.sampled_from(["11.8", "12.8"]))} if device == "cuda" else {},
        packages=dict.fromkeys(draw(st.lists(st.sampled_from(PACKAGES), unique=True)), "3.6.0"),
    )
    return World(tuple(rows), tuple(rules), given_, platform)


def decided(plan: Plan) -> list[Any]:
    """What runs, with every reason against the others."""
    return [
        (binding.slot, binding.provider, binding.rule, sorted(map(str, binding.rejected))) for binding in plan.bindings
    ]


def runs(plan: Plan) -> dict[str, str | None]:
    return {binding.slot: binding.provider for binding in plan.bindings}


@settings(max_examples=150)
@given(worlds(), st.sampled_from(OPS))
def test_an_irrelevant_row_changes_nothing(world: World, op: str) -> None:
    """One that nobody proposes, on a device that is not this one."""
    elsewhere = next(device for device in DEVICES if device != world.platform.device)
    more = (op, "stranger", {"requires": Requires(device=(elsewhere,)), "graph": ALWAYS})
    before, after = world.plan(), world.plan(world.registry(more=(more,)))
    assert runs(before) == runs(after)
    assert before.fingerprint() == after.fingerprint()
    assert list(map(str, before.faults)) == list(map(str, after.faults))
    assert before.warnings == after.warnings
    for one_, other in zip(before.bindings, after.bindings, strict=True):
        strangers = [no for no in other.rejected if no.provider == "stranger"]
        assert [str(no) for no in other.rejected if no.provider != "stranger"] == list(map(str, one_.rejected))
        assert [no.code for no in strangers[:1]] == (["device"] if one_.op == op else [])


@settings(max_examples=150)
@given(worlds())
def test_pinning_what_was_chosen_gives_the_same_plan(world: World) -> None:
    plan = world.plan()
    pins = {binding.slot: binding.provider for binding in plan.bindings if binding.members}
    if plan.faults or not pins:
        return
    pinned = world.plan(**{"exec.kernels.pin": pins})
    assert runs(pinned) == runs(plan)
    assert not pinned.faults
    assert [(b.variant, b.target, b.used) for b in pinned.bindings] == [
        (b.variant, b.target, b.used) for b in plan.bindings
    ]
    own = {"exec.kernels.pin"}
    assert {key: value for key, value in pinned.bag.values().items() if key not in own} == {
        key: value for key, value in plan.bag.values().items() if key not in own
    }
    assert {binding.rule for binding in pinned.bindings} == {"pin"}


@settings(max_examples=100)
@given(worlds(), st.integers(0, 2**16))
def test_the_order_of_registration_does_not_matter(world: World, seed: int) -> None:
    one_, other = world.plan(), world.plan(world.registry(shuffled=random.Random(seed)))
    assert decided(one_) == decided(other)
    assert one_.fingerprint() == other.fingerprint()
    assert sorted(map(str, one_.faults)) == sorted(map(str, other.faults))


@settings(max_examples=300)
@given(worlds())
def test_a_rejection_whose_cause_is_removed_is_gone(world: World) -> None:
    """Mend what a first reason names, and nothing else: that reason is not there any more."""
    plan = world.plan()
    for binding in plan.bindings:
        for no in binding.first_rejections():
            mended = mend(world, no)
            if mended is None:
                continue
            registry = world.registry()
            after = next(each for each in mended.plan(registry).bindings if each.slot == binding.slot)
            left = [each for each in after.rejected if each.provider == no.provider]
            assert (no.code, no.field) not in [(each.code, each.field) for each in left], (no, mended)


def mend(world: World, no: Rejection) -> World | None:
    """The same world without the cause that a rejection names."""
    platform, given_ = world.platform, dict(world.settings)
    required = no.required[0] if isinstance(no.required, (list, tuple)) and no.required else no.required
    if no.code == "device":
        platform = dataclasses.replace(platform, device=required, arch=ARCHES[required][0])
    elif no.code == "arch":
        platform = dataclasses.replace(platform, arch=required)
    elif no.code == "package-missing":
        brings = (no.hint or f"install {no.field}").removeprefix("install ").split(" or ")[0]
        platform = dataclasses.replace(platform, packages={**(platform.packages or {}), brings: "3.6.0"})
    elif no.code == "toolchain":
        platform = dataclasses.replace(platform, toolkit={**platform.toolkit, no.field: "13.0"})
    elif no.code == "page-size":
        given_["memory.page_size"] = required
    elif no.code == "feature":
        given_[no.field] = required
    elif no.code == "topology":
        given_[no.field] = 1
    elif no.code == "determinism":
        given_["exec.deterministic"] = False
    elif no.code == "graph":
        given_["exec.graph"] = False
    else:
        return None
    return dataclasses.replace(world, settings=given_, platform=platform)


@settings(max_examples=100)
@given(worlds())
def test_why_agrees_with_the_plan_and_its_lock_comes_back(world: World) -> None:
    plan = world.plan()
    for binding in plan.bindings:
        told = story.op_story(plan, [binding])
        assert told.splitlines()[0] == f"{binding.slot}: {binding.provider or 'nothing'}"
        for no in binding.first_rejections():
            assert str(no.provider) in told
    if not plan.faults:
        lock = parse_lock(Lock.of(plan).text().encode(), "x.lock")
        assert lock == Lock.of(plan)
        assert diff(lock, plan).same
        assert diff(plan, lock).same


@settings(max_examples=100)
@given(worlds(), st.data())
def test_no_name_that_is_wrong_is_planned(world: World, data: st.DataObject) -> None:
    key, value = data.draw(
        st.sampled_from(
            [
                ("exec.kernels.pin", {"demo.one": "nobody"}),
                ("exec.kernels.pin", {"demo.none": "reference"}),
                ("exec.kernels.pin", {"demo.two@decode": "reference"}),
                ("exec.kernels.prefer", ["nobody"]),
                ("exec.kernels.prefer", {"demo.one": ["nobody"]}),
                ("exec.kernels.reference_only", ["demo.none"]),
            ]
        )
    )
    with pytest.raises(ConfigError) as caught:
        world.plan(**{key: value})
    assert [fault.key for fault in caught.value.faults] == [key]


@given(st.sampled_from(["cuda:sm90", "npu:ascend910_93", "cpu:x86_64"]), st.booleans())
@settings(max_examples=6)
def test_an_op_of_somebody_elses_changes_no_decision_of_ours(name: str, deterministic: bool) -> None:
    plain, more = Registry(), Registry()
    for made in (plain, more):
        confbag.kernels.register(made)
    other = Op("acme.other", one)
    other.implement("reference", "a:b", graph=ALWAYS, determinism=BATCH_INVARIANT)
    more.add(other)
    bag = load({"exec.deterministic": deterministic}, env={})
    ours, theirs = (make_plan(bag, name, registry=made) for made in (plain, more))
    assert decided(ours) == [row for row in decided(theirs) if row[0] != "acme.other"]


def test_the_hash_seed_does_not_matter() -> None:
    program = (
        "import json; from confbag import load; from confbag.backends import make_plan\n"
        "asked = {'spec.algorithm': 'EAGLE', 'exec.kernels.prefer': {'attention': ['triton']}}\n"
        "plan = make_plan(load(asked, env={}), 'cuda:sm90')\n"
        "data = plan.to_dict(all=True); data['platform'] = None; print(plan.fingerprint(), json.dumps(data))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (0, 1, 4711)
    }
    assert len(printed) == 1
    assert json.loads(printed.pop().partition(" ")[2])["schema_version"] == 2


def test_rows_of_every_kind_are_drawn() -> None:
    """What is compared is no empty set."""
    seen: set[str] = set()

    @settings(max_examples=200, database=None, derandomize=True)
    @given(worlds())
    def look(world: World) -> None:
        plan = world.plan()
        seen.update(no.code for binding in plan.bindings for no in binding.rejected)
        seen.add("faults" if plan.faults else "satisfied")

    look()
    assert {"device", "arch", "package-missing", "toolchain", "page-size", "feature", "topology", "determinism"} <= seen
    assert {"graph", "lower-priority", "faults", "satisfied"} <= seen
