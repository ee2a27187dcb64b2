"""Native op libraries as data: what a catalogue may say of one, and what a plan says of the versions that ops need."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confbag import Bag, load
from confbag.backends import Library, NativeOp, Op, Plan, Platform, Registry, Requires, make_plan
from confbag.backends.decide.library_needs import library_needs
from confbag.backends.render import html, markdown, table
from confbag.errors import RegistrationError

EXAMPLE = Path(__file__).parents[3] / "examples/configs/ascend-deepseek-v4.yaml"
DSV4 = {
    "dsv4.compressor": "npu::compressor",
    "dsv4.sparse_attention": "npu::sparse_attn_sharedkv",
    "dsv4.sparse_metadata": "npu::sparse_attn_sharedkv_metadata_host",
}
PACKAGES = {"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.8.0", "custom-ops": "1.0"}


def example(**settings: Any) -> Bag:
    return load(str(EXAMPLE), env={}, overrides={"device.arch": "auto", **settings})


def npu(arch: str = "ascend910_93", **facts: Any) -> Platform:
    return Platform("npu", arch, **{"packages": PACKAGES, "toolkit": {"cann": "9.0.0"}, **facts})


# The data


def test_the_shipped_libraries(registry: Registry) -> None:
    ours = registry.libraries
    assert list(ours) == ["sgl-kernel-npu", "ascend-custom-ops"]
    assert {name: library.namespace for name, library in ours.items()} == {
        "sgl-kernel-npu": "npu",
        "ascend-custom-ops": "custom",
    }
    assert ours["sgl-kernel-npu"].component == "sgl-kernel-npu>=2026.8.0"
    assert [op.name for op in ours["sgl-kernel-npu"].ops] == [
        "npu::compressor",
        "npu::sparse_attn_sharedkv_metadata_host",
        "npu::sparse_attn_sharedkv",
    ]
    assert {op.name: op.dispatch_key for op in ours["sgl-kernel-npu"].ops if op.dispatch_key} == {
        "npu::sparse_attn_sharedkv_metadata_host": "CPU"
    }
    for library in ours.values():
        assert library.environment
        assert library.package
        assert library.prerequisites == ("torch_npu",)


def test_torch_reads_every_listed_schema(registry: Registry) -> None:
    torch = pytest.importorskip("torch")
    for library in registry.libraries.values():
        for op in library.ops:
            assert torch._C.parse_schema(op.schema).name == op.name


def test_every_op_that_an_implementation_asks_for_is_listed(registry: Registry) -> None:
    asked = {
        (row.requires.library, native)
        for op in registry.ops
        for row in registry.rows(op)
        for native in row.requires.native_ops
    }
    listed = {(library.name, native) for library in registry.libraries.values() for native in library.ops}
    assert asked == listed


def catalogue_of(tmp_path: Path, text: str) -> Registry:
    file = tmp_path / "acme.yaml"
    file.write_text(text)
    made = Registry()
    made.catalogue(file)
    return made


def test_a_vendors_catalogue_may_list_libraries(tmp_path: Path) -> None:
    made = catalogue_of(
        tmp_path,
        "libraries:\n"
        "  - name: acme\n    namespace: acme\n    component: acme-ops>=2\n    environment: ACME_SO\n"
        "    package: acme_ops\n"
        "    file: libacme*.so\n    prerequisites: [acme_base]\n    probe_in_child: false\n    probe_seconds: 5\n"
        "    ops:\n      - 'acme::one(Tensor x) -> Tensor'\n"
        "      - {schema: 'acme::two(Tensor x,\n          int n=1) -> Tensor', dispatch_key: CPU}\n",
    )
    assert made.libraries == {
        "acme": Library(
            "acme",
            "acme",
            "ACME_SO",
            "acme_ops",
            "libacme*.so",
            ("acme_base",),
            "acme-ops>=2",
            (NativeOp("acme::one(Tensor x) -> Tensor"), NativeOp("acme::two(Tensor x, int n=1) -> Tensor", "CPU")),
            False,
            5,
        )
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- 3", "acme.yaml: library 1: expected a mapping"),
        ("- {namespace: acme}", "library 1: `name` is missing or no text"),
        ("- {name: acme}", "library 1: `namespace` is missing or no text"),
        ("- {name: acme, namespace: acme}", "library 1: library acme: name its environment variable"),
        ("- {name: acme, namespace: acme, package: a, path: /x.so}", "library 1: unknown field path; known are name"),
        ("- {name: acme, namespace: acme, package: a, component: 'acme=>1'}", "library acme: component 'acme=>1'"),
        ("- {name: acme, namespace: acme, package: a, ops: [acme.one]}", "native op 'acme.one': expected a schema"),
        (
            "- {name: acme, namespace: acme, package: a, ops: [{name: x}]}",
            "library 1: ops: expected a schema, or a mapping",
        ),
        ("- {name: acme, namespace: acme, package: a, ops: 3}", "library 1: `ops` must be a list"),
        ("- {name: acme, namespace: acme, package: a, prerequisites: b}", "library 1: `prerequisites` must be a list"),
        (
            "- {name: acme, namespace: acme, package: 3}",
            "library 1: library acme: field package: expected a text, got the number 3",
        ),
        (
            "- {name: acme, namespace: acme, package: a, ops: ['npu::x(Tensor y) -> Tensor']}",
            "library acme: npu::x is not in its namespace, acme",
        ),
        (
            "- {name: acme, namespace: a, package: a, ops: ['a::x(Tensor y) -> Tensor', 'a::x(int y) -> Tensor']}",
            "library acme: a::x is listed twice",
        ),
        (
            "- {name: acme, namespace: acme, package: a}\n- {name: acme, namespace: other, package: a}",
            "library 'acme' is registered twice",
        ),
    ],
)
def test_a_wrong_library_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        catalogue_of(tmp_path, "libraries:\n" + text + "\n")
    assert says in str(caught.value)


def scale(x: int) -> int:
    """x, scaled."""
    return x


ONE = NativeOp("acme::one(Tensor x) -> Tensor")
ACME = Library("acme", "acme", "ACME_SO", component="acme-ops>=2", ops=(ONE,))


def registry_of(library: Library, native: NativeOp, **requires: Any) -> Registry:
    """An op with one implementation on a native op, its library registered after it."""
    op = Op("demo.scale", scale)
    op.implement("reference", "demo:scale")
    op.implement("acme", "demo:scale", priority=1, requires=Requires(native_ops=(native,), library="acme", **requires))
    made = Registry()
    made.add(op)
    made.library(library)
    return made


@pytest.mark.parametrize(
    ("native", "says"),
    [
        (NativeOp("acme::ones(Tensor x) -> Tensor"), "library acme lists no acme::ones; did you mean acme::one?"),
        (NativeOp("acme::one(Tensor x, int n=1) -> Tensor"), "acme::one is not what library acme lists"),
        (NativeOp(ONE.schema, "CPU"), "here:  acme::one(Tensor x) -> Tensor, CPU kernel"),
    ],
)
def test_an_implementation_asks_for_what_its_library_lists(native: NativeOp, says: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        registry_of(ACME, native).check()
    assert says in str(caught.value)
    registry_of(replace(ACME, ops=()), native).check()


def test_a_schema_is_the_same_however_it_is_broken_into_lines() -> None:
    assert NativeOp("acme::one(Tensor x,\n   int n=1)\n -> Tensor") == NativeOp(
        "acme::one(Tensor x, int n=1) -> Tensor"
    )
    registry_of(ACME, NativeOp("acme::one(Tensor  x)\n-> Tensor")).check()


def test_who_names_a_library_needs_its_version(bag_of: Callable[..., Bag]) -> None:
    registry = registry_of(ACME, ONE)
    for packages, code, actual in (
        ({}, "package-missing", "not installed"),
        ({"acme-ops": "1.9"}, "package-version", "acme-ops 1.9"),
    ):
        plan = make_plan(
            bag_of(**{"exec.kernels.pin": {"demo.scale": "acme"}}),
            Platform("npu", packages=packages),
            registry=registry,
        )
        assert [(f.code, f.field, f.required, f.actual) for f in plan.faults] == [
            (code, "acme-ops", "acme-ops>=2", actual)
        ]
    plan = make_plan(bag_of(), Platform("npu", packages={"acme-ops": "2.1"}), registry=registry)
    assert plan["demo.scale"].provider == "acme"
    (need,) = library_needs(plan)
    assert need.version == "acme-ops>=2, here acme-ops 2.1"
    assert make_plan(bag_of(), Platform("npu"), registry=registry)["demo.scale"].assumed[0] == "package acme-ops>=2"
    assert len(registry.rows("demo.scale")[1].requires.components) == 1


def test_a_library_without_a_component_says_only_where_it_is(bag_of: Callable[..., Bag]) -> None:
    plan = make_plan(bag_of(), Platform("npu", packages={}), registry=registry_of(replace(ACME, component=None), ONE))
    assert [need.version for need in library_needs(plan)] == [None]
    assert "the file that ACME_SO names" in table.render(plan)


# What a plan says


def test_the_plan_names_each_native_op_with_library_version_and_schema(registry: Registry) -> None:
    plan = make_plan(example(), npu(), registry=registry)
    (library,) = plan.to_dict()["libraries"]
    json.dumps(library)
    assert {key: library[key] for key in ("name", "namespace", "needs", "installed", "assumed")} == {
        "name": "sgl-kernel-npu",
        "namespace": "npu",
        "needs": "sgl-kernel-npu>=2026.8.0",
        "installed": "sgl-kernel-npu 2026.8.0",
        "assumed": False,
    }
    assert {each["op"]: each["native_op"] for each in library["needed_by"]} == DSV4
    assert {each["native_op"]: each["dispatch_key"] for each in library["needed_by"]} == {
        "npu::compressor": "PrivateUse1",
        "npu::sparse_attn_sharedkv": "PrivateUse1",
        "npu::sparse_attn_sharedkv_metadata_host": "CPU",
    }
    listed = registry.libraries["sgl-kernel-npu"]
    for each in library["needed_by"]:
        declared = listed.declared(each["native_op"])
        assert declared is not None
        assert each["schema"] == declared.schema
        assert (
            plan[each["op"] + ("@decode" if each["op"] == "dsv4.sparse_attention" else "")].provider == each["provider"]
        )
    for render in (table.render, markdown.render, html.render):
        text = " ".join(render(plan).replace("\\", "").split())
        for op, native in DSV4.items():
            assert op in text
            assert native in text
        assert "2026.8.0, here sgl-kernel-npu 2026.8.0; the file that CONFBAG_SGL_KERNEL_NPU_SO names" in text
        assert "with a CPU kernel" in text


def test_a_version_that_is_only_typical_is_marked(registry: Registry) -> None:
    plan = make_plan(example(), Platform.known("npu:ascend910_93"), registry=registry)
    assert library_needs(plan)[0].version == "sgl-kernel-npu>=2026.8.0, here sgl-kernel-npu 2026.8.0 (assumed)"
    unknown = make_plan(example(), npu(packages=None), registry=registry)
    assert library_needs(unknown)[0].version == "sgl-kernel-npu>=2026.8.0, here not known (assumed)"


def rejections(plan: Plan, slot: str) -> dict[str | None, str]:
    return {rejection.provider: str(rejection) for rejection in plan[slot].first_rejections()}


@pytest.mark.parametrize("version", ["2026.7.30", "2026.5.1", "2025.12.0"])
def test_an_old_library_is_refused_for_each_op_that_needs_a_newer_one(registry: Registry, version: str) -> None:
    packages = {**PACKAGES, "sgl-kernel-npu": version}
    del packages["custom-ops"]
    plan = make_plan(example(**{"exec.kernels.fallback": "error"}), npu(packages=packages), registry=registry)
    said = f"package-version: sgl-kernel-npu must be sgl-kernel-npu>=2026.8.0, is sgl-kernel-npu {version}"
    for slot, provider in (
        ("dsv4.compressor", "torch_npu"),
        ("dsv4.sparse_attention@decode", "torch_npu"),
        ("dsv4.sparse_metadata", "torch_npu_host"),
    ):
        assert rejections(plan, slot)[provider] == said
        assert plan[slot].provider is None
    assert {fault.op for fault in plan.faults if fault.code == "package-version"} == set(DSV4)


def test_on_a5_the_plan_takes_its_compressor_and_says_what_is_not_there(registry: Registry) -> None:
    plan = make_plan(example(), Platform.known("npu:ascend950"), registry=registry)
    assert plan["dsv4.compressor"].provider == "torch_npu_a5"
    assert "native op custom::compressor" in plan["dsv4.compressor"].assumed
    for slot, provider, native in (
        ("dsv4.sparse_attention@decode", "torch_npu", "npu::sparse_attn_sharedkv"),
        ("dsv4.sparse_metadata", "torch_npu_host", "npu::sparse_attn_sharedkv_metadata_host"),
    ):
        rejected = next(one for one in plan[slot].first_rejections() if one.provider == provider)
        assert (rejected.code, rejected.field, rejected.actual) == ("op-missing", native, "not there")
        assert rejected.hint == "install a build of sgl-kernel-npu that has it on ascend950"
        assert plan[slot].provider == "reference"
    assert [library["name"] for library in plan.to_dict()["libraries"]] == ["ascend-custom-ops"]


# exec.metadata_placement


@pytest.mark.parametrize(
    ("asked", "facts", "provider", "rule", "placement"),
    [
        ("auto", {}, "torch_npu_host", "metadata-on-host", "host"),
        ("host", {}, "torch_npu_host", "metadata-on-host", "host"),
        ("device", {}, "torch_npu_device", "metadata-on-device", "device"),
        (
            "auto",
            {"packages": {**PACKAGES, "sgl-kernel-npu": "2026.1.1"}},
            "torch_npu_device",
            "metadata-on-device",
            "device",
        ),
        ("auto", {"native_ops": ()}, "reference", "fallback", "host"),
        ("host", {"packages": {**PACKAGES, "sgl-kernel-npu": "2026.1.1"}}, "reference", "fallback", "host"),
        ("device", {"packages": {**PACKAGES, "custom-ops": "0.1"}}, "torch_npu_device", "metadata-on-device", "device"),
    ],
)
def test_placement_chooses_the_provider(
    registry: Registry, asked: str, facts: dict[str, Any], provider: str, rule: str, placement: str
) -> None:
    plan = make_plan(example(**{"exec.metadata_placement": asked}), npu(**facts), registry=registry)
    binding = plan["dsv4.sparse_metadata"]
    assert (binding.provider, binding.rule) == (provider, rule)
    assert plan.bag["exec.metadata_placement"] == placement
    if asked == "auto":
        assert plan.bag.origin("exec.metadata_placement").startswith("rule metadata-by-")


def test_a_placement_that_a_pin_contradicts_is_a_fault(registry: Registry) -> None:
    pinned = {"exec.kernels.pin": {"dsv4.sparse_metadata": "torch_npu_host"}, "exec.metadata_placement": "device"}
    plan = make_plan(example(**pinned), npu(), registry=registry)
    (fault,) = plan.faults
    assert (fault.code, fault.field, fault.actual) == ("feature", "exec.metadata_placement", "device")


@pytest.mark.parametrize(
    ("platform", "settings", "placement", "rule"),
    [
        (
            Platform("cpu", "x86_64", packages={"torch": "2.13.0"}),
            {"model.kind": "dsv4"},
            "host",
            "metadata-by-a-host-op",
        ),
        (Platform("cpu", "x86_64", packages={"torch": "2.13.0"}), {}, "device", "metadata-unused"),
    ],
)
def test_where_no_npu_is(
    registry: Registry,
    bag_of: Callable[..., Bag],
    platform: Platform,
    settings: dict[str, Any],
    placement: str,
    rule: str,
) -> None:
    plan = make_plan(bag_of(**settings), platform, registry=registry)
    assert plan.filled["exec.metadata_placement"][:2] == (placement, rule)
    assert not [text for text in plan.warnings if "sparse_metadata" in text]
