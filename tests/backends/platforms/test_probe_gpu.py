"""Probing GPUs: NVIDIA's, AMD's, Intel's and Moore Threads', and software that does not fit them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def cuda_machine(stage: Any) -> Any:
    for name in ("nvidia0", "nvidia1", "nvidiactl"):
        stage.file(f"/dev/{name}")
    stage.torch("2.14.1+cu130", cuda="13.0")
    stage.file(
        "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release\n"
    )
    stage.answers["libcuda"] = {"cuda": "13.0", "count": 2, "capabilities": [[9, 0], [9, 0]]}
    return stage


def test_a_whole_cuda_machine(cuda_machine: Any) -> None:
    cuda_machine.environ["CUDA_HOME"] = "/opt/cuda"
    cuda_machine.program("/opt/cuda/bin/nvcc", "Cuda compilation tools, release 12.8, V12.8.93\n")
    platform = cuda_machine.probe().platform
    assert (platform.device, platform.arch, platform.count) == ("cuda", "sm90", 2)
    assert platform.toolkit == {"cuda": "13.0", "driver": "580.95.5", "nvcc": "12.8.93"}
    assert platform.notes == ()


def test_nvcc_is_found_on_the_path(cuda_machine: Any) -> None:
    cuda_machine.program("/usr/bin/nvcc", "Cuda compilation tools, release 12.9\n")
    assert cuda_machine.probe().platform.toolkit["nvcc"] == "12.9"


def test_a_gpu_beside_a_cpu_build_of_torch_is_a_warning(stage: Any) -> None:
    stage.file("/dev/nvidia0")
    stage.torch("2.13.0+cpu")
    platform = stage.probe().platform
    assert platform.device == "cpu"
    assert platform.notes == (
        "/dev/nvidia0 is here but torch 2.13.0+cpu is built without CUDA; planning for cpu. "
        "Install a CUDA build of torch.",
    )
    assert stage.started == []


def test_a_shim_that_imitates_cuda_is_not_believed(stage: Any, torch_answer: Any) -> None:
    stage.torch("2.13.0+cpu")
    stage.answers["torch_facts"] = torch_answer("2.13.0+cpu", cuda=None)
    stage.answers["torch_facts"]["devices"] = {"cuda": {"available": True, "count": 8, "capability": [8, 0]}}
    platform = stage.probe(deep=True).platform
    assert platform.device == "cpu"
    assert len(platform.notes) == 1
    assert "torch.cuda.is_available() is true" in platform.notes[0]
    assert "torch.version.cuda is None" in platform.notes[0]


def test_nvidia_smi_answers_where_libcuda_does_not(cuda_machine: Any) -> None:
    del cuda_machine.answers["libcuda"]
    cuda_machine.program("/usr/bin/nvidia-smi", "12.0, 580.65.06\n12.0, 580.65.06\n")
    platform = cuda_machine.probe().platform
    assert (platform.arch, platform.count) == ("sm120", 2)


def test_an_unknown_architecture_is_said(cuda_machine: Any, torch_answer: Any) -> None:
    cuda_machine.answers["libcuda"] = {"error": "cuInit answered 999", "cuda": "13.0", "count": 0, "capabilities": []}
    platform = cuda_machine.probe().platform
    assert (platform.device, platform.arch) == ("cuda", None)
    assert any("cuInit answered 999" in note for note in platform.notes)
    cuda_machine.answers["torch_facts"] = torch_answer("2.14.1", cuda="13.0")
    cuda_machine.answers["torch_facts"]["devices"] = {"cuda": {"available": True, "count": 1, "capability": [10, 3]}}
    assert cuda_machine.probe().platform.arch == "sm103"


def test_hidden_devices_are_not_planned_for(cuda_machine: Any) -> None:
    cuda_machine.environ["CUDA_VISIBLE_DEVICES"] = ""
    cuda_machine.answers["libcuda"] = {"cuda": "13.0", "count": 0, "capabilities": []}
    platform = cuda_machine.probe().platform
    assert platform.device == "cpu"
    assert "CUDA_VISIBLE_DEVICES= hides every device" in platform.notes[0]


def test_mixed_gpus_are_noted(cuda_machine: Any) -> None:
    cuda_machine.answers["libcuda"]["capabilities"] = [[9, 0], [8, 0]]
    platform = cuda_machine.probe().platform
    assert platform.arch == "sm90"
    assert "different architectures" in platform.notes[0]


def test_a_torch_newer_than_the_driver_is_noted(cuda_machine: Any) -> None:
    cuda_machine.answers["libcuda"]["cuda"] = "12.8"
    assert "the driver supports CUDA up to 12.8" in cuda_machine.probe().platform.notes[0]


def test_cuda_torch_beside_torch_npu_is_noted(cuda_machine: Any) -> None:
    cuda_machine.package("torch-npu", "2.14.0")
    assert "torch_npu refuses to share a process with CUDA" in cuda_machine.probe().platform.notes[0]


def test_an_amd_machine(stage: Any) -> None:
    stage.file("/dev/kfd")
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    stage.file(f"{nodes}/0/properties", "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n")
    stage.file(f"{nodes}/1/properties", "simd_count 1216\ngfx_target_version 90402\n")
    stage.file(f"{nodes}/2/properties", "simd_count 1216\ngfx_target_version 90402\n")
    stage.file("/opt/rocm/.info/version", "6.4.1-83\n")
    stage.torch("2.14.1+rocm6.4", hip="6.4.43482-0f2d60242")
    platform = stage.probe().platform
    assert (platform.device, platform.arch, platform.count) == ("hip", "gfx942", 2)
    assert platform.toolkit == {"hip": "6.4.43482", "rocm": "6.4.1.post83"}
    assert platform.notes == ()


def test_amd_hardware_beside_a_cuda_torch_is_a_warning(stage: Any) -> None:
    stage.file("/dev/kfd")
    stage.torch("2.14.1+cu130", cuda="13.0")
    platform = stage.probe().platform
    assert platform.device == "cpu"
    assert "built without ROCm" in platform.notes[0]


@pytest.mark.parametrize(
    ("device", "arch", "features"), [("0x0bd5", "pvc", {"xmx"}), ("0xe20b", "bmg", {"xmx"}), ("0x56a0", "dg2", set())]
)
def test_an_intel_gpu_is_known_by_its_pci_id(stage: Any, device: str, arch: str, features: set[str]) -> None:
    stage.file("/dev/dri/renderD128")
    stage.file("/sys/class/drm/renderD128/device/vendor", "0x8086\n")
    stage.file("/sys/class/drm/renderD128/device/device", f"{device}\n")
    unused = stage.probe().platform
    assert (unused.device, len(unused.notes)) == ("cpu", 1)
    stage.torch("2.14.0+xpu", xpu="20250302")
    platform = stage.probe().platform
    assert (platform.spec, platform.features, platform.notes) == (f"xpu:{arch}", features, ())


@pytest.mark.parametrize(("vendor", "device"), [("0x8086", "0x9a49"), ("0x1002", "0x0bd5"), ("", ""), ("0x8086", "zz")])
def test_graphics_that_are_no_accelerator_give_no_warning(stage: Any, vendor: str, device: str) -> None:
    stage.file("/dev/dri/renderD128")
    stage.file("/sys/class/drm/renderD128/device/vendor", f"{vendor}\n")
    stage.file("/sys/class/drm/renderD128/device/device", f"{device}\n")
    platform = stage.probe().platform
    assert (platform.device, platform.notes) == ("cpu", ())


def test_moore_threads_architecture_comes_from_its_torch(stage: Any, torch_answer: Any) -> None:
    stage.file("/dev/mtgpu.0")
    stage.torch("2.14.0")
    assert "torch_musa is not installed" in stage.probe().platform.notes[0]
    stage.package("torch_musa", "2.14.0")
    stage.answers["torch_facts"] = torch_answer("2.14.0", musa={"available": True, "count": 1, "capability": [3, 1]})
    assert stage.probe().platform.spec == "musa:mp31"


def test_a_second_usable_accelerator_is_noted(cuda_machine: Any) -> None:
    cuda_machine.file("/dev/mtgpu.0")
    cuda_machine.package("torch_musa", "2.14.0")
    platform = cuda_machine.probe().platform
    assert platform.device == "cuda"
    assert "/dev/mtgpu.0 (musa) is usable too; planning for cuda" in platform.notes[0]
