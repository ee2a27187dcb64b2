"""Probing Ascend NPUs: hardware, torch_npu, CANN, and what is missing of the three."""

from __future__ import annotations

import re
from typing import Any

import pytest

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def test_a_whole_npu_machine(npu_machine: Any) -> None:
    found = npu_machine.probe()
    platform = found.platform
    assert (platform.device, platform.arch, platform.count) == ("npu", "ascend910_93", 2)
    assert platform.toolkit == {"cann": "8.3rc1", "driver": "25.2.0"}
    assert platform.notes == ()
    assert [argv[5] for argv in npu_machine.started] == ["ascendcl"]  # no child imported torch
    cann = next(fact for fact in found.facts if fact.name == "toolkit cann")
    assert cann.value == "8.3.RC1"  # the vendor's own spelling is kept for people
    assert cann.learnt.endswith("ascend_toolkit_install.info")


@pytest.mark.parametrize(
    ("variable", "home", "name", "text", "version"),
    [
        ("ASCEND_HOME_PATH", "/opt/cann", "version.info", "Version=8.3.RC1\n", "8.3rc1"),
        (
            "ASCEND_TOOLKIT_HOME",
            "/opt/cann",
            "x86_64-linux/ascend_toolkit_install.info",
            "version=9.0.0-beta.2\n",
            "9.0.0b2",
        ),
        (None, "/usr/local/Ascend/cann", "aarch64-linux/ascend_toolkit_install.info", "version=8.5.0\n", "8.5.0"),
        (None, "/usr/local/Ascend/cann-9.0.0", "aarch64-linux/ascend_toolkit_install.info", "version=9.0.0\n", "9.0.0"),
        (None, "/usr/local/Ascend/ascend-toolkit/8.0.RC2", "version.info", "Version=8.0.RC2.alpha003\n", "8.0rc2.dev3"),
        ("ASCEND_HOME_PATH", "/o", "runtime/version.info", "Version=7.6.0.1.220\nversion_dir=8.1.RC1\n", "8.1rc1"),
    ],
)
def test_the_version_of_cann(stage: Any, variable: str | None, home: str, name: str, text: str, version: str) -> None:
    if variable:
        stage.environ[variable] = home
    stage.file(f"{home}/{name}", text)
    assert stage.probe().platform.toolkit == {"cann": version}


def test_the_runtime_parts_own_version_is_not_canns(stage: Any) -> None:
    stage.environ["ASCEND_HOME_PATH"] = "/o"
    stage.file("/o/runtime/version.info", "Version=7.6.0.1.220\n")
    assert "cann" not in stage.probe().platform.toolkit


def test_devices_without_torch_npu_are_a_warning(stage: Any) -> None:
    stage.file("/dev/davinci0")
    stage.torch("2.13.0+cpu")
    platform = stage.probe().platform
    assert platform.device == "cpu"
    assert platform.notes == (
        "/dev/davinci0 is here but torch_npu is not installed; planning for cpu. "
        "Install torch_npu, with the torch of the same version.",
    )
    assert stage.started == []


def test_torch_npu_without_cann_is_one_line(stage: Any) -> None:
    stage.torch("2.13.0+cpu")
    stage.torch_npu("2.13.0")
    platform = stage.probe().platform
    assert platform.device == "cpu"
    assert platform.notes == (
        "torch_npu 2.13.0 is installed but CANN is not loadable (libhccl.so not found); planning without it. "
        "Run 'source <CANN>/set_env.sh'.",
    )


def test_hardware_and_torch_npu_without_cann_is_one_line_too(npu_machine: Any) -> None:
    del npu_machine.environ["LD_LIBRARY_PATH"]
    npu_machine.file("/usr/local/Ascend/ascend-toolkit/set_env.sh")
    platform = npu_machine.probe().platform
    assert platform.device == "cpu"
    assert platform.notes == (
        "torch_npu 2.7.1 is installed but CANN is not loadable (libhccl.so not found); planning without it although "
        "/dev/davinci0 is here. Run 'source /usr/local/Ascend/ascend-toolkit/set_env.sh'.",
    )


def test_the_first_library_that_is_missing_is_named(npu_machine: Any) -> None:
    (npu_machine.root / "usr/local/Ascend/ascend-toolkit/latest/lib64/libgraph.so").unlink()
    assert "(libgraph.so not found)" in npu_machine.probe().platform.notes[0]


def test_libraries_may_be_in_the_loaders_cache(npu_machine: Any) -> None:
    del npu_machine.environ["LD_LIBRARY_PATH"]
    names = ["hccl", "ascendcl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel"]
    npu_machine.file("/etc/ld.so.cache", "\0".join(["ld.so-1.7.0", *(f"lib{name}.so" for name in names), ""]).encode())
    assert npu_machine.probe().platform.device == "npu"
    npu_machine.file("/etc/ld.so.cache", "\0".join(["", *(f"libmy{name}.so" for name in names), ""]).encode())
    assert npu_machine.probe().platform.device == "cpu"


def test_the_loader_has_the_last_word_where_the_hardware_is(npu_machine: Any) -> None:
    del npu_machine.environ["LD_LIBRARY_PATH"]
    npu_machine.answers["first_unloadable"] = None
    assert npu_machine.probe().platform.spec == "npu:ascend910_93"
    npu_machine.answers["first_unloadable"] = "libascendcl.so"
    assert "(libascendcl.so not found)" in npu_machine.probe().platform.notes[0]


def test_torch_npu_of_another_torch_is_a_note(npu_machine: Any) -> None:
    (npu_machine.site / "torch-2.7.1+cpu.dist-info").rename(npu_machine.site / "torch-2.13.0+cpu.dist-info")
    notes = npu_machine.probe().platform.notes
    assert notes == (
        "torch_npu 2.7.1 needs torch 2.7, and torch 2.13.0+cpu is installed. Install torch 2.7.* or torch-npu 2.13.*.",
    )


@pytest.mark.parametrize(
    ("value", "noted"), [("true", True), ("no", True), ("", True), ("1", False), ("0", False), (None, False)]
)
def test_an_autoload_value_that_silently_disables_is_noted(npu_machine: Any, value: str | None, noted: bool) -> None:
    if value is not None:
        npu_machine.environ[AUTOLOAD] = value
    notes = npu_machine.probe().platform.notes
    assert [AUTOLOAD in note for note in notes] == ([True] if noted else [])
    assert npu_machine.environ.get(AUTOLOAD) == value


def test_npu_smi_names_an_a2(npu_machine: Any) -> None:
    del npu_machine.answers["ascendcl"]
    npu_machine.program("/usr/bin/npu-smi", "\tNPU ID       : 0\n\tChip Name    : 910B3\n\tNPU Name     : 910B3\n")
    assert npu_machine.probe().platform.arch == "ascend910b"


def test_npu_smi_names_an_a3(npu_machine: Any) -> None:
    npu_machine.answers["ascendcl"] = {"error": "aclInit answered 507008"}
    npu_machine.program("/usr/bin/npu-smi", "  Chip Name  : Ascend910\n  NPU Name   : 9392\n")
    assert npu_machine.probe().platform.arch == "ascend910_93"


def test_a_soc_that_nobody_names_is_asked_of_torch(npu_machine: Any, torch_answer: Any) -> None:
    del npu_machine.answers["ascendcl"]
    npu_machine.answers["torch_facts"] = torch_answer(
        "2.7.1", npu={"available": True, "count": 2, "name": "Ascend910B2C"}
    )
    platform = npu_machine.probe().platform
    assert (platform.arch, platform.notes) == ("ascend910b", ())


def test_a_soc_that_cannot_be_told_is_unknown_and_said(npu_machine: Any) -> None:
    del npu_machine.answers["ascendcl"]
    platform = npu_machine.probe().platform
    assert (platform.device, platform.arch) == ("npu", None)
    assert any("the architecture is unknown" in note for note in platform.notes)
    assert any(re.search("importing torch in a child process failed", note) for note in platform.notes)


def test_doctors_probe_lists_native_ops_of_what_is_installed(npu_machine: Any, torch_answer: Any) -> None:
    schemas = ['npu::npu_rotary_mul(Tensor input, Tensor r1, Tensor r2, str rotary_mode="half") -> Tensor']
    npu_machine.package("sgl-kernel-npu", "2026.8.0")
    answer = torch_answer("2.7.1", npu={"available": True, "count": 2})
    npu_machine.answers["torch_facts"] = {
        **answer,
        "native_ops": schemas,
        "failed": {"sgl_kernel_npu": "ImportError: x"},
    }
    platform = npu_machine.probe(deep=True).platform
    assert platform.native_ops == tuple(schemas)
    assert platform.notes == (
        "sgl_kernel_npu is installed but importing it fails (ImportError: x); its native ops are not listed.",
    )
    asked = next(argv for argv in npu_machine.started if argv[5] == "torch_facts")
    assert '"modules": ["torch_npu", "sgl_kernel_npu"]' in asked[6]


def test_autoload_is_off_only_in_the_child(stage: Any, torch_answer: Any) -> None:
    stage.torch("2.13.0+cpu")
    stage.torch_npu("2.13.0")
    stage.answers["torch_facts"] = torch_answer("2.13.0+cpu")
    stage.probe(deep=True)
    assert [environ.get(AUTOLOAD) for environ in stage.environs] == ["0"]
    assert AUTOLOAD not in stage.environ
