"""A platform file: read strictly, written so that it reads back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from confbag.backends import Platform
from confbag.backends.platforms.file import parse_platform
from confbag.errors import ConfigError

DESIGN = """\
schema: 1
device: npu                 # cuda, hip, npu, xpu, musa, mps, cpu
arch: ascend910_93
features: []                # xmx, amx, ...: absent means none
count: 8
toolkit: {cann: "9.0.0"}
packages: {torch: "2.14.0", torch-npu: "2.14.0", sgl-kernel-npu: "2026.8.0"}
native_ops: []
"""


def faults(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_platform(text.encode(), "p.yaml")
    return [str(fault) for fault in caught.value.faults]


def test_the_file_of_the_design() -> None:
    assert parse_platform(DESIGN.encode(), "p.yaml") == Platform(
        "npu",
        "ascend910_93",
        count=8,
        toolkit={"cann": "9.0.0"},
        packages={"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.8.0"},
        native_ops=(),
    )


def test_what_is_absent_is_unknown() -> None:
    platform = parse_platform(b"schema: 1\ndevice: cuda\n", "p.yaml")
    assert (platform.arch, platform.count, platform.packages, platform.native_ops) == (None, None, None, None)
    assert (platform.features, dict(platform.toolkit)) == (frozenset(), {})


def test_a_vendors_candidate_is_a_version() -> None:
    platform = parse_platform(b"schema: 1\ndevice: npu\ntoolkit: {cann: 8.3.RC1}\n", "p.yaml")
    assert platform.toolkit == {"cann": "8.3rc1"}


def test_every_fault_at_once_with_its_place() -> None:
    found = faults(
        "schema: 2\n"
        "device: npuu\n"
        "arch: 9.0\n"
        "featurs: []\n"
        "features: xmx\n"
        "count: many\n"
        'toolkit: {cann: 13.0, cudaa: "12.1", driver: "x"}\n'
        'packages: {torch: 2.10, torch_npu: "1", torch-npu: "2"}\n'
        "native_ops: [compressor]\n"
        "assumed: [7]\n"
    )
    assert found == [
        "p.yaml:1:1: schema: this confbag reads platform files of schema 1; write `schema: 1`",
        "p.yaml:2:1: device: unknown device; write npu",
        'p.yaml:3:1: arch: 9.0 is a number; quote it: "9.0"',
        "p.yaml:4:1: featurs: unknown key; write features",
        "p.yaml:5:1: features: is no list; put it in brackets",
        "p.yaml:6:1: count: is no number of devices; write a whole number such as 8",
        'p.yaml:7:11: toolkit.cann: 13.0 is a number; quote it: "13.0"',
        'p.yaml:7:38: toolkit.driver: is no version; write one such as "9.0.0"',
        "p.yaml:7:23: toolkit.cudaa: unknown toolkit; write cuda",
        'p.yaml:8:12: packages.torch: 2.10 is a number; quote it: "2.10"',
        "p.yaml:8:41: packages.torch-npu: is the same distribution as another key here, torch-npu; keep one",
        "p.yaml:9:14: native_ops.0: expected a schema such as 'npu::compressor(Tensor x) -> Tensor'",
        'p.yaml:10:11: assumed.0: 7 is a number; quote it: "7"',
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("[]", "is no mapping"),
        ("cuda:sm90", "is no mapping"),
        ("device: cuda\n", "schema: is missing"),
        ("schema: 1\n", "device: is missing"),
        ("schema: true\ndevice: cuda\n", "schema 1"),
        ("schema: 1\ndevice: cuda\narch: gfx942\n", "no architecture of cuda"),
        ("schema: 1\ndevice: cuda\ncount: true\n", "count"),
        ("schema: 1\ndevice: cuda\ncount: -1\n", "count"),
        ("schema: 1\ndevice: cuda\ndevice: npu\n", "duplicate"),
        ("schema: 1\ndevice: cuda\ntoolkit: []\n", "is no mapping"),
        ("schema: 1\ndevice: cuda\npackages:\n", "is no mapping"),
        ("schema: 1\ndevice: cuda\nfeatures:\n", "is no list"),
        ("schema: 1\ndevice: cuda\nfeatures: ['x x']\n", "expected a name"),
        ('schema: 1\ndevice: cuda\npackages: {"a b": "1"}\n', "cannot be a name"),
        ("schema: 1\ndevice: {a: b}\n", "is no text"),
        ("schema: 1\ndevice: [cuda\n", "closing bracket"),
        ("schema: 1\ndevice: cuda\n---\nx: 1\n", "second document"),
    ],
)
def test_a_wrong_file_says_what_to_write(text: str, said: str) -> None:
    assert any(said in fault for fault in faults(text))


def test_a_value_under_an_unknown_key_is_never_shown() -> None:
    text = "schema: 1\ndevice: cuda\ntoken: hunter2\nHUNTER3-key: x\n"
    assert not any("hunter" in fault.lower() for fault in faults(text))


def test_a_plug_ins_device_is_read_where_it_is_known(tmp_path: Path) -> None:
    path = tmp_path / "mlu.yaml"
    path.write_text("schema: 1\ndevice: mlu\narch: mlu590\ntoolkit: {neuware: '4.0'}\n")
    with pytest.raises(ConfigError, match="unknown device"):
        Platform.load(path)
    assert Platform.load(path, devices=["mlu"]).spec == "mlu:mlu590"


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
versions = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}(rc[0-9])?(\+[a-z]{1,3}[0-9]?)?", fullmatch=True)
schemas = st.builds(
    "{}::{}({}) -> Tensor".format,
    names,
    names,
    st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=30),
)


def _distinct(packages: dict[str, str]) -> dict[str, str]:
    from confbag.backends.platforms.platform import canonical

    return {canonical(name): version for name, version in packages.items()}


@st.composite
def platforms(draw: Any) -> Platform:
    device, arches = draw(
        st.sampled_from(
            [
                ("cuda", ["sm90", "sm_121a"]),
                ("hip", ["gfx90a"]),
                ("npu", ["ascend310b"]),
                ("xpu", ["on", "null", "yes"]),
                ("cpu", ["e1"]),
            ]
        )
    )
    return Platform(
        device,
        draw(st.none() | st.sampled_from(arches)),
        draw(st.frozensets(st.sampled_from(["xmx", "amx", "true", "n"]))),
        draw(st.none() | st.integers(0, 1024)),
        draw(st.dictionaries(st.sampled_from(["cuda", "cann", "driver", "nvcc"]), versions)),
        draw(st.none() | st.dictionaries(names, versions, max_size=5).map(_distinct)),
        draw(st.none() | st.lists(schemas, max_size=3).map(tuple)),
        draw(st.frozensets(st.sampled_from(["packages", "packages.torch", "toolkit.cann"]))),
    )


@given(platforms())
def test_what_is_dumped_loads_equal(platform: Platform) -> None:
    text = platform.dump_yaml()
    assert parse_platform(text.encode(), "dumped.yaml") == platform
    data = yaml.safe_load(text)  # and every other reader, whatever YAML it speaks, sees the same texts
    assert {key: value for key, value in platform.to_dict().items() if key != "assumed" or value} == data


def read(content: bytes) -> Platform | ConfigError:
    try:
        return parse_platform(content, "p.yaml")
    except ConfigError as error:
        return error


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_platform_or_faults(content: bytes) -> None:
    found = read(content)
    assert isinstance(found, Platform) or found.faults


@given(st.integers(0, len(DESIGN)), st.text(max_size=3), st.integers(0, 3))
def test_a_mutated_file_is_a_platform_or_faults_with_a_place(at: int, inserted: str, removed: int) -> None:
    found = read((DESIGN[:at] + inserted + DESIGN[at + removed :]).encode("utf-8", "surrogatepass"))
    if isinstance(found, Platform):
        assert parse_platform(found.dump_yaml().encode(), "dumped.yaml") == found
    else:
        assert found.faults
        assert all(fault.where and fault.where.startswith("p.yaml") for fault in found.faults)
