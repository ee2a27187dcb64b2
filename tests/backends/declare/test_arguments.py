"""What somebody gives in the place of something else to a plan, a registry or what it holds: our error says what is
wrong, where, and what to write; and what can only mean one thing is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from confbag import Bag, Config, PlatformError, RegistrationError, load
from confbag.backends import ALWAYS, Library, NativeOp, Need, Op, Plan, Platform, Registry, Requires, make_plan
from confbag.testing import Case, Tolerance, check_implementation

CUDA = Platform("cuda", "sm90", packages={})
NATIVE = "npu::compressor(Tensor x) -> Tensor"

Call = Callable[[], Any]
Refused = Callable[[Call, type[Exception], str], None]


def pick(x: int) -> int:
    """Any."""
    raise NotImplementedError


def one(x: int) -> int:
    return x


def demo() -> Registry:
    """An op with phases, one with ranges, and nothing else."""
    made = Registry()
    for op in (Op("acme.step", pick, phases=["prefill", "decode"]), Op("acme.mix", pick)):
        op.implement("reference", one, graph=ALWAYS)
        made.add(op)
    return made


def bag() -> Bag:
    return load(env={})


def plan() -> Plan:
    made = demo()
    return make_plan(bag(), CUDA, registry=made)


def op(**row: Any) -> Callable[[], Op]:
    return lambda: Op("a.b", pick, **row)


def platform(**facts: Any) -> Callable[[], Platform]:
    return lambda: Platform("cuda", "sm90", **facts)


def library(**row: Any) -> Callable[[], Library]:
    return lambda: Library(**{"name": "acme", "namespace": "npu", "package": "acme", **row})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: make_plan({"exec.graph": False}), r"^make_plan takes a Bag, not a dict; write make_plan\(load\("),
        (lambda: make_plan(bag(), 3), r"^make_plan takes a Platform or its name, not an int; write .*'cuda:sm90'"),
        (lambda: make_plan(bag(), CUDA, registry=3), r"make_plan\(registry=...\) takes a Registry, not an int; write"),
        (lambda: make_plan(bag(), CUDA, registry=Config), r"takes a Registry, not the class Config; .*installed\(bag"),
        (lambda: make_plan(bag(), CUDA, registry=Registry), r"takes a Registry, not the class Registry"),
        (lambda: plan()[3], r"^plan\[...\] takes an op, a site and a regime, not an int; write plan\['attention', Non"),
        (lambda: plan()[None], r"^plan\[...\] takes an op, a site and a regime, not None"),
        (lambda: plan()[["acme.mix"]], r"^plan\[...\] takes an op, a site and a regime, not a list"),
        (lambda: plan()[()], r"^plan\[...\] takes an op, a site and a regime, not a tuple"),
        (lambda: plan()["acme.step", None, "decode", 3], r"^plan\[...\] takes an op, a site and a regime, not a tuple"),
        (lambda: plan()["acme.step", ["0"]], r"^plan\['acme.step', ...\] takes as site a name or a number, not a list"),
        (lambda: plan()["acme.step", None, 1], r"^plan\['acme.step', ...\] takes as regime a name, not an int"),
        (
            lambda: plan().diff("x.lock"),
            r"^diff takes plans and locks, not a str; write plan.diff\(read_lock\(PATH\)\)",
        ),
        (lambda: plan().diff(bag()), r"^diff takes plans and locks, not a Bag; write plan.diff\(make_plan\(bag"),
        (lambda: plan().diff(None), r"^diff takes plans and locks, not None"),
        (lambda: plan().bind(ops=[3]), r"^bind\(ops=...\) takes names of slots, not an int; write ops=\['attention@d"),
        (lambda: plan().bind(ops=3), r"^bind\(ops=...\) takes names of slots, not an int"),
        (lambda: plan().bind(ops=plan().bindings), r"^bind\(ops=...\) takes names of slots, not a Binding"),
        (lambda: plan().bind()[["acme.mix"]], r"^ops\[...\] takes an op, a site and a regime, not a list; write ops\["),
        (lambda: plan().bind()[3], r"^ops\[...\] takes an op, a site and a regime, not an int"),
        (lambda: plan().bind()[()], r"^ops\[...\] takes an op, a site and a regime, not a tuple"),
        (lambda: plan().bind()["acme.step", None, "decode", "x"], r"^ops\[...\] takes an op, a site and a regime, not"),
        (lambda: plan().bind()["acme.step", None, ["decode"]], r"^ops\['acme.step', ...\] takes as regime a name"),
        (lambda: Registry(3), r"^Registry takes a schema, .* not an int; write Registry\(MyConfig\)"),
        (lambda: Registry("mini"), r"^Registry takes a schema, .* not a str; write Registry\(MyConfig\)"),
        (lambda: Registry.installed("mini"), r"^Registry.installed takes a schema, .* not a str"),
        (lambda: Registry().add(3), r"^Registry.add takes an Op, not an int; write registry.add\(Op\("),
        (lambda: Registry().add(pick), r"^Registry.add takes an Op, not a function"),
        (lambda: Registry().implement(Op("a.b", pick), "x", one), r"^Registry.implement takes first the name of an op"),
        (lambda: Registry().library("x"), r"^Registry.library takes a Library, not a str; write registry.library\(Lib"),
        (
            lambda: Registry().platform("x", "cuda"),
            r"^Registry.platform takes second a Platform, not a str; .*'a1'\)\)",
        ),
        (lambda: Registry().platform(CUDA, "x"), r"^Registry.platform takes first a name, not a Platform"),
        (lambda: Registry().device(CUDA), r"^Registry.device takes the name of a device kind, not a Platform"),
        (lambda: Registry().probe(["acme"], one), r"^Registry.probe takes first a device kind, not a list"),
        (
            lambda: Registry().choice(3, "acme"),
            r"^Registry.choice takes first a key, not an int; write registry.choice",
        ),
        (lambda: Registry().catalogue({"op": "a.b"}), r"^Registry.catalogue takes the path of a file, not a dict"),
        (lambda: Registry().find_platform(CUDA), r"^Platform.find takes what --platform takes, not a Platform"),
        (
            lambda: Platform.known(3),
            r"^Platform.known takes the name of a platform, not an int; write Platform.known\(",
        ),
        (lambda: Platform.load({"device": "cuda"}), r"^Platform.load takes the path of a platform file, not a dict"),
        (lambda: check_implementation(3, "x"), r"^check_implementation takes first an Op or its name, not an int"),
        (lambda: check_implementation("kvcache.last_loc", 3), r"takes second a provider's name, .*not an int; write"),
        (lambda: check_implementation("a.b", "x", Registry), r"takes third a Registry, not the class Registry; write"),
        (
            lambda: Case("x", [1]),
            r"^Case\(arguments=...\) takes a function that builds the operands, not a list; write",
        ),
        (
            lambda: Case("x", list, tolerance=1e-3),
            r"^Case\(tolerance=...\) takes a Tolerance, not a float; write Toler",
        ),
    ],
)
def test_an_argument_of_another_kind_is_told_what_to_write(refused: Refused, call: Call, says: str) -> None:
    refused(call, TypeError, f"{says}.*; write " if "; " not in says else says)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Op(3, pick), r"^op 3: a name is identifiers joined by dots, such as 'kvcache.last_loc'"),
        (lambda: Op(pick, "a.b"), r"^op <function .*: a name is identifiers"),
        (lambda: Op("a.b", "pick"), r"^op a.b: its contract must be a Python function, not str"),
        (op(measure="rows", ranges=["few"]), r"op a.b: field ranges: expected a mapping .*{'few': 32, .* got a list"),
        (op(measure="rows", ranges={3: 8}), r"op a.b: range 3 up to 8: a range has a name"),
        (op(measure=3, ranges={"few": 8}), r"op a.b: field measure: expected a text, got the number 3"),
        (op(settings=["k"]), r"op a.b: field settings: expected a mapping of regimes to keys, such as .* got a list"),
        (op(settings="k"), r"op a.b: field settings: expected a mapping of regimes to keys, such as"),
        (op(settings={None: 3}), r"op a.b: field settings: expected a mapping of regimes to keys, such as"),
        (op(asks=["k"]), r"op a.b: field asks: expected a mapping of features to conditions, such as .* got a list"),
        (op(asks={"k": "spec.active"}), r"op a.b: asks k: expected a mapping of facts to what they must be"),
        (op(applies="spec.active"), r"op a.b: field applies: expected a condition, such as {'spec.active': True}"),
        (op(phases=3), r"op a.b: field phases: expected a list of names, got the number 3"),
        (op(phases=["decode", 3]), r"op a.b: field phases: expected a list of names"),
        (op(reference_on=3), r"op a.b: field reference_on: expected a list of names"),
        (op(reference=3), r"op a.b: field reference: expected a list of names"),
        (op(sites=8), r"op a.b: field sites: expected a text, got the number 8"),
        (op(sites="model.num_layers", site_facts=3), r"op a.b: field site_facts: expected a list of names"),
        (op(sites="model.num_layers", site_facts=("site.weights",)), r"site_facts: 'site.weights' .*write 'weights'"),
        (op(cases=one), r"op a.b: field cases: expected a text, 'package.module:callable', got an object of type func"),
        (lambda: Requires(head_sizes="64"), r"head_sizes: expected a positive whole number or a sequence of them"),
        (lambda: Requires(page_sizes="64"), r"page_sizes .*: expected at least one positive integer"),
        (lambda: Requires(needs="model.kind"), r"needs: expected a Need or a sequence of them"),
        (lambda: Requires(native_ops=NATIVE), r"native_ops: expected a NativeOp or a sequence of them"),
        (lambda: NativeOp(3), r"^native op 3: expected a schema such as 'npu::compressor\(Tensor x\) -> Tensor'"),
        (lambda: NativeOp(NATIVE, 3), r"^native op .*: dispatch_key: expected a text such as 'CPU', got the number 3"),
        (lambda: NativeOp(None), r"^native op None: expected a schema such as"),
        (library(name=3), r"library 3: field name: expected a text, got the number 3"),
        (library(namespace=3), r"library acme: field namespace: expected a text, got the number 3"),
        (library(environment=3), r"library acme: field environment: expected a text"),
        (library(prerequisites=3), r"library acme: field prerequisites: expected a module's name or a list of them"),
        (library(ops=[NATIVE]), r"library acme: field ops: expected a list of NativeOp, such as NativeOp\('npu::x"),
        (library(probe_in_child="no"), r"library acme: field probe_in_child: expected true or false"),
        (library(probe_seconds="9"), r"library acme: field probe_seconds: expected a number of seconds"),
        (
            lambda: Registry().probe("acme", "look"),
            r"probe of acme: a str is no function .*write registry.probe\('acme",
        ),
    ],
)
def test_what_a_declaration_holds_is_told_what_fits(refused: Refused, call: Call, says: str) -> None:
    refused(call, RegistrationError, says)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Platform(3), r"device 3; write one of cuda"),
        (platform(packages=["torch"]), r"packages: expected a mapping, not a list; write packages={'torch': '2.9'}"),
        (platform(packages={"torch": 2.9}), r"packages: 'torch': 2.9; write texts, such as 'torch': '2.9'"),
        (platform(packages={3: "2.9"}), r"packages: 3: '2.9'; write texts"),
        (platform(toolkit=["cuda"]), r"toolkit: expected a mapping, not a list; write toolkit={'cuda': '12.9'}"),
        (platform(toolkit={"cuda": 12.9}), r"toolkit.cuda: 12.9 is no version; write text such as '12.9'"),
        (platform(features=3), r"features: expected words, not an int; write features=\['...'\]"),
        (platform(native_ops=[NativeOp(NATIVE)]), r"native_ops: NativeOp.* is no name; write a text"),
        (platform(assumed=True), r"assumed: expected words, not a bool"),
        (platform(notes=3), r"notes: expected words, not an int"),
        (platform(count="8"), r"count '8'; write how many devices there are"),
    ],
)
def test_a_fact_of_a_platform_is_told_what_fits(refused: Refused, call: Call, says: str) -> None:
    refused(call, PlatformError, f"^platform: {says}")


def test_a_plan_takes_the_parts_of_a_slot_as_bound_ops_do() -> None:
    made = plan()
    assert made["acme.step", None, "decode"] is made["acme.step@decode"]
    assert made["acme.mix", None, None] is made["acme.mix",] is made["acme.mix"]
    with pytest.raises(KeyError, match=r"no 'acme.step/decode'; write acme.step@prefill or acme.step@decode"):
        made["acme.step", "decode"]


def test_one_stands_for_a_list_of_one() -> None:
    need = Need("model.kind", "mla", "feature")
    assert Requires(head_sizes=64, page_sizes=16, branching_page_sizes=1) == Requires(
        head_sizes=[64], page_sizes=[16], branching_page_sizes=[1]
    )
    assert Requires(needs=need).needs == (need,)
    assert Requires(native_ops=NativeOp(NATIVE)).native_ops == (NativeOp(NATIVE),)
    made = Op("a.b", pick, "decode", reference_on="npu", sites="model.num_layers", site_facts="weights")
    assert (made.regime_names, made.reference_on, made.site_facts) == (("decode",), ("npu",), ("site.weights",))
    assert Op("a.b", pick, settings={None: "exec.sampling_backend"}).settings == {None: ("exec.sampling_backend",)}
    assert Library("acme", "acme", prerequisites="torch_npu").prerequisites == ("torch_npu",)
    machine = Platform("xpu", "pvc", features="xmx", assumed="packages", notes="measured")
    assert (machine.features, machine.assumed, machine.notes) == ({"xmx"}, {"packages"}, ("measured",))
    assert Case("x", list, tolerance=Tolerance(1e-3, 1e-3)).tolerance is not None
