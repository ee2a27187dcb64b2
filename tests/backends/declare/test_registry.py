"""What the registry refuses, how a vendor replaces a row, and that every contradiction names its row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confbag import Bag
from confbag.backends import ALWAYS, NativeOp, Need, Op, Platform, Registry, Requires, make_plan
from confbag.errors import RegistrationError, SignatureError


def scale(x: int, factor: int = 2) -> int:
    """x times factor."""
    return x * factor


def with_rows(*rows: tuple[str, dict[str, Any]]) -> Registry:
    registry = Registry()
    demo = Op("demo.scale", scale)
    for provider, fields in rows:
        demo.implement(provider, f"demo.{provider}:scale", **fields)
    registry.add(demo)
    return registry


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", {}), ("a", {})], r"demo\.scale, a: registered twice; a second one needs a variant"),
        ([("a", {"variant": "x"}), ("a", {"variant": "y"})], r"the variants a \(x\) and a \(y\) can both be asked"),
        ([("a", {"priority": 5}), ("b", {"priority": 5})], "a and b have priority 5 and can both be asked"),
        ([("a", {"requires": Requires(device="cud")})], "demo.scale, a: unknown device 'cud'; write cuda"),
        (
            [("a", {"requires": Requires(native_ops=[NativeOp("npu::x(Tensor y) -> Tensor")], library="kit")})],
            "unknown library 'kit'",
        ),
    ],
)
def test_rows_that_contradict_each_other(rows: list[tuple[str, dict[str, Any]]], message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        with_rows(*rows).check()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Requires(device="cuda"), Requires(device="hip")),
        (Requires(device="cuda", arch="sm90"), Requires(device="cuda", arch=["sm80", "sm86"])),
        (
            Requires(needs=[Need("model.kind", ["mha"], "feature")]),
            Requires(needs=[Need("model.kind", ["mla", "dsa"], "feature")]),
        ),
        (Requires(device="cpu"), Requires(needs=[Need("platform.device", {"not": ["cpu"]}, "device")])),
    ],
)
def test_variants_and_priorities_that_exclude_each_other_are_fine(one: Requires, other: Requires) -> None:
    with_rows(("a", {"variant": "x", "requires": one}), ("a", {"variant": "y", "requires": other})).check()
    with_rows(("a", {"priority": 5, "requires": one}), ("b", {"priority": 5, "requires": other})).check()


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda op: op.implement("a", "no-module"), "target 'no-module'; write 'package.module:callable'"),
        (lambda op: op.implement("a", None), "declared only; name the engine that constructs it"),
        (lambda op: op.implement("a", "m:f", determinism="always"), "unknown determinism level 'always'"),
        (lambda op: op.implement("a", "m:f", graph="sometimes"), "unknown graph level 'sometimes'"),
        (lambda op: op.implement("a", "m:f", phases=["prefill"]), "unknown phase 'prefill'"),
        (lambda op: op.implement("a", "m:f", requires=Requires(page_sizes=[])), "at least one positive integer"),
        (lambda op: op.implement("a", "m:f", requires=Requires(components="triton>3.x")), "no PEP 440 specifier"),
        (lambda op: op.implement("a", "m:f", requires=Requires(native_ops=[NativeOp("npu.x")])), "expected a schema"),
        (lambda op: op.implement("a", "m:f", requires=Requires(library="kit")), "without native_ops"),
    ],
)
def test_a_row_that_contradicts_itself(declare: Callable[[Op], object], message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        declare(Op("demo.scale", scale))


def test_an_implementation_with_another_signature_is_refused_when_registered() -> None:
    def narrow(x: int) -> int:
        return x

    with pytest.raises(SignatureError) as raised:
        Op("demo.scale", scale).implement("narrow", narrow)
    assert "scale(x, factor=2)" in str(raised.value)
    assert "narrow(x)" in str(raised.value)
    assert Op("demo.scale", scale).implement("wide", lambda x, factor=2: x) is not None


def test_a_vendor_replaces_a_row_by_its_name() -> None:
    registry = with_rows(("fast", {"priority": 5}), ("reference", {}))
    registry.implement("demo.scale", "faster", "vendor.kernels:scale", priority=5, replaces="fast")
    registry.check()
    assert sorted(registry.providers("demo.scale")) == ["faster", "reference"]
    with pytest.raises(RegistrationError, match="replaces 'fastest', which is not there"):
        registry.implement("demo.scale", "other", "vendor.kernels:other", replaces="fastest")


def test_names_are_registered_once(registry: Registry) -> None:
    with pytest.raises(RegistrationError, match=r"kvcache\.last_loc is registered twice"):
        registry.add(registry.ops["kvcache.last_loc"])
    with pytest.raises(RegistrationError, match=r"unknown op 'kvcache\.last_lock'; did you mean kvcache\.last_loc"):
        registry.implement("kvcache.last_lock", "x", "m:f")


def test_a_row_that_comes_after_its_op_was_added_is_not_lost_in_silence() -> None:
    op, registry = Op("demo.scale", scale), Registry()
    registry.add(op)
    op.implement("late", "vendor.kernels:scale")
    with pytest.raises(RegistrationError, match=r"^demo\.scale, late: .* write registry\.implement\('demo\.scale'"):
        registry.check()
    other = Registry()
    other.add(op)
    other.check()


def test_two_registries_share_nothing(registry: Registry) -> None:
    before = len(registry.ops["kvcache.last_loc"].implementations)
    registry.implement("kvcache.last_loc", "mine", "mine:last_loc")
    assert len(registry.ops["kvcache.last_loc"].implementations) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "op: attention\nengine: e\nrows: [{provider: x, kind: [mha], device: [gpu]}]",
            "mine.yaml: row 1 .x.: unknown device 'gpu'",
        ),
        (
            "op: attention\nengine: e\nrows: [{provider: x, pages: {sizes: []}}]",
            "row 1 .x.: column pages: field sizes: expected a list of at least one positive",
        ),
        ("op: attention\nengine: e\nrows: [{provider: x, phases: [prefil]}]", "row 1 .x.: unknown phase 'prefil'"),
        ("op: attention\nengine: e\nrows: [{provider: x, colour: red}]", "row 1 .x.: unknown column colour"),
        (
            "op: attention\nengine: e\nrows: [{provider: fa3, kind: [mha], device: [cuda]}]",
            "fa3 .mha. and fa3 can both be asked",
        ),
        ("op: attention\nrows: [{provider: x}]", "row 1 .x.: a provider without a target is declared only"),
        ("choose: [{name: r, op: attention, propose: nobody}]", "rule r: attention has no provider 'nobody'"),
        ("choose: [{name: r, op: attention}]", "rule 1: a rule has either `propose"),
        ("fill: [{name: f, set: {a: 1}, force: true}]", "fill 1: a rule with force names the code"),
        ("op: attention\nop: attention\nrows: []", "duplicate|twice"),
        ("surprise: 1", "unknown section surprise"),
        ("- 1", "expected a mapping"),
    ],
)
def test_a_catalogue_with_a_contradiction_names_file_and_row(
    registry: Registry, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)

    def load() -> None:
        registry.catalogue(path)
        registry.check()

    with pytest.raises(RegistrationError, match=message) as raised:
        load()
    assert "mine.yaml" in str(raised.value) or "rule r" in str(raised.value) or "fa3" in str(raised.value)


def test_a_vendors_rules_go_first_on_its_own_device(registry: Registry, tmp_path: Path) -> None:
    from confbag import load

    registry._plugin = "acme"
    registry.device("acme")
    registry.platform("acme:one", Platform(device="acme", arch="one", packages={"torch": "2.13.0", "acme-kit": "1.0"}))
    path = tmp_path / "acme.yaml"
    path.write_text(
        "op: attention\nengine: acme\n"
        "rows: [{provider: acme, kind: [mha], device: [acme], phases: [prefill, decode], graph: true}]\n"
        "choose: [{name: acme-first, op: attention, when: {platform.device: acme}, propose: acme, why: ours}]\n"
    )
    registry.catalogue(path)
    registry._plugin = None
    registry.check()
    bag: Bag = load(env={})
    plan = make_plan(bag, registry.platforms["acme:one"], registry=registry)
    assert (plan["attention@decode"].provider, plan["attention@decode"].rule) == ("acme", "acme-first")
    assert (
        make_plan(bag, Platform(device="cuda", arch="sm90", packages={}), registry=registry)[
            "attention@decode"
        ].provider
        != "acme"
    )


def test_a_shipped_registry_has_no_contradiction(registry: Registry) -> None:
    registry.check()
    assert next(iter(registry.ops)) == "attention"  # others read what was decided for it
    assert ALWAYS
