"""What mirrors save: the host's time to build decode metadata of 256 requests, as ratios of the naive form to ours.

    python tests/bench/metadata.py [cuda]

Ours is built from the lengths that the scheduler keeps on the host. The naive form has them on the device and reads
them back with `.cpu()` wherever a host op wants them. Both end with query starts and KV lengths on the device and on
the host, and a second pair of numbers has the scheduler's table too. On a CPU nothing is copied and nothing is waited
for, so the ratio is that of the arithmetic alone; on cuda the device is also given a forward pass to be busy with,
which the naive form waits for.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from confbag.kernels.dsv4.forward_metadata.lengths import Batch, Mode
from confbag.kernels.dsv4.forward_metadata.metadata import ForwardMetadata
from confbag.kernels.dsv4.forward_metadata.tables import WINDOW, Kind, Scheduler
from confbag.kernels.dsv4.sparse_metadata.reference import sparse_metadata

REQUESTS = 256
SCHEDULER = Scheduler(sparse_metadata, num_heads_q=64, head_dim=512, window=128, kinds=(Kind(WINDOW),))


def ours(lengths: Tensor, device: str, scheduler: Scheduler | None) -> None:
    """From CPU sources."""
    ForwardMetadata.build(Batch(Mode.DECODE, lengths), device, "host", scheduler)


def naive(lengths: Tensor, device: str, scheduler: Scheduler | None) -> None:
    """From device tensors, which are read back; the table is then copied to the device."""
    starts = torch.nn.functional.pad(torch.ones_like(lengths).cumsum(0), (1, 0)).int()
    used = lengths.int()
    starts_cpu, used_cpu = starts.cpu(), used.cpu()
    if scheduler is not None:
        scheduler.table(scheduler.kinds[0], starts_cpu, used_cpu).to(device)


def seconds(build: Callable[[], None], before: Callable[[], None], after: Callable[[], None], repeat: int) -> float:
    """The median time that the host is in `build`, with the device busy with what `before` gave it."""
    times = []
    for _ in range(repeat):
        before()
        start = time.perf_counter()
        build()
        times.append(time.perf_counter() - start)
        after()
    return statistics.median(times[repeat // 5 :])


def ratios(name: str, device: str, before: Callable[[], None], after: Callable[[], None], repeat: int = 200) -> None:
    """One line for the lengths alone and one with the table."""
    on_host = torch.randint(1, 100_000, (REQUESTS,), generator=torch.Generator().manual_seed(0))
    on_device = on_host.to(device)
    for what, scheduler in (("lengths", None), ("lengths and table", SCHEDULER)):

        def mirrored(scheduler: Scheduler | None = scheduler) -> None:
            ours(on_host, device, scheduler)

        def read_back(scheduler: Scheduler | None = scheduler) -> None:
            naive(on_device, device, scheduler)

        ratio = seconds(read_back, before, after, repeat) / seconds(mirrored, before, after, repeat)
        print(f"{name:22} {what:18} {REQUESTS} requests: the naive form takes {ratio:6.2f} times ours")


def nothing() -> None:
    """No work and nothing to wait for."""


def main() -> None:
    """On the CPU, and on cuda when it is named: idle, and behind a forward pass."""
    ratios("cpu", "cpu", nothing, nothing)
    if "cuda" in sys.argv[1:]:
        print(torch.cuda.get_device_name(), "torch", torch.__version__)
        matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

        def forward() -> None:
            for _ in range(8):
                torch.mm(matrix, matrix)

        ratios("cuda, idle", "cuda", nothing, torch.cuda.synchronize)
        ratios("cuda, a forward ahead", "cuda", forward, torch.cuda.synchronize, 60)


if __name__ == "__main__":
    main()
