"""What is registered adds to what is there: names of the core are taken, and what could never hold is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from confbag import load
from confbag.backends import Need, Op, Platform, Registry, Requires, make_plan
from confbag.errors import RegistrationError

CUDA = Platform(device="cuda", arch="sm90", packages={"torch": "2.13.0", "triton": "3.6.0"})
Change = Callable[[Registry], Any]


def scale(x: int) -> int:
    """x, scaled."""
    raise NotImplementedError


def ranged(**op: Any) -> Op:
    return Op("acme.scale", scale, measure="rows", ranges={"few": 8, "many": None}, **op)


@pytest.fixture
def plugin(registry: Registry) -> Registry:
    """Ours, with a plug-in that registers."""
    registry._plugin = "acme"
    return registry


def refused(registry: Registry, change: Change, told: str) -> None:
    def register() -> None:
        change(registry)
        registry.check()

    with pytest.raises(RegistrationError) as raised:
        register()
    assert told in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "exec.deterministic",
        "model.kind",
        "spec.active",
        "memory.kv_cache",
        "platform.device",
        "platform.toolkit.cuda",
        "component.triton",
        "site.layers",
        "attention",
        "attention@decode",
        "attention:graph",
        "kvcache.last_loc",
        "phase",
        "range",
        "any",
        "model.absorbed_mla",
    ],
)
def test_a_condition_takes_no_name_that_a_fact_has(plugin: Registry, name: str) -> None:
    refused(plugin, lambda made: made.fact(name, {"model.kind": "mha"}), f"fact {name}")


def test_a_name_is_taken_by_an_op_that_comes_later_too(plugin: Registry) -> None:
    plugin.fact("acme.scale", {"model.kind": "mha"})
    refused(plugin, lambda made: made.add(Op("acme.scale", scale)), "acme.scale is what is decided for acme.scale")


@pytest.mark.parametrize("name", ["spec.active", "platform.device", "component.triton", "phase", "site.layers"])
def test_an_op_takes_no_name_that_a_fact_has(plugin: Registry, name: str) -> None:
    refused(plugin, lambda made: made.add(Op(name, scale)), f"op {name}: its name is a fact")


@pytest.mark.parametrize(
    "name", ["cuda:sm90", "CUDA:sm_90a", "npu:ascend910_93", "cpu:x86_64", "cpu", "this", "a1.yaml"]
)
def test_a_platform_takes_no_name_that_is_known(plugin: Registry, name: str) -> None:
    refused(plugin, lambda made: made.platform(name, Platform("acme", packages={})), f"platform {name!r} is ")
    assert "acme" not in plugin.devices


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("model.kind", "zed", "model.kind is one of mha, mla"),
        ("exec.determinism", "run_to_run", "takes no more"),
        ("exec.attention.backend", "zed", "write registry.implement('attention', 'zed', ...)"),
        ("exec.attention.decode", "fa3", "write registry.implement('attention', 'fa3', ...)"),
        ("disagg.transfer_backend", "zed", "write registry.implement('disagg.send_kvcache', 'zed', ...)"),
        ("model.architecture", "Zed", "every other word of model.architecture would be refused"),
        ("exec.graph", "zed", "exec.graph does not take 'zed'"),
        ("spec.algorithm", "two words", "spec.algorithm does not take 'two words'"),
        (
            "exec.sampling_backend",
            "flashinfer",
            "confbag says what flashinfer needs (rules.yaml: exec.",
        ),
        ("spec.algorithm", "eagle", "confbag says what EAGLE needs"),
    ],
)
def test_a_value_is_one_more_of_a_setting_that_has_such(plugin: Registry, key: str, value: str, told: str) -> None:
    refused(plugin, lambda made: made.choice(key, value, device="npu"), told)


def test_two_plug_ins_do_not_share_a_value(plugin: Registry) -> None:
    plugin.choice("exec.sampling_backend", "zed", device="cuda")
    plugin.choice("exec.sampling_backend", "zed", device="npu")
    plugin.check()
    plugin._plugin = "other"
    refused(plugin, lambda made: made.choice("exec.sampling_backend", "zed"), "plug-in acme says what zed needs")


@pytest.mark.parametrize("written", ["acme", "ACME", "Acme"])
def test_a_value_is_held_as_its_setting_holds_it(plugin: Registry, written: str) -> None:
    plugin.choice("spec.algorithm", written)
    plan = make_plan(load({"spec.algorithm": "acme"}, env={}), CUDA, registry=plugin)
    assert (plan.faults, plan.bag["spec.algorithm"]) == ((), "ACME")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda made: made.fact("acme.x", {"acme.x": True}), "acme.x reads itself"),
        (
            lambda made: [
                made.fact(one, {other: True}) for one, other in (("a.x", "a.y"), ("a.y", "a.z"), ("a.z", "a.x"))
            ],
            "a.x and a.y and a.z read each other",
        ),
        (lambda made: made.fact("acme.x", {}), "it reads no fact"),
        (lambda made: made.fact("acme.x", {"any": []}), "it reads no fact"),
        (lambda made: made.fact("acme.x", {"kvcache.last_loc": "triton"}), "before kvcache.last_loc is decided"),
        (lambda made: made.fact("acme.x", {"phase": "decode"}), "'phase' is a fact of one slot"),
        (lambda made: made.fact("acme.x", {"component.trtion": True}), "did you mean component.triton?"),
        (
            lambda made: made.fact("acme.x", {"platform.toolkit.cudaa": {"version": ">=12"}}),
            "did you mean platform.toolkit.cuda?",
        ),
        (lambda made: made.fact("acme.x", {"component.zzzz": True}), "name it in a requirement"),
        (lambda made: made.add(Op("acme.scale", scale, applies={"phase": "decode"})), "'phase' is a fact of one slot"),
        (lambda made: made.add(ranged(applies={"range": "few"})), "'range' is a fact of one slot"),
        (
            lambda made: made.choice(
                "exec.sampling_backend", "zed", needs=[{"fact": "phase", "test": "decode", "code": "phase"}]
            ),
            "'phase' is a fact of one slot",
        ),
        (lambda made: made.rule("r", "kvcache.last_loc", propose="triton", when={"phase": "decode"}), "has no phases"),
        (lambda made: made.rule("r", "attention", propose="fa3", when={"range": "few"}), "write 'phase'"),
        (lambda made: made.rule("r", "attention", propose="fa3", when={"phase": "decod"}), "did you mean decode?"),
        (
            lambda made: made.implement(
                "kvcache.last_loc", "x", "a:b", requires=Requires(needs=(Need("phase", "decode", "phase"),))
            ),
            "kvcache.last_loc has no phases",
        ),
    ],
)
def test_what_could_never_hold_is_refused(plugin: Registry, change: Change, told: str) -> None:
    refused(plugin, change, told)


def test_a_fill_is_asked_of_no_slot(registry: Registry, tmp_path: Any) -> None:
    path = tmp_path / "acme.yaml"
    path.write_text("fill: [{name: f, when: {range: few}, set: {exec.compile: true}}]\n")
    refused(
        registry, lambda made: made.catalogue(path), "acme.yaml: fill 1: rule f: when: 'range' is a fact of one slot"
    )


def test_what_somebody_brings_or_asks_for_may_be_asked_about(plugin: Registry) -> None:
    """A component or toolkit of a platform, of a requirement, or of the core, in any spelling."""
    plugin.platform("acme:a1", Platform("acme", toolkit={"acme": "2.1"}, packages={"acme-runtime": "2.1.0"}))
    plugin.implement("kvcache.last_loc", "x", "a:b", requires=Requires(components="zed_kit>=1", toolkit="zed>=2"))
    plugin.fact(
        "acme.any",
        {
            "any": [
                {f"component.{name}": True}
                for name in ("acme_runtime", "zed-kit", "torch_npu", "flashinfer-python", "sgl-kernel")
            ]
            + [{f"platform.toolkit.{name}": {"version": ">=1"}} for name in ("acme", "zed", "nvcc")]
        },
    )
    plugin.check()
    op = ranged(asks={"window": {"range": "few"}})
    op.implement("reference", "a:b", requires=Requires(needs=(Need("range", ["few", "many"], "bound"),)))
    plugin.add(op)
    plugin.rule("acme-decode", "attention", propose="fa3", when={"phase": "decode", "platform.device": "acme"})
    plugin.check()


CHAIN = {"a.x": {"a.y": True}, "a.y": {"a.z": True}, "a.z": {"model.kind": "mha"}}


@pytest.mark.parametrize("order", list(permutations(CHAIN)))
def test_the_order_of_registration_decides_nothing(plugin: Registry, order: tuple[str, ...]) -> None:
    for name in order:
        plugin.fact(name, CHAIN[name])
    plugin.rule(
        "acme", "kvcache.last_loc", propose="reference", first_class=True, when={"a.x": True, "platform.device": "cuda"}
    )
    plan = make_plan(load({"model.kind": "mha"}, env={}), CUDA, registry=plugin)
    assert (plan["kvcache.last_loc"].provider, plan["kvcache.last_loc"].rule) == ("reference", "acme")
