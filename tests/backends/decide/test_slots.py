"""Slots of op, site and regime on ops that need all three: experts, quantized linear layers, collectives.

Each is planned, explained, locked, compared and bound; nothing of it is known to confbag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import Config, ConfigError, PlanError, RegistrationError, load
from confbag.backends import ALWAYS, BATCH_INVARIANT, Need, Op, Plan, Platform, Registry, Requires, make_plan
from confbag.backends.bind.bound import NotBoundError
from confbag.backends.compare.diff import diff
from confbag.backends.compare.lock import Lock
from confbag.backends.compare.lock_file import parse_lock
from confbag.backends.render import diff as diff_table
from confbag.backends.render import html, markdown, story, table
from confbag.backends.render.json import plan_dict
from confbag.cli.schema import plan_schema
from confbag.namespaces.fields import Auto, Name, Namespace, auto

HOPPER = Platform(device="cuda", arch="sm90", toolkit={"cuda": "13.0"}, packages={}, count=16)
MIB = 1 << 20
EXPERTS = {
    "layers.0-30.experts": {
        "weights": "fp8_e4m3",
        "activations": "fp8_e4m3",
        "group": 128,
        "hidden": 7168,
        "act": "silu",
    },
    "layers.31-60.experts": {"weights": "int4", "activations": "bfloat16", "group": 32, "hidden": 7168, "act": "silu"},
}
LINEAR = {
    "qkv": {"weights": "fp8_e4m3", "k": 7168, "n": 3072},
    "out": {"weights": "fp8_e4m3", "k": 3072, "n": 7168},
    "head": {"weights": "bfloat16", "k": 7168, "n": 16032},
}
GROUPS = {"tp": {"ranks": 8, "nodes": 1}, "dp": {"ranks": 16, "nodes": 2}, "pp": {"ranks": 2, "nodes": 1}}
Facts = Mapping[str, Mapping[str, str | int]]


class Net(Namespace):
    """net: what the engine knows of its model and its process groups."""

    experts: Facts | None = None
    linear: Facts | None = None
    groups: Facts | None = None
    reducer: Auto[Name] = auto


class NetConfig(Config):
    """The engine's settings."""

    net: Net = Net()


def experts(x: int, w: int) -> int:
    """x times w."""
    raise NotImplementedError


def linear(x: int) -> int:
    """Any."""
    raise NotImplementedError


def all_reduce(x: int) -> int:
    """Any."""
    raise NotImplementedError


def _named(name: str, contract: Callable[..., int]) -> Callable[..., int]:
    """An implementation that says who it is."""
    made = {
        experts: lambda x, w: x * w,
        linear: lambda x: x,
        all_reduce: lambda x: x,
    }[contract]
    made.__name__ = name
    return made


@pytest.fixture
def engine() -> Registry:
    """Ops with sites that say something of themselves, with chains by rows and by bytes."""
    made = Registry(NetConfig)
    moe = Op(
        "moe.experts",
        experts,
        sites="net.experts",
        site_facts=("weights", "activations", "group", "hidden", "act"),
        measure="rows",
    )
    for provider, most, weights, level in (
        ("marlin", 64, ["int4"], "none"),
        ("cutlass_w4a16", None, ["int4"], BATCH_INVARIANT),
        ("deep_gemm_masked", 128, ["fp8_e4m3"], BATCH_INVARIANT),
        ("deep_gemm", None, ["fp8_e4m3"], BATCH_INVARIANT),
        ("triton", None, ["fp8_e4m3", "int4", "bfloat16"], BATCH_INVARIANT),
    ):
        moe.implement(
            provider,
            _named(provider, experts),
            most=most,
            graph=ALWAYS,
            determinism=level,
            priority=5 if provider == "triton" else 0,
            requires=Requires(needs=(Need("site.weights", weights, "dtype"),)),
        )
    moe.implement("reference", _named("reference", experts), graph=ALWAYS, determinism=BATCH_INVARIANT)
    made.add(moe)
    made.rule("moe-few", "moe.experts", propose="marlin", when={"site.weights": "int4"}, why="memory bounds few rows")
    made.rule("moe-int4", "moe.experts", propose="cutlass_w4a16", when={"site.weights": "int4"}, why="many rows")
    made.rule("moe-masked", "moe.experts", propose="deep_gemm_masked", why="rows of a decode step")
    made.rule("moe-fp8", "moe.experts", propose="deep_gemm", why="rows of a prefill")

    gemm = Op("linear.quantized", linear, sites="net.linear", site_facts=("weights", "k", "n"))
    gemm.implement("cublas", _named("cublas", linear), graph=ALWAYS, priority=1, determinism=BATCH_INVARIANT)
    gemm.implement(
        "fp8_gemm",
        _named("fp8_gemm", linear),
        graph=ALWAYS,
        priority=9,
        requires=Requires(
            needs=(
                Need("site.weights", "fp8_e4m3", "dtype"),
                Need("site.n", {"multiple": 1024}, "head-size", hint="pad the columns"),
            )
        ),
    )
    gemm.implement("reference", _named("reference", linear), graph=ALWAYS, determinism=BATCH_INVARIANT)
    made.add(gemm)

    reduce = Op(
        "comm.all_reduce",
        all_reduce,
        sites="net.groups",
        site_facts=("ranks", "nodes"),
        measure="bytes",
        ranges={"small": 8 * MIB, "large": None},
        settings={"small": ("net.reducer",), "large": ("net.reducer",)},
    )
    near = Requires(
        needs=(
            Need("site.nodes", {"max": 1}, "topology", hint="it reaches one node"),
            Need("site.ranks", {"max": 8}, "topology"),
        )
    )
    for provider, most in (("one_shot", 512 * 1024), ("two_shot", 8 * MIB)):
        reduce.implement(provider, _named(provider, all_reduce), graph=ALWAYS, most=most, requires=near)
    reduce.implement("nccl", _named("nccl", all_reduce), graph=ALWAYS, determinism=BATCH_INVARIANT)
    reduce.implement("reference", _named("reference", all_reduce), graph=ALWAYS, determinism=BATCH_INVARIANT)
    made.add(reduce)
    made.rule("one-shot", "comm.all_reduce", propose="one_shot", up_to=256 * 1024, ranges=["small"], why="latency")
    made.rule("two-shot", "comm.all_reduce", propose="two_shot", ranges=["small"], why="half the traffic")
    made.rule("nccl", "comm.all_reduce", propose="nccl", why="bandwidth")
    return made


@pytest.fixture
def plan(engine: Registry) -> Callable[..., Plan]:
    """A plan of dotted settings for the model above."""

    def make(**given_: Any) -> Plan:
        known = {"net.experts": EXPERTS, "net.linear": LINEAR, "net.groups": GROUPS, "model.num_heads": 16}
        bag = load(schema=NetConfig, env={}, overrides={**known, **given_})
        return make_plan(bag, HOPPER, registry=engine)

    return make


def chains(plan: Plan, op: str) -> dict[str, list[tuple[int | None, str]]]:
    """Slot -> what it runs, with bounds."""
    return {
        binding.slot: [(member.most, member.implementation.provider) for member in binding.members]
        for binding in plan.bindings
        if binding.op == op
    }


FP8, INT4 = EXPERTS


def test_experts_of_two_quantizations_are_two_rows_and_chains(plan: Callable[..., Plan]) -> None:
    made = plan()
    assert not made.faults
    assert chains(made, "moe.experts") == {
        f"moe.experts/{FP8}": [(128, "deep_gemm_masked"), (None, "deep_gemm")],
        f"moe.experts/{INT4}": [(64, "marlin"), (None, "cutlass_w4a16")],
    }
    first = made[f"moe.experts/{FP8}"]
    assert [(member.decider.name, member.decider.rule) for member in first.members] == [
        ("moe-masked", True),
        ("moe-fp8", True),
    ]
    codes = {rejection.provider: (rejection.code, rejection.field) for rejection in first.rejected}
    assert codes["marlin"] == ("dtype", "site.weights")
    assert codes["triton"][0] == "lower-priority"


def test_equal_sites_are_one_row(plan: Callable[..., Plan]) -> None:
    same = {f"layers.{index}.experts": EXPERTS[FP8] for index in range(3)}
    assert list(chains(plan(**{"net.experts": same}), "moe.experts")) == ["moe.experts"]


def test_linear_layers_by_what_they_hold(plan: Callable[..., Plan]) -> None:
    assert chains(plan(), "linear.quantized") == {
        "linear.quantized/qkv": [(None, "fp8_gemm")],
        "linear.quantized/out": [(None, "fp8_gemm")],
        "linear.quantized/head": [(None, "cublas")],
    }
    odd = plan(**{"net.linear": {"qkv": {"weights": "fp8_e4m3", "k": 1, "n": 1000}, "out": {"weights": "fp8_e4m3"}}})
    assert chains(odd, "linear.quantized") == {
        "linear.quantized/qkv": [(None, "cublas")],
        "linear.quantized/out": [(None, "fp8_gemm")],
    }
    assert odd["linear.quantized/out"].assumed == ("site.n",), "nobody said how wide it is"
    said = {no.field: no for no in odd["linear.quantized/qkv"].rejected}
    assert (said["site.n"].code, said["site.n"].actual, said["site.n"].hint) == ("head-size", 1000, "pad the columns")


def test_collectives_by_group_and_size(plan: Callable[..., Plan]) -> None:
    made = plan()
    assert chains(made, "comm.all_reduce") == {
        "comm.all_reduce@small/tp": [(256 * 1024, "one_shot"), (8 * MIB, "two_shot")],
        "comm.all_reduce@small/dp": [(8 * MIB, "nccl")],
        "comm.all_reduce@small/pp": [(256 * 1024, "one_shot"), (8 * MIB, "two_shot")],
        "comm.all_reduce@large/tp": [(None, "nccl")],
        "comm.all_reduce@large/dp": [(None, "nccl")],
        "comm.all_reduce@large/pp": [(None, "nccl")],
    }
    no = next(each for each in made["comm.all_reduce@small/dp"].rejected if each.provider == "two_shot")
    assert (no.code, no.field, no.actual, no.hint) == ("topology", "site.nodes", 2, "it reaches one node")


def test_a_bound_of_an_implementation_is_kept_whatever_a_rule_or_pin_says(plan: Callable[..., Plan]) -> None:
    pinned = plan(**{"exec.kernels.pin": {"comm.all_reduce@small/tp": "one_shot"}})
    (fault,) = pinned.faults
    assert (fault.provider, fault.code, fault.slot) == ("one_shot", "bound", "comm.all_reduce@small")
    enough = plan(**{"exec.kernels.pin": {"comm.all_reduce@small/tp": "two_shot"}})
    assert chains(enough, "comm.all_reduce")["comm.all_reduce@small/tp"] == [(8 * MIB, "two_shot")]
    with pytest.raises(PlanError):
        pinned.bind()


def test_pins_and_preferences_name_sites_and_ranges(plan: Callable[..., Plan]) -> None:
    pinned = plan(**{"exec.kernels.pin": {"comm.all_reduce@small/tp+pp": "nccl", f"moe.experts/{INT4}": "triton"}})
    assert chains(pinned, "comm.all_reduce")["comm.all_reduce@small/tp"] == [(8 * MIB, "nccl")]
    assert chains(pinned, "moe.experts")[f"moe.experts/{INT4}"] == [(None, "triton")]
    preferred = plan(**{"exec.kernels.prefer": {"comm.all_reduce@small": ["nccl"]}})
    assert set(map(str, chains(preferred, "comm.all_reduce").values())) == {
        str([(8 * MIB, "nccl")]),
        str([(None, "nccl")]),
    }
    everywhere = plan(**{"net.reducer": "nccl"})
    assert {binding.rule for binding in everywhere.bindings if binding.op == "comm.all_reduce"} == {"setting"}


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("comm.all_reduce@tiny", "unknown range of comm.all_reduce 'tiny'"),
        ("comm.all_reduce@decode", "unknown range of comm.all_reduce 'decode'"),
        ("moe.experts@few", "moe.experts has no ranges; write 'moe.experts'"),
        ("comm.all_reduce/ep", "names no site by ep; comm.all_reduce has sites tp, dp, pp"),
        ("linear.quantized@prefill", "linear.quantized has no phases"),
    ],
)
def test_places_that_are_none(plan: Callable[..., Plan], place: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        plan(**{"exec.kernels.pin": {place: "reference"}})


def test_determinism_holds_over_a_whole_chain(plan: Callable[..., Plan]) -> None:
    """Two kernels chosen by the number of rows are not batch invariant, whatever each of them is."""
    made = plan(**{"exec.deterministic": True, "exec.sampling_backend": "pytorch"})
    assert not made.faults
    assert chains(made, "moe.experts") == {
        f"moe.experts/{FP8}": [(None, "deep_gemm")],
        f"moe.experts/{INT4}": [(None, "cutlass_w4a16")],
    }
    assert chains(made, "comm.all_reduce") == {
        "comm.all_reduce": [(None, "nccl")],
    } or all(chain == [(None, "nccl")] for chain in chains(made, "comm.all_reduce").values())
    masked = next(no for no in made[f"moe.experts/{FP8}"].rejected if no.provider == "deep_gemm_masked")
    assert (masked.code, masked.actual) == ("determinism", "at most 128")
    assert "beyond 128 rows another kernel would run" in str(masked)
    runs = plan(**{"exec.deterministic": True, "exec.determinism": "run_to_run"})
    assert len(chains(runs, "moe.experts")[f"moe.experts/{FP8}"]) == 2
    with pytest.raises(ConfigError, match="names one range, and batch-invariant runs need one implementation for all"):
        plan(**{"exec.deterministic": True, "exec.kernels.pin": {"comm.all_reduce@small": "nccl"}})


def test_every_face_says_all_of_it(plan: Callable[..., Plan]) -> None:
    made = plan()
    shown = table.render(made)
    assert all(text in shown for text in ("comm.all_reduce@small/tp", "up to 256 KiB:", "one_shot", "up to 64 rows:"))
    for render in (markdown.render, html.render):
        told = re.sub(r"\s+", " ", render(made).replace("\\", "").replace("&#64;", "@"))
        for text in (
            "comm.all_reduce@small/",
            "up to 256 KiB: one_shot",
            "up to 8 MiB: two_shot",
            "up to 64 rows: marlin",
        ):
            assert text in told, render.__module__
        assert "beyond: cutlass_w4a16" in told
    data = json.loads(json.dumps(plan_dict(made, all=True)))
    jsonschema.validate(data, json.loads(plan_schema()))
    row = next(each for each in data["bindings"] if each["op"] == "comm.all_reduce" and each["site"] == "tp")
    assert (row["regime"], row["phase"], row["sites"]) == ("small", None, ["tp"])
    assert [(member["most"], member["decided_by"]) for member in row["members"]] == [
        (256 * 1024, {"rule": "one-shot"}),
        (8 * MIB, {"rule": "two-shot"}),
    ]
    told = re.sub(r"\s+", " ", story.op_story(made, [made["comm.all_reduce@small/tp"]]))
    assert "one_shot up to 256 KiB, then two_shot up to 8 MiB" in told
    assert "because up to 256 KiB: latency; up to 8 MiB: half the traffic" in told
    assert "sites tp" in told


def test_why_and_plan_agree(plan: Callable[..., Plan]) -> None:
    made = plan()
    for binding in made.bindings:
        told = story.op_story(made, [binding])
        assert all(member.implementation.provider in told for member in binding.members)


def test_it_is_locked_and_compared(plan: Callable[..., Plan]) -> None:
    made = plan()
    text = Lock.of(made).text()
    lock = parse_lock(text.encode(), "x.lock")
    assert lock == Lock.of(made)
    assert lock.schema.endswith(":NetConfig")
    assert "most: 262144" in text
    assert diff(lock, made).same
    other = plan(**{"exec.kernels.pin": {"comm.all_reduce@small/tp": "nccl"}})
    for found in (diff(made, other), diff(lock, other)):
        (change,) = found.bindings
        assert change.slot == "comm.all_reduce@small/tp"
        assert [runs.most for runs in change.a.runs] == [256 * 1024, 8 * MIB]
        assert change.because == ("exec.kernels.pin",)
        assert found.to_dict()["bindings"][0]["site"] == "tp"
        assert "one_shot up to 262144, then two_shot up to 8388608, by rule one-shot, rule two-shot" in re.sub(
            r"\s+", " ", diff_table.render(found)
        )


def test_a_chain_beside_one_implementation_for_all_ranges_is_compared(plan: Callable[..., Plan]) -> None:
    made = plan()
    whole = plan(**{"exec.deterministic": True})
    found = diff(made, whole)
    (change,) = (change for change in found.bindings if change.slot.startswith("comm"))
    assert change.slot == "comm.all_reduce@small/tp+pp", "NCCL everywhere else, as before"
    assert [runs.provider for runs in change.a.runs] == ["one_shot", "two_shot"]
    assert [runs.provider for runs in change.b.runs] == ["nccl"]
    assert change.because == ("exec.deterministic",)
    assert diff(Lock.of(made), Lock.of(whole), schema=NetConfig).same is False


def test_bind_gives_chains_by_slot(plan: Callable[..., Plan]) -> None:
    ops = plan().bind()
    chain = ops["comm.all_reduce", "tp", "small"]
    assert [(most, function.__name__) for most, function in chain] == [(256 * 1024, "one_shot"), (8 * MIB, "two_shot")]
    whole = ops["comm.all_reduce", "tp", None]
    assert [(most, function.__name__) for most, function in whole] == [
        (256 * 1024, "one_shot"),
        (8 * MIB, "two_shot"),
        (None, "nccl"),
    ]
    assert ops["comm.all_reduce", "tp"] == whole == ops.all_reduce["tp"]
    assert [(most, function.__name__) for most, function in ops.experts[INT4]] == [
        (64, "marlin"),
        (None, "cutlass_w4a16"),
    ]
    assert ops["linear.quantized", "head"].__name__ == "cublas"
    assert ops.quantized["qkv"] is ops["linear.quantized", "out"]
    for wrong, told in (
        (("comm.all_reduce", "tp", "tiny"), "its regimes are small, large"),
        (("comm.all_reduce", "ep", "small"), "its sites are tp, dp, pp"),
        ("comm.all_reduce", "its sites are tp, dp, pp"),
        (("linear.quantized", "qkv", "small"), "it has no regimes"),
        (("linear.quantised", "qkv"), "did you mean linear.quantized?"),
    ):
        with pytest.raises(NotBoundError, match=re.escape(told)):
            ops[wrong]


def test_one_site_with_one_member_keeps_its_attribute(engine: Registry) -> None:
    bag = load(schema=NetConfig, env={}, overrides={"net.groups": {"world": {"ranks": 2, "nodes": 2}}})
    made = make_plan(bag, HOPPER, registry=engine)
    assert made.bind(ops=["comm.all_reduce"]).all_reduce["world"] == (
        (None, made["comm.all_reduce@large"].implementation.target),
    )


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_every_amount_has_one_implementation_that_takes_it(bounds: list[int], random: Any, ranged: bool) -> None:
    """Chains are gapless, ascending and within the bounds of their members, whatever rows and rules there are."""
    made = Registry(NetConfig)
    op = Op("demo.op", linear, measure="rows", ranges={"few": 10, "many": None} if ranged else None)
    ranks = list(range(1, len(bounds) + 1))
    random.shuffle(ranks)
    for number, (most, rank) in enumerate(zip(bounds, ranks, strict=True)):
        op.implement(f"p{number}", linear_of(number), most=most, priority=rank, graph=ALWAYS)
    op.implement("reference", linear_of(99), graph=ALWAYS)
    made.add(op)
    for number, most in enumerate(bounds[:2]):
        made.rule(f"r{number}", "demo.op", propose=f"p{number}", up_to=max(1, most - number))
    found = make_plan(load(schema=NetConfig, env={}), HOPPER, registry=made)
    assert not found.faults
    reached = 0
    for binding in found.bindings:
        for member in binding.members:
            assert member.implementation.most is None or (
                member.most is not None and member.most <= member.implementation.most
            )
            assert member.most is None or member.most > reached
            reached = member.most or 10**9
    assert reached == 10**9


def linear_of(number: int) -> Callable[..., int]:
    """An implementation of its own."""

    def run(x: int) -> int:
        return x + number

    return run


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        ({"ranges": {"few": 3}}, "ranges of what? name the measure"),
        ({"measure": "rows", "phases": ("decode",)}, "it has phases or a measure, not both"),
        ({"measure": "rows", "ranges": {"few": None, "many": 3}}, "only the last may have none"),
        ({"measure": "rows", "ranges": {"few": 3, "more": 3}}, "a larger bound than the one before it"),
        ({"measure": ""}, "measure: expected"),
        ({"site_facts": ("weights",)}, "site_facts without sites"),
    ],
)
def test_declarations_that_contradict(declare: dict[str, Any], told: str) -> None:
    with pytest.raises(RegistrationError, match=re.escape(told)):
        Op("demo.op", linear, **declare)


def test_bounds_need_a_measure() -> None:
    op = Op("demo.op", linear)
    with pytest.raises(RegistrationError, match=re.escape("most is a bound on the op's measure, and demo.op has none")):
        op.implement("x", "a:b", most=3)
    measured = Op("demo.op", linear, measure="rows")
    with pytest.raises(RegistrationError, match=re.escape("has no phases but a measure; bound it with most=")):
        measured.implement("x", "a:b", phases=("decode",))
