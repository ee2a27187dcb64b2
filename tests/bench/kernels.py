"""What the kernels save: ratios of the time of one form to another, and of memory moved to what a plain copy moves.

    python tests/bench/kernels.py [cuda]

On a CPU: each reference against the loop over requests that it replaces. On cuda also: Triton against the reference,
called and replayed from a graph, and the bandwidth of the fill's hidden states as a part of `copy_`'s. Triton itself is
not run on a CPU: its interpreter says nothing about speed.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from confbag.kernels.draft_extend import reference as fill_reference
from confbag.kernels.draft_extend.cases import Shape as FillShape
from confbag.kernels.last_loc import reference as last_loc_reference
from confbag.kernels.last_loc.cases import Shape as LastLocShape

SIZES = {"8 requests": 8, "64 requests": 64, "256 requests": 256}


def last_loc_by_loop(table: Any, requests: Any, prefixes: Any) -> Any:
    """One look-up a request."""
    found = [
        table[request, prefix - 1] if prefix > 0 else -1 for request, prefix in zip(requests, prefixes, strict=True)
    ]
    return torch.tensor(found, dtype=prefixes.dtype)


def fill_by_loop(*arguments: Any) -> None:
    """One copy a request and field."""
    tokens, sources, raw_bs, bs = arguments[:3], arguments[3:6], arguments[21], arguments[22]
    for buffer, source in zip(tokens, sources, strict=True):
        buffer.zero_()
        for place in range(len(source)):
            buffer[place] = source[place]
    arguments[6].fill_(arguments[25])
    for row in range(raw_bs):
        for buffer, source in zip(arguments[6:10], arguments[12:16], strict=True):
            buffer[row] = source[row]
    arguments[9][raw_bs:bs] = -1
    for row in range(bs):
        arguments[10][row] = row * arguments[23] + arguments[24] + arguments[8][row]


def shapes(requests: int, hidden: int | None = None) -> tuple[LastLocShape, FillShape]:
    """A batch of that many requests, four tokens each, padded to the next multiple of eight."""
    padded = -(-requests // 8) * 8
    fill = FillShape(
        max_num_token=4 * padded,
        max_bs=padded,
        raw_bs=requests,
        bs=padded,
        num_tokens=4 * requests,
        num_tokens_per_bs=4,
        temperatures=False,
        hidden=hidden,
        gathered=(None, None),
    )
    return LastLocShape(requests, requests=2 * requests, max_context=4096), fill


def seconds(function: Callable[..., Any], arguments: Any, repeat: int = 15, batch: int = 3) -> float:
    """The median time of one call."""
    function(*arguments)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(batch):
            function(*arguments)
        times.append((time.perf_counter() - start) / batch)
    return statistics.median(times)


def on_the_cpu() -> None:
    """References against loops."""
    for size, requests in SIZES.items():
        last_loc, fill = shapes(requests)
        table = last_loc.arguments("cpu")
        ratio = seconds(last_loc_by_loop, table, 5) / seconds(last_loc_reference.last_loc, table)
        print(f"cpu   last_loc           {size:14} the loop takes {ratio:6.1f} times the reference")
        buffers = fill.arguments("cpu")
        ratio = seconds(fill_by_loop, buffers, 5) / seconds(fill_reference.draft_extend_fill, buffers)
        print(f"cpu   draft_extend_fill  {size:14} the loop takes {ratio:6.1f} times the reference")


def on_cuda() -> None:
    """Triton against the references, and the fill's bandwidth."""
    from confbag.kernels.draft_extend import triton as fill_triton
    from confbag.kernels.last_loc import triton as last_loc_triton

    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for size, requests in SIZES.items():
        last_loc, fill = shapes(requests, hidden=7168)
        for op, shape, reference, kernel in (
            ("last_loc", last_loc, last_loc_reference.last_loc, last_loc_triton.last_loc),
            ("draft_extend_fill", fill, fill_reference.draft_extend_fill, fill_triton.draft_extend_fill),
        ):
            arguments = shape.arguments("cuda")
            called = called_seconds(reference, arguments) / called_seconds(kernel, arguments)
            replayed = replayed_seconds(reference, arguments) / replayed_seconds(kernel, arguments)
            print(f"cuda  {op:18} {size:14} the reference takes {called:5.1f} times Triton, {replayed:5.1f} replayed")
    for tokens in (64, 1024, 16384):
        shape = FillShape(max_num_token=tokens, num_tokens=tokens, hidden=7168)
        arguments = list(shape.arguments("cuda"))
        target, source = arguments[17], arguments[18]
        ratio = replayed_seconds(torch.Tensor.copy_, (target, source)) / replayed_seconds(
            fill_triton.draft_extend_fill, arguments
        )
        print(f"cuda  draft_extend_fill  {tokens:6} tokens of 7168 bf16: {ratio:5.2f} of the bandwidth of copy_")


def called_seconds(function: Callable[..., Any], arguments: Any) -> float:
    """The time of one call, launched back to back: what the host pays, or the device where that is more."""

    def batch(*arguments: Any) -> None:
        for _ in range(50):
            function(*arguments)
        torch.cuda.synchronize()

    return seconds(batch, arguments, 7, 1) / 50


def replayed_seconds(function: Callable[..., Any], arguments: Any) -> float:
    """The device's time of one call, in a graph of fifty."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        function(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(50):
            function(*arguments)

    def replay() -> None:
        graph.replay()
        torch.cuda.synchronize()

    return seconds(replay, (), 15, 1) / 50


if __name__ == "__main__":
    on_the_cpu()
    if "cuda" in sys.argv[1:]:
        on_cuda()
