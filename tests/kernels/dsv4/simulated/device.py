"""The simulated npu itself: it refuses what a device refuses, and counts what a device would wait for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3]))
from simulated_npu import NPU, NpuTensor, simulate

from confbag import load
from confbag.backends import Platform, make_plan
from confbag.kernels.dsv4.sparse_metadata import reference, torch_npu_device, torch_npu_host

simulate()

ROOT = Path(__file__).parents[4]
STARTS = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
LENGTHS = torch.tensor([128, 256, 1000], dtype=torch.int32)
PLAIN = (64, 1, 512, "TND", "PA_ND")


def test_values_are_the_cpus() -> None:
    a = torch.arange(6, dtype=torch.float32, device="npu").view(2, 3)
    b = torch.ones(3, 4).to("npu")
    assert isinstance(a, NpuTensor)
    assert (a @ b).device == torch.device("npu:0")
    assert torch.equal((a @ b).cpu(), torch.arange(6.0).view(2, 3) @ torch.ones(3, 4))
    assert torch.full((2,), 7, dtype=torch.int32, device="npu").tolist() == [7, 7]
    assert torch.tensor([1, 2], device="npu").tolist() == [1, 2]
    normed = torch.nn.functional.rms_norm(a, (3,))
    torch.testing.assert_close(normed.cpu(), torch.nn.functional.rms_norm(torch.arange(6.0).view(2, 3), (3,)))


def test_writes_and_views_share_memory() -> None:
    whole = torch.zeros(5, dtype=torch.int32, device="npu")
    part = whole[1:3]
    assert part.fill_(9) is part
    part.copy_(torch.tensor([4, 5], dtype=torch.int32), non_blocking=True)
    whole[4] = 1
    assert whole.tolist() == [0, 4, 5, 0, 1]
    with pytest.raises(NotImplementedError, match="resize_"):
        whole.resize_(9)


def test_mixed_devices_are_refused() -> None:
    here, there = torch.ones(3), torch.ones(3, device="npu")
    for mix in (lambda: here + there, lambda: there.add_(here), lambda: torch.cat([there, here])):
        with pytest.raises(RuntimeError, match="same device"):
            mix()
    assert (there + torch.tensor(1.0)).tolist() == [2, 2, 2]


def test_every_copy_and_wait_is_counted() -> None:
    values = torch.tensor([1.0, 0.0], device="npu")
    for wait in (
        lambda: values.cpu(),
        lambda: values.to("cpu", torch.float64),
        lambda: values.tolist(),
        lambda: values[0].item(),
        lambda: bool(values[0] > 0),
        lambda: torch.zeros(2).copy_(values),
        lambda: torch.equal(values, values),
        lambda: values.nonzero(),
        lambda: values[values > 0],
    ):
        with NPU.counted() as copies:
            wait()
        assert len(copies) == 1
    with NPU.counted() as copies:
        torch.where(values > 0, values, -values).clamp(min=1).sum()
        values.copy_(torch.zeros(2).pin_memory(), non_blocking=True)
        torch.zeros(3, device="npu")[1:].fill_(2)
    assert copies == []


def test_an_op_without_a_kernel_for_the_device_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="sparse_attn_sharedkv_metadata_host"):
        torch.ops.npu.sparse_attn_sharedkv_metadata_host(
            *PLAIN, STARTS.to("npu"), LENGTHS.to("npu"), 3, has_cmp_kv=False
        )
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        torch.ops.custom.npu_sparse_attn_sharedkv_metadata(
            *PLAIN[:3], cu_seqlens_q=STARTS, seqused_kv=LENGTHS, batch_size=3, has_cmp_kv=False
        )
    with pytest.raises(RuntimeError, match="same device"):
        torch.ops.custom.npu_sparse_attn_sharedkv_metadata(
            *PLAIN[:3], cu_seqlens_q=STARTS.to("npu"), seqused_kv=LENGTHS, batch_size=3, has_cmp_kv=False
        )


@pytest.mark.parametrize("name", ["host", "device"])
def test_the_metadata_bindings_give_the_references_table(name: str) -> None:
    wanted = reference.sparse_metadata(*PLAIN, STARTS, LENGTHS, 3, 512, 4)
    NPU.calls.clear()
    if name == "host":
        found = torch_npu_host.sparse_metadata(*PLAIN, STARTS, LENGTHS, 3, 512, 4)
    else:
        found = torch_npu_device.sparse_metadata(*PLAIN, STARTS.to("npu"), LENGTHS.to("npu"), 3, 512, 4)
    assert isinstance(found, NpuTensor)
    assert torch.equal(found.cpu(), wanted)
    assert NPU.calls == [
        {
            "host": "npu::sparse_attn_sharedkv_metadata_host",
            "device": "custom::npu_sparse_attn_sharedkv_metadata",
        }[name]
    ]


def test_the_ascend_example_binds() -> None:
    """Schemas and kernels are verified against what is registered here: the libraries' real schemas."""
    bag = load(str(ROOT / "examples/configs/ascend-deepseek-v4.yaml"), env={})
    plan = make_plan(bag, Platform.known("npu:ascend910_93"))
    ops = plan.bind(ops=["dsv4.compressor", "dsv4.sparse_attention", "dsv4.sparse_metadata"])
    assert ops.sparse_metadata is torch_npu_host.sparse_metadata
    assert ops.sparse_metadata(*PLAIN, STARTS, LENGTHS, 3, has_cmp_kv=False).device.type == "npu"
    placed = make_plan(
        load(
            str(ROOT / "examples/configs/ascend-deepseek-v4.yaml"),
            env={},
            argv=["--set", "exec.metadata_placement=device"],
        ),
        Platform.known("npu:ascend910_93"),
    )
    assert placed.bind(ops=["dsv4.sparse_metadata"]).sparse_metadata is torch_npu_device.sparse_metadata
