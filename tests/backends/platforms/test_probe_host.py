"""Probing a machine without accelerators: its CPU, and no noise."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_plain_cpu_machine_has_no_notes_and_starts_no_child(stage: Any) -> None:
    stage.torch("2.13.0+cpu")
    stage.file("/proc/cpuinfo", "processor : 0\nflags : fpu sse avx2\n")
    platform = stage.probe().platform
    assert (platform.device, platform.arch, platform.features) == ("cpu", "x86_64", frozenset())
    assert platform.packages == {"torch": "2.13.0+cpu"}
    assert platform.notes == ()
    assert stage.started == []


def test_a_machine_without_torch_has_no_notes(stage: Any) -> None:
    platform = stage.probe(deep=True).platform
    assert (platform.device, platform.packages, platform.native_ops, platform.notes) == ("cpu", {}, None, ())
    assert stage.started == []


@pytest.mark.parametrize(
    ("flags", "features"),
    [
        ("fpu amx_bf16 avx512_fp16 amx_tile amx_int8", {"amx"}),
        ("fpu amx_bf16", set()),
        ("fpu amx_tiles", set()),
    ],
)
def test_amx_is_the_tile_flag_of_cpuinfo(stage: Any, flags: str, features: set[str]) -> None:
    stage.file("/proc/cpuinfo", f"processor\t: 0\nflags\t\t: {flags}\nbugs : amx_tile\n")
    assert stage.probe().platform.features == features


@pytest.mark.parametrize(
    ("machine", "arch"), [("arm64", "aarch64"), ("AMD64", "x86_64"), ("riscv64", "riscv64"), ("", None)]
)
def test_the_cpu_architecture_has_one_spelling(stage: Any, machine: str, arch: str | None) -> None:
    stage.machine = machine
    assert stage.probe().platform.arch == arch


def test_an_apple_gpu_needs_torch(stage: Any) -> None:
    stage.system, stage.machine = "Darwin", "arm64"
    without = stage.probe().platform
    assert without.spec == "cpu:aarch64"
    assert "torch is not installed" in without.notes[0]
    stage.torch("2.13.0")
    assert stage.probe().platform.spec == "mps:apple"


def test_planning_for_the_cpu_ignores_accelerators(npu_machine: Any) -> None:
    platform = npu_machine.probe(devices=()).platform
    assert platform.spec == "cpu:x86_64"
    assert platform.notes == ()
    assert platform.toolkit == {"cann": "8.3rc1"}
    assert npu_machine.started == []
