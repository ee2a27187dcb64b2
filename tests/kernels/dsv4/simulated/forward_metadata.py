"""On the simulated npu: no mode of the forward metadata copies anything to the host, the older way does once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3]))
from simulated_npu import NPU, NpuTensor, simulate

from confbag import load
from confbag.kernels.dsv4.forward_metadata.lengths import Batch, Mode
from confbag.kernels.dsv4.forward_metadata.metadata import ForwardMetadata
from confbag.kernels.dsv4.forward_metadata.mirrors import MirrorError
from confbag.kernels.dsv4.forward_metadata.tables import Scheduler, kinds
from confbag.kernels.dsv4.sparse_metadata import reference, torch_npu_device, torch_npu_host
from confbag.process.context import override, publish

simulate()
publish(load(env={}), role="test", allow_auto=True)

KINDS = kinds([0, 4, 128], 512)
LENGTHS = [700, 3, 129]
EAGER = {
    "prefill": Batch(Mode.PREFILL, LENGTHS, query_lens=[3, 3, 100]),
    "decode": Batch(Mode.DECODE, LENGTHS),
    "draft decode": Batch(Mode.DECODE, LENGTHS, step=2),
    "verify": Batch(Mode.TARGET_VERIFY, LENGTHS, tokens=4),
    "draft extend": Batch(Mode.DRAFT_EXTEND, LENGTHS, tokens=4),
    "idle": Batch(Mode.IDLE),
    "no requests": Batch(Mode.DECODE),
}
CAPTURED = {
    "decode": Batch(Mode.DECODE),
    "verify": Batch(Mode.TARGET_VERIFY, tokens=4),
    "expanded verify": Batch(Mode.TARGET_VERIFY, tokens=4, expanded=True),
    "draft extend": Batch(Mode.DRAFT_EXTEND, tokens=4),
}


def scheduler(placement: str) -> Scheduler:
    op = {"host": torch_npu_host, "device": torch_npu_device}[placement].sparse_metadata
    return Scheduler(op, 64, 512, 128, KINDS)


def table(metadata: ForwardMetadata, kind: Any) -> torch.Tensor:
    """What the reference gives for the mirrors."""
    return Scheduler(reference.sparse_metadata, 64, 512, 128, KINDS).table(
        kind, metadata.cu_seqlens_q_cpu, metadata.seq_lens_cpu_int
    )


@pytest.mark.parametrize("placement", ["host", "device"])
@pytest.mark.parametrize("mode", EAGER)
def test_an_eager_pass_copies_nothing_to_the_host(mode: str, placement: Any) -> None:
    with NPU.counted() as copies:
        made = ForwardMetadata.build(EAGER[mode], "npu", placement, scheduler(placement))
    assert copies == []
    assert isinstance(made.seqused_kv, NpuTensor)
    assert made.seqused_kv.device == torch.device("npu:0")
    assert made.cu_seqlens_q is None or isinstance(made.cu_seqlens_q, NpuTensor)
    for mirror in (made.seq_lens_cpu_int, made.cu_seqlens_q_cpu):
        assert mirror is None or type(mirror) is torch.Tensor
    assert list(made.tables) == ([] if mode == "idle" else [kind.name for kind in KINDS])
    assert all(isinstance(held, NpuTensor) for held in made.tables.values())
    made.check_mirrors()
    for kind in KINDS if made.tables else ():
        assert torch.equal(made.tables[kind.name].cpu(), table(made, kind))


@pytest.mark.parametrize("placement", ["host", "device"])
@pytest.mark.parametrize("mode", CAPTURED)
def test_capture_and_replay_copy_nothing_to_the_host(mode: str, placement: Any) -> None:
    with NPU.counted() as copies:
        made = ForwardMetadata.capture(CAPTURED[mode], 4, "npu", placement, KINDS)
        buffers = made.cu_seqlens_q, made.seqused_kv, *made.tables.values()
        for lengths in (LENGTHS, [], [9, 8, 7, 6]):
            made.refresh(lengths, scheduler=scheduler(placement))
    assert copies == []
    assert all(
        one is other
        for one, other in zip(buffers, (made.cu_seqlens_q, made.seqused_kv, *made.tables.values()), strict=True)
    )
    made.check_mirrors()
    for kind in KINDS if placement == "host" else ():
        assert torch.equal(made.tables[kind.name].cpu(), table(made, kind))


def test_the_older_way_copies_once_for_each_pass() -> None:
    """Lengths that live on the device and are read back: what the mirrors are there to avoid."""
    on_device = torch.tensor(LENGTHS, device="npu")
    with NPU.counted() as copies:
        lengths = on_device.int().cpu()
        starts = torch.arange(0, len(LENGTHS) + 1, dtype=torch.int32)
        older = Scheduler(torch_npu_host.sparse_metadata, 64, 512, 128, KINDS[:1]).table(KINDS[0], starts, lengths)
    assert copies == ["aten::_to_copy"]
    made = ForwardMetadata.build(EAGER["decode"], "npu", "host", scheduler("host"))
    assert torch.equal(older.cpu(), made.tables["window"].cpu())


def test_the_reference_on_device_tensors_waits_for_them() -> None:
    made = ForwardMetadata.build(EAGER["decode"], "npu", "device")
    with NPU.counted() as copies:
        Scheduler(reference.sparse_metadata, 64, 512, 128, KINDS[:1]).table(KINDS[0], *made.operands)
    assert len(copies) == 2


def test_a_device_tensor_is_refused_as_a_source() -> None:
    with NPU.counted() as copies:
        with pytest.raises(ValueError, match="seq_lens: expected numbers on the CPU, found a tensor on npu:0"):
            ForwardMetadata.build(Batch(Mode.DECODE, torch.tensor(LENGTHS, device="npu")), "npu")
        with pytest.raises(ValueError, match="query_lens: expected numbers on the CPU"):
            ForwardMetadata.build(Batch(Mode.PREFILL, LENGTHS, query_lens=torch.tensor(LENGTHS, device="npu")), "npu")
    assert copies == []


def test_the_debug_switch_reads_back_and_finds_a_difference() -> None:
    with override("a test", {"exec.debug.mirrors": True}):
        with NPU.counted() as copies:
            made = ForwardMetadata.build(EAGER["decode"], "npu")
        assert len(copies) == 2
    made.seqused_kv[1] = 8
    with pytest.raises(MirrorError, match=r"seqused_kv\[1\]: the device holds 8, its mirror seq_lens_cpu_int 3"):
        made.check_mirrors()
