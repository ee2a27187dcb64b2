"""Pins, preferences and references by phase and by site, on an op of an engine's own that declares sites."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import Bag, Config, ConfigError, DeclaredOnlyError, RegistrationError, load
from confbag.backends import Need, Op, Plan, Platform, Registry, Requires, make_plan
from confbag.backends.bind.bound import NotBoundError
from confbag.backends.declare.slots import Sites, Slot, expanded
from confbag.backends.render import html, markdown, page, story, table
from confbag.backends.words.levels import ALWAYS, NEVER
from confbag.cli.schema import plan_schema
from confbag.namespaces.fields import Auto, Name, Namespace, auto

CPU = Platform(device="cpu", arch="x86_64", packages={})
MIX, GATE = "acme.mix", "acme.gate"


class Net(Namespace):
    """net: what an engine knows of its layers."""

    layers: int | None = None
    blocks: tuple[str, ...] = ()
    mixer: Auto[Name] = auto


class EngineConfig(Config):
    """A schema with layers."""

    net: Net = Net()


def mix(x: int) -> int:
    """Any number."""
    raise NotImplementedError


def gate(x: int) -> int:
    """Any number."""
    raise NotImplementedError


def reference(x: int) -> int:
    return x


def fast(x: int) -> int:
    return x + 1


def small(x: int) -> int:
    return x + 2


@pytest.fixture
def engine() -> Registry:
    """An op over counted layers and phases, an op over named layers, and one without layers."""
    made = Registry(EngineConfig)
    mixing = Op(
        MIX,
        mix,
        phases=("prefill", "decode"),
        sites="net.layers",
        settings={"prefill": ("net.mixer",), "decode": ("net.mixer",)},
    )
    gating = Op(GATE, gate, sites="net.blocks")
    plain = Op("acme.plain", gate)
    for op in (mixing, gating, plain):
        op.implement("reference", reference, graph=ALWAYS)
        op.implement("fast", fast, priority=5, graph=ALWAYS)
        op.implement("small", small, requires=Requires(page_sizes=(16,)), graph=NEVER)
        op.implement("theirs", None, engine="Acme")
        made.add(op)
    return made


@pytest.fixture
def plan(engine: Registry) -> Callable[..., Plan]:
    """A plan of dotted settings for six layers and three blocks."""

    def make(**settings: Any) -> Plan:
        return make_plan(
            bag({"net.layers": 6, "net.blocks": ["attn", "mlp.up", "mlp.down"], **settings}), CPU, registry=engine
        )

    return make


def bag(settings: Mapping[str, Any]) -> Bag:
    return load(schema=EngineConfig, env={}, overrides=settings)


def decided(plan: Plan, op: str = MIX) -> dict[str, str | None]:
    return {binding.slot: binding.provider for binding in plan.bindings if binding.op == op}


GROUPS = "net.groups"


class Block(Namespace):
    """A site whose facts are declared, more of them than an op asks for."""

    weights: str = "bf16"
    experts: int = 8


class Groups(Namespace):
    """net: process groups, and blocks with a class of their own."""

    groups: Mapping[str, Mapping[str, Any]] = {}
    typed: Mapping[str, Block] = {}
    layers: int | None = None
    policy: str = "first"


class GroupConfig(Config):
    """A schema with process groups."""

    net: Groups = Groups()


def reduced(key: str = GROUPS) -> Registry:
    """An all-reduce whose fast kernel needs one node, and says what its sites are by a key of the schema."""
    made = Registry(GroupConfig)
    reducing = Op("acme.reduce", gate, sites=key, site_facts=("weights", "nodes"))
    reducing.implement("reference", reference, graph=ALWAYS)
    one_node = Requires(needs=(Need("site.nodes", {"max": 1}, "topology"),))
    reducing.implement("one_shot", fast, priority=5, requires=one_node, graph=ALWAYS)
    made.add(reducing)
    return made


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"0": {"nodes": 2}}, "'0' cannot name a site: write letters"),
        ({"0-3": {"nodes": 2}}, "'0-3' cannot name a site"),
        ({"tp": {"nodes": 1}, "tp group": {"nodes": 2}}, "'tp group' cannot name a site"),
        ({"a@b": {}}, "'a@b' cannot name a site"),
        ({"a*": {}}, r"'a\*' cannot name a site"),
        ({"tp": {"ndoes": 2}}, r"unknown fact 'ndoes' of site tp; did you mean nodes\?"),
    ],
)
def test_sites_that_cannot_be_read_are_faults_where_they_were_written(groups: Any, said: str) -> None:
    asked = load({GROUPS: groups}, schema=GroupConfig, env={})
    with pytest.raises(ConfigError, match=rf"load argument 1: net.groups: {said}"):
        make_plan(asked, CPU, registry=reduced())


@pytest.mark.parametrize(
    ("groups", "provider"),
    [({}, "one_shot"), ({"tp": {"nodes": 2}, "ep.0": {"nodes": 2}}, "reference"), ({"tp-0": {"nodes": 1}}, "one_shot")],
)
def test_sites_that_can_be_read_are_planned(groups: Any, provider: str) -> None:
    plan = make_plan(load({GROUPS: groups}, schema=GroupConfig, env={}), CPU, registry=reduced())
    assert plan["acme.reduce"].provider == provider


def test_what_no_op_asks_for_is_the_engines_own_and_a_note() -> None:
    groups = {"tp": {"nodes": 1, "colour": "red"}, "ep": {"nodes": 1, "colour": "blue"}}
    plan = make_plan(load({GROUPS: groups}, schema=GroupConfig, env={}), CPU, registry=reduced())
    assert plan["acme.reduce"].provider == "one_shot"
    assert (plan.warnings, plan.notes) == ((), ("net.groups: no op asks its sites for colour",))


def test_a_class_of_sites_declares_their_facts() -> None:
    asked = load({"net.typed": {"moe": {"weights": "fp8", "experts": 4}}}, schema=GroupConfig, env={})
    [binding] = make_plan(asked, CPU, registry=reduced("net.typed")).bindings
    assert (binding.sites, binding.provider) == (("moe",), "one_shot")
    with pytest.raises(ConfigError, match=r"net\.typed"):
        load({"net.typed": {"moe": {"wieghts": "fp8"}}}, schema=GroupConfig, env={})


def test_no_number_of_sites_is_a_fault_and_a_text_is_no_key_of_sites() -> None:
    asked = load({"net.layers": 0}, schema=GroupConfig, env={})
    with pytest.raises(ConfigError, match=r"net\.layers: is 0, which is no number of sites"):
        make_plan(asked, CPU, registry=reduced("net.layers"))
    with pytest.raises(RegistrationError, match=r"op acme\.reduce: sites: net\.policy can hold none; declare it"):
        reduced("net.policy").check()


def test_layers_that_are_decided_alike_are_one_binding(plan: Callable[..., Plan]) -> None:
    assert decided(plan()) == {f"{MIX}@prefill": "fast", f"{MIX}@decode": "fast"}
    pinned = plan(**{"exec.kernels.pin": {f"{MIX}@decode/0-1+5": "reference"}})
    assert decided(pinned) == {
        f"{MIX}@prefill": "fast",
        f"{MIX}@decode/0-1+5": "reference",
        f"{MIX}@decode/2-4": "fast",
    }
    first, rest = (binding for binding in pinned.bindings if binding.phase == "decode")
    assert (first.sites, first.rule) == (("0", "1", "5"), "pin")
    assert (rest.sites, rest.rule) == (("2", "3", "4"), "priority")
    assert pinned[f"{MIX}@decode/3"] is rest
    assert pinned[f"{MIX}@decode/2-4"] is rest
    assert pinned[MIX, "2-4", "decode"] is pinned[MIX, "3", "decode"] is pinned[MIX, 3, "decode"] is rest
    assert all(pinned[each.op, each.site, each.regime] is each for each in pinned.bindings)
    with pytest.raises(KeyError, match=r"write acme.mix@decode/0-1\+5 or acme.mix@decode/2-4"):
        pinned[f"{MIX}@decode"]


@pytest.mark.parametrize(
    ("pins", "expected"),
    [
        ({f"{MIX}/*": "reference"}, {f"{MIX}@prefill": "reference", f"{MIX}@decode": "reference"}),
        (
            {f"{MIX}/4-5": "reference"},
            {
                f"{MIX}@prefill/0-3": "fast",
                f"{MIX}@prefill/4-5": "reference",
                f"{MIX}@decode/0-3": "fast",
                f"{MIX}@decode/4-5": "reference",
            },
        ),
        # Layers before a phase, a phase before the whole op.
        (
            {MIX: "reference", f"{MIX}@decode": "fast", f"{MIX}/0": "small"},
            {
                f"{MIX}@prefill/0": "small",
                f"{MIX}@prefill/1-5": "reference",
                f"{MIX}@decode/0": "small",
                f"{MIX}@decode/1-5": "fast",
            },
        ),
        (
            {f"{MIX}/0": "small", f"{MIX}@decode/0": "reference"},
            {
                f"{MIX}@prefill/0": "small",
                f"{MIX}@prefill/1-5": "fast",
                f"{MIX}@decode/0": "reference",
                f"{MIX}@decode/1-5": "fast",
            },
        ),
        # Two pins to one provider are decided alike.
        (
            {f"{MIX}@decode/0": "reference", f"{MIX}@decode/3": "reference"},
            {f"{MIX}@prefill": "fast", f"{MIX}@decode/0+3": "reference", f"{MIX}@decode/1-2+4-5": "fast"},
        ),
    ],
)
def test_what_says_more_goes_first(plan: Callable[..., Plan], pins: dict[str, str], expected: dict[str, str]) -> None:
    assert decided(plan(**{"exec.kernels.pin": pins})) == expected


def test_named_layers_are_matched_by_glob(plan: Callable[..., Plan]) -> None:
    pinned = plan(**{"exec.kernels.pin": {f"{GATE}/mlp.*": "reference"}})
    assert decided(pinned, GATE) == {f"{GATE}/attn": "fast", f"{GATE}/mlp.up+mlp.down": "reference"}
    assert pinned[f"{GATE}/mlp.up"].provider == "reference"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"exec.kernels.pin": {"acme.plain/0": "fast"}},
            "acme.plain declares no sites; write 'acme.plain' without /0",
        ),
        ({"exec.kernels.pin": {f"{MIX}/6": "fast"}}, "acme.mix/6 names no site by 6; acme.mix has sites 0 to 5"),
        ({"exec.kernels.pin": {f"{MIX}/0+4-9": "fast"}}, "names no site by 4-9"),
        ({"exec.kernels.pin": {f"{GATE}/mpl.*": "fast"}}, "acme.gate has sites attn, mlp.up, mlp.down"),
        ({"exec.kernels.pin": {f"{MIX}/": "fast"}}, "names no site by"),
        ({"exec.kernels.pin": {f"{MIX}@draft/0": "fast"}}, "unknown phase of acme.mix 'draft'"),
        ({"exec.kernels.pin": {f"{MIX}/0": "fsat"}}, "unknown provider of acme.mix 'fsat'; did you mean fast?"),
        ({"exec.kernels.pin": {"acme.mxi/0": "fast"}}, "unknown op 'acme.mxi'; did you mean acme.mix?"),
        (
            {"exec.kernels.pin": {f"{MIX}/0-3": "fast", f"{MIX}/2-5": "small"}},
            "acme.mix/0-3 and acme.mix/2-5 both pin 2-3, to fast and to small; pin a site once",
        ),
        (
            {"exec.kernels.pin": {f"{MIX}/0": "fast"}, "net.layers": None},
            "net.layers is unknown, so no site of acme.mix",
        ),
        ({"exec.kernels.prefer": [{f"{MIX}/9": "fast"}]}, "names no site by 9"),
        ({"exec.kernels.prefer": [{MIX: "fsat"}]}, "did you mean fast?"),
        ({"exec.kernels.prefer": [{"acme.plain@decode": "fast"}]}, "acme.plain has no phases"),
        ({"exec.kernels.reference_only": [f"{MIX}/9"]}, "names no site by 9"),
        ({"exec.kernels.reference_only": ["acme.mxi"]}, "did you mean acme.mix?"),
    ],
)
def test_places_that_are_none_are_refused(plan: Callable[..., Plan], settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(**settings)
    (fault,) = caught.value.faults
    assert told in fault.message
    assert fault.key == next(iter(settings))


def test_pins_that_overlap_and_agree_or_say_more_are_fine(plan: Callable[..., Plan]) -> None:
    agreed = plan(
        **{"exec.kernels.pin": {f"{MIX}/0-3": "small", f"{MIX}/2-5": "small", f"{MIX}@decode/3": "reference"}}
    )
    assert not agreed.faults
    assert decided(agreed)[f"{MIX}@decode/3"] == "reference"


def test_a_pin_of_layers_stands_beside_a_setting_of_all(plan: Callable[..., Plan]) -> None:
    both = plan(**{"net.mixer": "small", "exec.kernels.pin": {f"{MIX}/0": "reference"}})
    assert decided(both)[f"{MIX}@decode/1-5"] == "small"
    assert decided(both)[f"{MIX}@decode/0"] == "reference"
    with pytest.raises(ConfigError, match=r"is pinned to reference, but net\.mixer says small"):
        plan(**{"net.mixer": "small", "exec.kernels.pin": {MIX: "reference"}})


def test_a_setting_that_can_say_only_one_says_what_most_layers_run(plan: Callable[..., Plan]) -> None:
    pinned = plan(**{"exec.kernels.pin": {f"{MIX}/0": "reference"}})
    assert pinned.bag["net.mixer"] == "fast"


def test_prefer_and_reference_only_by_place(plan: Callable[..., Plan]) -> None:
    preferred = plan(**{"exec.kernels.prefer": [{f"{MIX}@decode": "small"}, "reference", {MIX: "fast"}]})
    assert decided(preferred) == {f"{MIX}@prefill": "reference", f"{MIX}@decode": "small"}
    only = plan(**{"exec.kernels.reference_only": [f"{MIX}@decode/0-2"], "exec.kernels.prefer": ["small"]})
    assert decided(only) == {
        f"{MIX}@prefill": "small",
        f"{MIX}@decode/0-2": "reference",
        f"{MIX}@decode/3-5": "small",
    }
    assert only[f"{MIX}@decode/0"].rule == "exec.kernels.reference_only"
    assert decided(only, "acme.plain") == {"acme.plain": "small"}


def test_a_preference_that_cannot_run_there_gives_way(plan: Callable[..., Plan]) -> None:
    given_way = plan(**{"exec.kernels.prefer": [{f"{MIX}/0": "small"}], "memory.page_size": 8})
    assert decided(given_way) == {f"{MIX}@prefill": "fast", f"{MIX}@decode": "fast"}


def test_what_every_layer_needs_counts(plan: Callable[..., Plan]) -> None:
    pinned = plan(**{"exec.kernels.pin": {f"{MIX}/3": "small"}})
    assert pinned.bag["memory.page_size"] == 16
    refused = plan(**{"exec.kernels.pin": {f"{MIX}/3": "small"}, "memory.page_size": 8})
    assert {(fault.op, fault.code) for fault in refused.faults} == {(MIX, "page-size")}


def test_the_fingerprint_tells_layers_apart(plan: Callable[..., Plan]) -> None:
    one, other, plain = (
        plan(**({"exec.kernels.pin": {f"{MIX}/{layer}": "reference"}} if layer else {})) for layer in ("0", "1", "")
    )
    assert len({one.fingerprint(), other.fingerprint(), plain.fingerprint()}) == 3


def test_bind_gives_one_function_a_layer(plan: Callable[..., Plan]) -> None:
    pins = {f"{MIX}@decode/0-1+5": "reference", f"{GATE}/mlp.*": "small"}
    ops = plan(**{"exec.kernels.pin": pins}).bind()
    assert ops.mix_decode == (reference, reference, fast, fast, fast, reference)
    assert ops.mix_prefill == (fast,) * 6
    assert dict(ops.gate) == {"attn": fast, "mlp.up": small, "mlp.down": small}
    assert ops.plain is fast
    with pytest.raises(TypeError):
        ops.gate["attn"] = small
    assert set(vars(plan().bind(ops=[f"{MIX}@decode"]))) >= {"mix_decode", "mix_prefill", "gate"}


def test_an_op_whose_layers_nobody_knows_is_planned_and_not_bound(engine: Registry) -> None:
    unknown = make_plan(bag({}), CPU, registry=engine)
    assert decided(unknown) == {f"{MIX}@prefill": "fast", f"{MIX}@decode": "fast"}
    assert unknown[f"{MIX}@decode"].sites is None
    ops = unknown.bind()
    assert ops.plain is fast
    with pytest.raises(NotBoundError, match=r"net\.layers is unknown, so acme\.mix@decode has no sites"):
        ops.mix_decode  # noqa: B018
    with pytest.raises(NotBoundError, match=r"net\.blocks is unknown"):
        unknown.bind(ops=[GATE])


def test_layers_that_an_engine_constructs_refuse_when_they_are_called(plan: Callable[..., Plan]) -> None:
    theirs = plan(**{"exec.kernels.pin": {f"{MIX}@decode/5": "theirs"}})
    ops = theirs.bind()
    assert ops.mix_decode[0] is fast
    with pytest.raises(DeclaredOnlyError, match=r"acme\.mix@decode/5 is theirs, which is declared only: Acme"):
        ops.mix_decode[5](1)
    with pytest.raises(DeclaredOnlyError):
        theirs.bind(ops=[f"{MIX}@decode"])


def test_every_rendering_says_which_layers(plan: Callable[..., Plan]) -> None:
    pinned = plan(**{"exec.kernels.pin": {f"{MIX}@decode/0-1": "reference"}})
    for render in (table.render, markdown.render, html.render):
        text = render(pinned).replace("\\", "").replace("&#64;", "@")
        assert f"{MIX}@decode/0-1" in text
        assert f"{MIX}@decode/2-5" in text
    data = json.loads(json.dumps(pinned.to_dict()))
    jsonschema.validate(data, json.loads(plan_schema()))
    sites = {(binding["op"], binding["phase"], binding["provider"]): binding["sites"] for binding in data["bindings"]}
    assert sites[MIX, "decode", "reference"] == ["0", "1"]
    assert sites["acme.plain", None, "fast"] is None
    told = story.op_story(pinned, [pinned[f"{MIX}@decode/0"]])
    assert told.startswith(f"{MIX}@decode/0-1: reference\n")
    assert "pin" in told
    assert page.slot(pinned[f"{MIX}@decode/5"]) == f"{MIX}@decode/2-5"


def test_no_order_of_pins_or_rows_changes_the_plan(engine: Registry) -> None:
    pins = {f"{MIX}/0-2": "reference", f"{MIX}@decode/1": "small", f"{MIX}@prefill/4": "reference", GATE: "reference"}
    known = {"net.layers": 6, "net.blocks": ["attn"]}
    wanted = make_plan(bag({**known, "exec.kernels.pin": pins}), CPU, registry=engine).fingerprint()
    for seed in range(5):
        shuffled = list(pins.items())
        random.Random(seed).shuffle(shuffled)
        assert (
            make_plan(bag({**known, "exec.kernels.pin": dict(shuffled)}), CPU, registry=engine).fingerprint() == wanted
        )


@given(st.sets(st.integers(0, 40), min_size=1))
def test_a_part_is_spelt_as_a_pattern_that_names_it(chosen: set[int]) -> None:
    sites = Sites.of(41)
    assert sites is not None
    names = tuple(map(str, sorted(chosen)))
    spelt = sites.spell(names)
    assert sites.chosen(spelt) == names
    assert expanded(spelt) == names
    assert not sites.missing(spelt)
    assert (
        bag({"exec.kernels.pin": {f"{MIX}@decode/{spelt}": "fast"}})["exec.kernels.pin"][0][0]
        == f"{MIX}@decode/{spelt}"
    )


@pytest.mark.parametrize("text", [MIX, f"{MIX}@decode", f"{MIX}/0-3+7", f"{MIX}@decode/*", f"{GATE}/mlp.?p+attn"])
def test_a_place_is_a_plain_key_inside_a_flow_mapping(text: str) -> None:
    bagged = load(schema=EngineConfig, env={}, argv=["--set", f"exec.kernels.pin={{{text}: fast, other: slow}}"])
    assert dict(bagged["exec.kernels.pin"]) == {text: "fast", "other": "slow"}
    assert Slot.parse(text).op in (MIX, GATE)


@pytest.mark.parametrize(
    "value",
    [None, 0, -1, True, "6", [], ["a", "a"], ["a b"], ["7"], ["0-3"], ["a+b"], [1], [["a", 3]], {"a": 3}, {"7": {}}],
)
def test_what_are_no_sites(value: Any) -> None:
    assert Sites.of(value) is None
