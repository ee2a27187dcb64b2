"""A platform: how one is named, what it holds, and what it refuses to hold."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import pytest

from confbag.backends import Platform
from confbag.backends.platforms.components import component_version, components
from confbag.backends.platforms.known import names
from confbag.errors import ConfigError, PlatformError

KNOWN = (
    *("cuda:sm75", "cuda:sm80", "cuda:sm86", "cuda:sm89", "cuda:sm90", "cuda:sm100", "cuda:sm103", "cuda:sm120"),
    *("hip:gfx942", "hip:gfx950", "npu:ascend910b", "npu:ascend910_93", "npu:ascend950"),
    *("xpu:pvc", "xpu:bmg", "xpu:dg2", "musa:mp31", "mps:apple"),
    *("cpu:x86_64", "cpu:x86_64_amx", "cpu:aarch64"),
)


def test_the_known_platforms() -> None:
    assert set(names()) == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_platform_marks_what_is_only_typical(name: str) -> None:
    platform = Platform.find(name)
    assert platform == Platform.known(name)
    assert platform.name == name
    assert platform.device == name.partition(":")[0]
    assert platform.packages is not None
    listed = set() if platform.native_ops is None else {"native_ops"}
    versions = {*(f"packages.{key}" for key in platform.packages), *(f"toolkit.{key}" for key in platform.toolkit)}
    assert platform.assumed == versions | {"packages"} | listed
    assert platform.notes == ()


def test_features_are_those_of_the_architecture() -> None:
    featured = {name: set(Platform.known(name).features) for name in KNOWN if Platform.known(name).features}
    assert featured == {"xpu:pvc": {"xmx"}, "xpu:bmg": {"xmx"}, "cpu:x86_64_amx": {"amx"}}
    assert Platform.known("cpu:x86_64_amx").arch == "x86_64"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("cuda:sm_90", "cuda:sm90"),
        ("CUDA:9.0", "cuda:sm90"),
        ("npu:Ascend910B2C", "npu:ascend910b"),
        ("cpu:arm64", "cpu:aarch64"),
    ],
)
def test_a_name_may_be_spelt_as_vendors_do(spelling: str, name: str) -> None:
    assert Platform.find(spelling).name == name


@pytest.mark.parametrize(
    ("name", "meant"),
    [("npu:ascend910_99", "npu:ascend910_93"), ("sm90", "cuda:sm90"), ("cpuu", "cpu"), ("gfx950", "hip:gfx950")],
)
def test_an_unknown_name_says_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(PlatformError, match=f"did you mean {meant}\\?"):
        Platform.find(name)


def test_an_unknown_architecture_lists_its_devices_own() -> None:
    with pytest.raises(PlatformError) as caught:
        Platform.find("npu")
    assert "npu:ascend950" in str(caught.value)
    assert "cuda" not in str(caught.value)


def test_a_plug_ins_platform_is_found_and_suggested() -> None:
    added = {"mlu:mlu590": Platform("mlu", "mlu590")}
    assert Platform.find("mlu:mlu590", added=added).device == "mlu"
    with pytest.raises(PlatformError, match="did you mean mlu:mlu590"):
        Platform.find("mlu:mlu59", added=added)


def test_a_path_is_a_file_and_never_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain").write_text("schema: 1\ndevice: npu\narch: ascend950\n")
    Path("cpu").write_text("not: read")
    assert Platform.find("plain").spec == "npu:ascend950"
    assert Platform.find(str(tmp_path / "plain")).spec == "npu:ascend950"
    assert Platform.find("cpu").device == "cpu"
    for name in ("absent.yaml", "absent.YML"):
        with pytest.raises(ConfigError, match="no such file"):
            Platform.find(name)
    with pytest.raises(ConfigError, match="directory"):
        Platform.find(str(tmp_path))


def test_cpu_and_this_are_this_host() -> None:
    import platform as host

    from confbag.backends.platforms.arch import normalise

    cpu, this = Platform.find("cpu"), Platform.find("this")
    assert cpu.device == "cpu"
    assert cpu.arch == normalise(host.machine(), "cpu")
    assert this == Platform.this()
    assert this.packages is not None
    assert this.packages["pytest"] == pytest.__version__
    assert sys.version_info >= (3, 10)


@pytest.mark.parametrize("name", KNOWN)
def test_a_platform_is_a_value(name: str) -> None:
    platform = Platform.known(name)
    for twin in (pickle.loads(pickle.dumps(platform)), copy.deepcopy(platform)):
        assert twin == platform
        assert hash(twin) == hash(platform)
        assert (twin.name, twin.notes) == (platform.name, platform.notes)
    with pytest.raises(TypeError):
        platform.toolkit["cuda"] = "1"  # type: ignore[index]


def test_facts_are_normalised() -> None:
    platform = Platform("cuda", "sm_90a", toolkit={"cann": "8.3.RC1"}, packages={"Torch_NPU": "2.4.0", "a": "1"})
    assert platform.arch == "sm90"
    assert platform.toolkit == {"cann": "8.3rc1"}
    assert platform.packages == {"a": "1", "torch-npu": "2.4.0"}
    assert (platform.name, platform.spec) == ("cuda:sm90", "cuda:sm90")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"device": "NPU!"}, "device"),
        ({"device": "cuda", "arch": "gfx942"}, "no architecture of cuda; write for example sm90"),
        ({"device": "npu", "arch": "sm90"}, "write for example ascend910b"),
        ({"device": "cuda", "count": -1}, "count"),
        ({"device": "cuda", "count": True}, "count"),
        ({"device": "cuda", "toolkit": {"cuda": 13.0}}, "toolkit.cuda"),
        ({"device": "cuda", "toolkit": {"cuda": "new"}}, "toolkit.cuda"),
        ({"device": "cuda", "features": ("",)}, "features"),
        ({"device": "npu", "packages": {"torch_npu": "1", "torch-npu": "2"}}, "two versions"),
    ],
)
def test_a_contradiction_is_refused(facts: dict[str, object], said: str) -> None:
    with pytest.raises(PlatformError, match=said):
        Platform(**facts)  # type: ignore[arg-type]


def test_the_plain_data_of_a_platform() -> None:
    assert Platform("mps", "apple").to_dict() == {
        "schema": 1,
        "device": "mps",
        "arch": "apple",
        "features": [],
        "toolkit": {},
        "assumed": [],
    }
    full = Platform("npu", "ascend910b", frozenset("x"), 8, {"cann": "9.0"}, {}, ("npu::x(Tensor a) -> Tensor",))
    assert list(full.to_dict()) == [
        *("schema", "device", "arch", "features", "count", "toolkit", "packages", "native_ops", "assumed")
    ]


@pytest.mark.parametrize(
    ("device", "packages", "component", "found"),
    [
        ("cuda", {"triton": "3.6.0"}, "triton", ("triton", "3.6.0")),
        ("xpu", {"triton": "3.6.0"}, "triton", ("triton", "3.6.0")),
        ("xpu", {"triton": "3.6.0", "triton-xpu": "3.5.0"}, "triton", ("triton-xpu", "3.5.0")),
        ("hip", {"pytorch-triton-rocm": "3.2.0"}, "triton", ("pytorch-triton-rocm", "3.2.0")),
        ("npu", {"triton-ascend": "3.2.0", "triton": "3.6.0"}, "triton", ("triton-ascend", "3.2.0")),
        ("npu", {"triton": "3.6.0"}, "triton", None),
        ("cuda", {"triton-ascend": "3.2.0"}, "triton", None),
        ("hip", {"amd-aiter": "0.1.9"}, "aiter", ("amd-aiter", "0.1.9")),
        ("hip", {"aiter": "0.1.9"}, "aiter", ("aiter", "0.1.9")),
        ("hip", {"aiter": "0.13.20191203"}, "aiter", None),
        ("npu", {"torch-npu": "2.4.0"}, "torch_npu", ("torch-npu", "2.4.0")),
        ("cuda", {"flashinfer-python": "0.7.2"}, "flashinfer", ("flashinfer-python", "0.7.2")),
        ("cuda", {"acme-kernels": "1.0"}, "Acme.Kernels", ("acme-kernels", "1.0")),
        ("cuda", {}, "acme-kernels", None),
        ("cuda", None, "triton", None),
    ],
)
def test_the_distribution_that_brings_a_component(
    device: str, packages: dict[str, str] | None, component: str, found: tuple[str, str] | None
) -> None:
    assert component_version(Platform(device, packages=packages), component) == found


def test_the_components_data_is_sound() -> None:
    from confbag.backends.platforms.platform import DEVICES, canonical

    for name, component in components().items():
        assert name == canonical(name)
        for distribution, devices in component.distributions.items():
            assert distribution == canonical(distribution)
            assert devices is None or set(devices) <= set(DEVICES)
        assert set(component.unrelated) <= set(component.distributions)
