"""Diffs of plans and locks: what is decided differently, why, and nothing else."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

import confbag.kernels
from confbag import Config, Secret, load
from confbag.backends import ALWAYS, Op, Platform, Registry, make_plan
from confbag.backends.compare.diff import BindingChange, Diff, diff
from confbag.backends.compare.lock import Lock
from confbag.backends.compare.lock_file import parse_lock
from confbag.backends.compare.sides import Decided
from confbag.backends.decide.plan import Plan
from confbag.backends.render import diff as table
from confbag.backends.render import diff_json
from confbag.namespaces.fields import Namespace

MakePlan = Callable[..., Plan]


class Acme(Namespace):
    """An engine's own namespace."""

    token: Secret | None = None
    note: str = ""


class AcmeConfig(Config):
    """A schema with it."""

    acme: Acme = Field(default_factory=Acme)


@pytest.fixture
def plan_of(registry: Registry) -> MakePlan:
    """A plan of dotted settings, for Hopper unless said."""

    def make(platform: str | Platform = "cuda:sm90", **given: Any) -> Plan:
        where = Platform.known(platform) if isinstance(platform, str) else platform
        return make_plan(load(env={}, schema=AcmeConfig, overrides=given), where, registry=registry)

    return make


def changed(found: Diff, slot: str) -> BindingChange:
    """The change of one slot."""
    (change,) = (change for change in found.bindings if change.slot == slot)
    return change


def ran(decided: Decided) -> tuple[str | None, str | None]:
    """The one provider that runs, and the name of what decided."""
    runs = decided.runs[0] if decided.runs else None
    return (None, None) if runs is None else (runs.provider, runs.decider.name)


def test_two_platforms(plan_of: MakePlan) -> None:
    found = plan_of(**{"model.kind": "mla"}).diff(plan_of("cuda:sm80", **{"model.kind": "mla"}))
    change = changed(found, "attention@decode")
    assert (*ran(change.a), change.a.runs[0].variant) == ("fa3", "mla-hopper", "mla")
    assert ran(change.b) == ("triton", "mla-general")
    assert change.against_a is not None
    assert (change.against_a.code, change.against_a.field, change.against_a.actual) == ("arch", "platform.arch", "sm80")
    assert change.because == ("platform.arch",)
    assert [fact.name for fact in found.platform] == ["platform.arch"]
    assert not found.same


def test_two_configurations(plan_of: MakePlan) -> None:
    found = plan_of("cuda:sm120").diff(plan_of("cuda:sm120", **{"exec.deterministic": True, "parallel.tp_size": 2}))
    change = changed(found, "attention@decode")
    assert ran(change.a)[0] == "flashinfer"
    assert ran(change.b) == ("flashinfer", "deterministic-blackwell-mha")
    assert change.because == ("exec.deterministic",)
    assert (change.against_a, change.against_b) == (None, None)
    asked = {change.name: change for change in found.settings if change.asked}
    assert set(asked) == {"exec.deterministic", "parallel.tp_size"}
    assert asked["exec.deterministic"].a is not None
    assert asked["exec.deterministic"].b is not None
    assert (asked["exec.deterministic"].a.value, asked["exec.deterministic"].a.origin) == (False, "default")
    assert (asked["exec.deterministic"].b.value, asked["exec.deterministic"].b.origin) == (True, "override load")
    filled = {change.name: change for change in found.settings if not change.asked}
    assert filled["memory.radix_cache"].b is not None
    assert filled["memory.radix_cache"].b.origin == "rule deterministic-radix-cache"
    assert ("NCCL_ALGO", None, "allreduce:tree") in {(each.name, each.a, each.b) for each in found.environment}
    assert found.platform == ()


def test_a_named_provider_and_one_that_a_rule_chose_differ_in_what_decided(plan_of: MakePlan) -> None:
    chosen = plan_of()["attention@decode"].provider
    found = plan_of().diff(plan_of(**{"exec.attention.decode": chosen}))
    change = changed(found, "attention@decode")
    assert (ran(change.a)[0], ran(change.b)) == (chosen, (chosen, "setting"))
    assert "exec.attention.decode" in change.because


def test_an_op_that_one_side_does_not_use(plan_of: MakePlan) -> None:
    found = plan_of().diff(plan_of(**{"spec.algorithm": "EAGLE", "spec.topk": 1}))
    change = changed(found, "speculative.draft_extend_fill")
    assert change.a.used is False
    assert change.a.skipped_because == "spec.algorithm is none"
    assert ran(change.b)[0] == "triton"
    assert "spec.algorithm" in change.because
    assert ran(changed(found, "attention@draft").b)[1] == "draft-follows-prefill"


def test_a_decision_that_follows_another_names_it(plan_of: MakePlan) -> None:
    found = plan_of().diff(plan_of(**{"exec.attention.backend": "torch_native", "exec.graph": False}))
    change = changed(found, "kvcache.last_loc")
    assert (ran(change.a)[1], ran(change.b)[1]) == ("last-loc-triton", "last-loc-plain-attention")
    assert set(change.because) >= {"attention@decode", "attention@prefill"}


def test_a_version_that_keeps_a_provider_out_is_the_reason(plan_of: MakePlan, machine: Callable[..., Platform]) -> None:
    old, new = (
        machine("cuda", "sm90", toolkit={"cuda": cuda}, packages={"torch": "2.14.1", "triton": "3.6.0"})
        for cuda in ("12.1", "13.0")
    )
    change = changed(plan_of(old).diff(plan_of(new)), "attention@decode")
    assert ran(change.b)[0] == "fa3"
    assert "platform.toolkit.cuda" in change.because
    none, some = (machine("cuda", "sm90", packages={"torch": "2.14.1", **extra}) for extra in ({}, {"triton": "3.6.0"}))
    change = changed(plan_of(none).diff(plan_of(some)), "kvcache.last_loc")
    assert change.against_b is not None
    assert change.against_b.code == "package-missing"
    assert "platform.packages.triton" in change.because


def test_a_side_that_nothing_satisfies(plan_of: MakePlan) -> None:
    found = plan_of("npu:ascend910_93").diff(plan_of("npu:ascend910_93", **{"exec.attention.decode": "fa3"}))
    change = changed(found, "attention@decode")
    assert (ran(change.a)[0], change.b.used, change.b.runs) == ("ascend", True, ())
    assert [fault.provider for fault in found.b.faults] == ["fa3"]
    assert (found.a.faults, found.b.fingerprint, found.same) == ((), None, False)
    undecided = {change.name for change in found.settings if change.b is None}
    assert undecided == set(), "what no rule reached is no difference"
    again = plan_of("npu:ascend910_93", **{"exec.attention.decode": "fa3"})
    assert again.diff(again).same


def test_versions_and_counts_are_shown_and_decide_nothing(plan_of: MakePlan, machine: Callable[..., Platform]) -> None:
    found = plan_of(machine("cuda", "sm90", count=8)).diff(plan_of(machine("cuda", "sm90", count=4)))
    assert found.same
    assert [(fact.name, fact.a.value, fact.b.value) for fact in found.platform if fact.a and fact.b] == [
        ("platform.count", 8, 4)
    ]


def test_measured_and_assumed_is_a_note_and_no_difference(plan_of: MakePlan) -> None:
    known = Platform.known("cuda:sm90")
    measured = dataclasses.replace(known, assumed=frozenset(), name="")
    found = plan_of(known).diff(plan_of(measured))
    assert found.same
    assert [(change.name, change.b) for change in found.assumed] == [("kvcache.last_loc", None)]
    assert Lock.of(plan_of(known)) != Lock.of(plan_of(measured))
    assert diff(Lock.of(plan_of(known)), plan_of(measured)).same
    assert "ASSUMED ON ONE SIDE ONLY" in table.render(found)


def test_a_plan_is_the_same_as_its_lock(plan_of: MakePlan) -> None:
    for platform in ("cuda:sm90", "npu:ascend910_93", "hip:gfx942", "xpu:bmg", "cpu:x86_64_amx"):
        given = {"model.path": "/a", "spec.algorithm": "EAGLE", "spec.topk": 1, "parallel.num_nodes": 2}
        plan = plan_of(platform, **given)
        if plan.faults:
            plan = plan_of(platform)
        lock = parse_lock(Lock.of(plan).text().encode(), "x.lock")
        for found in (plan.diff(lock), diff(lock, plan), diff(lock, lock), plan.diff(plan)):
            assert found.same
            assert (found.bindings, found.settings, found.environment, found.libraries, found.platform) == ((),) * 5


def test_a_lock_and_a_plan(plan_of: MakePlan) -> None:
    lock = parse_lock(Lock.of(plan_of(**{"model.kind": "mla"})).text().encode(), "x.lock")
    found = diff(lock, plan_of("cuda:sm80", **{"model.kind": "mla", "parallel.tp_size": 2}))
    change = changed(found, "attention@prefill")
    assert change.against_a is not None
    assert change.against_a.code == "arch"
    assert change.because == ("platform.arch",)
    (asked,) = (change for change in found.settings if change.asked)
    assert (asked.name, asked.a and asked.a.value, asked.b and asked.b.value) == ("parallel.tp_size", 1, 2)
    other = diff(plan_of(**{"model.kind": "mha"}), lock)
    assert [change.b.origin for change in other.settings if change.name == "model.kind" and change.b] == ["x.lock:13"]


def test_two_locks(plan_of: MakePlan) -> None:
    one, other = (Lock.of(plan_of(**given)) for given in ({}, {"exec.deterministic": True, "exec.compile": True}))
    found = diff(one, other)
    assert {change.name for change in found.settings if change.asked} == {"exec.deterministic", "exec.compile"}
    assert all("exec.deterministic" in change.because for change in found.bindings)
    assert found.a.kind == found.b.kind == "lock"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("provider: fa3, rule: mha-hopper", "provider: fa4, rule: mha-hopper", "bindings"),
        ("rule: mha-hopper,", "rule: another,", "bindings"),
        ("engine: sglang", "engine: vllm", "bindings"),
        ("triton:last_loc", "triton:other", "bindings"),
        ("exec.graph: {value: true", "exec.graph: {value: false", "settings"),
        ("filled:\n", "asked:\n  exec.compile: true\nfilled:\n", "settings"),
        ("filled:\n", "asked:\n  gone.key: 1\nfilled:\n", "settings"),
        ("filled:\n", "environment:\n  NCCL_ALGO: Ring\nfilled:\n", "environment"),
        ("filled:\n", "libraries:\n  acme: [x]\nfilled:\n", "libraries"),
        ("platform: cuda:sm90", "platform: cuda:sm80", "platform"),
        ("assumed: [packages", "features: [xmx]\nassumed: [packages", "platform"),
    ],
)
def test_every_part_of_a_lock_counts(plan_of: MakePlan, old: str, new: str, where: str) -> None:
    plan = plan_of()
    text = Lock.of(plan).text()
    assert old in text
    found = diff(parse_lock(text.replace(old, new, 1).encode(), "x.lock"), plan)
    assert not found.same
    assert {
        part for part in ("bindings", "settings", "environment", "libraries", "platform") if getattr(found, part)
    } == {where}


@pytest.fixture(scope="module")
def ours() -> Registry:
    """Our registry, once."""
    made = Registry()
    confbag.kernels.register(made)
    return made


CHOICES = {
    "model.kind": ["mha", "mla", "dsv4"],
    "exec.deterministic": [True, False],
    "exec.attention.decode": ["auto", "triton", "fa3"],
    "spec.algorithm": ["none", "EAGLE"],
    "memory.page_size": ["auto", 64, 128],
    "parallel.tp_size": [1, 4],
}
sources = st.tuples(
    st.fixed_dictionaries({key: st.sampled_from(values) for key, values in CHOICES.items()}),
    st.sampled_from(["cuda:sm90", "cuda:sm80", "npu:ascend910_93", "cpu:x86_64"]),
    st.booleans(),
)


@settings(max_examples=60)
@given(sources, sources)
def test_a_diff_is_whole_and_has_two_directions(ours: Registry, one: Any, other: Any) -> None:
    sides: list[Plan | Lock] = []
    for given_, platform, as_lock in (one, other):
        plan = make_plan(load(env={}, overrides=given_), Platform.known(platform), registry=ours)
        sides.append(Lock.of(plan) if as_lock and not plan.faults else plan)
    found, back = diff(*sides), diff(*reversed(sides))
    assert found.same is back.same
    assert [(c.slot, c.a, c.b) for c in found.bindings] == [(c.slot, c.b, c.a) for c in back.bindings] or (
        isinstance(sides[0], Plan) is isinstance(sides[1], Plan)
    )
    assert {(c.slot, c.a, c.b) for c in found.bindings} == {(c.slot, c.b, c.a) for c in back.bindings}
    assert {(c.name, c.a, c.b) for c in found.environment} == {(c.name, c.b, c.a) for c in back.environment}
    if all(isinstance(side, Plan) for side in sides):
        prints = [side.fingerprint() for side in sides if isinstance(side, Plan)]
        if found.same and None not in prints:
            assert prints[0] == prints[1]
        if None not in prints and prints[0] != prints[1]:
            assert not found.same
    told = table.render(found)
    assert all(len(line) <= 80 and line == line.rstrip() for line in told.splitlines())
    assert told.startswith("A  ")
    for change in found.bindings:
        assert change.slot in told
        if change.a.runs and change.b.runs:
            assert change.because or change.against_a or change.against_b, change.slot
    data = found.to_dict()
    assert data == json.loads(diff_json.render(found))
    assert data["same"] is found.same
    assert [f"{b['op']}@{b['phase']}" if b["phase"] else b["op"] for b in data["bindings"]] == [
        change.slot for change in found.bindings
    ]


class Net(Namespace):
    """An engine's own, with sites."""

    layers: int = 6


class NetConfig(Config):
    """A schema with it."""

    net: Net = Field(default_factory=Net)


def _mix(x: int) -> int:
    """Any number."""
    raise NotImplementedError


def test_sites_that_are_decided_apart() -> None:
    made = Registry(NetConfig)
    op = Op("acme.mix", _mix, phases=("prefill", "decode"), sites="net.layers")
    op.implement("reference", "acme:mix", graph=ALWAYS)
    op.implement("fast", "acme:fast", priority=5, graph=ALWAYS)
    made.add(op)

    def plan(**pins: str) -> Plan:
        bag = load(env={}, schema=NetConfig, overrides={"exec.kernels.pin": pins})
        return make_plan(bag, Platform("cpu", "x86_64", packages={}), registry=made)

    whole, parts = plan(), plan(**{"acme.mix@decode/0-1+5": "reference"})
    held = parse_lock(Lock.of(parts).text().encode(), "x.lock")
    assert list(held.ops) == ["acme.mix@prefill", "acme.mix@decode/0-1+5", "acme.mix@decode/2-4"]
    assert diff(held, parts).same
    for found in (diff(whole, parts), diff(whole, held)):
        (change,) = found.bindings
        assert change.slot == "acme.mix@decode/0-1+5"
        assert (ran(change.a)[0], ran(change.b)[0]) == ("fast", "reference")
        assert change.because == ("exec.kernels.pin",)
        assert found.to_dict()["bindings"][0]["site"] == "0-1+5"
    other = diff(parts, plan(**{"acme.mix@decode/0-2": "reference"}))
    assert not other.same
    assert {change.slot: (ran(change.a)[0], ran(change.b)[0]) for change in other.bindings} == {
        "acme.mix@decode/2": ("fast", "reference"),
        "acme.mix@decode/5": ("reference", "fast"),
    }


def test_json_says_both_sides_of_everything(plan_of: MakePlan) -> None:
    found = plan_of().diff(plan_of("npu:ascend910_93", **{"exec.deterministic": True})).to_dict()
    assert found["schema_version"] == 2
    assert set(found) == {
        "schema_version",
        "same",
        "a",
        "b",
        "bindings",
        "settings",
        "environment",
        "libraries",
        "platform",
        "assumed",
    }
    assert found["a"]["name"] == "defaults only on cuda:sm90"
    assert found["b"]["kind"] == "plan"
    decode = next(entry for entry in found["bindings"] if entry["phase"] == "decode")
    assert decode["against_a"]["field"] == "platform.device"
    assert set(decode["a"]) == set(decode["b"])
    entry = next(entry for entry in found["settings"] if entry["name"] == "exec.deterministic")
    assert entry == {
        "name": "exec.deterministic",
        "a": {"value": False, "origin": "default"},
        "b": {"value": True, "origin": "override load"},
    }
    assert {
        "name": "platform.device",
        "a": {"value": "cuda", "assumed": False},
        "b": {"value": "npu", "assumed": False},
    } in (found["platform"])


def test_a_secret_is_in_no_diff(plan_of: MakePlan) -> None:
    found = plan_of(**{"acme.token": "hunter2"}).diff(plan_of(**{"acme.token": "other", "acme.note": "\x1b[31m"}))
    assert [change.name for change in found.settings] == ["acme.note"]
    told = table.render(found) + diff_json.render(found) + repr(found)
    assert "hunter2" not in told
    assert "\x1b" not in told


def test_a_diff_cannot_be_changed(plan_of: MakePlan) -> None:
    found = plan_of().diff(plan_of("cuda:sm80"))
    for thing, name in itertools.product((found, found.a, found.bindings[0], found.settings[0]), ("a", "name")):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(thing, name, None)
    with pytest.raises(TypeError):
        found.a.decided["x"] = found.bindings[0].a  # type: ignore[index]


def test_colour_changes_no_letter(plan_of: MakePlan) -> None:
    import re

    found = plan_of().diff(plan_of("npu:ascend910_93"))
    coloured = table.render(found, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == table.render(found)
