"""Runs every Triton implementation on this machine's device against its reference, and prints a table.

    PYTHONPATH=. python tests/bench/device_check.py [cuda|xpu]

Needs torch and triton and no test runner. Exit status 0: everything agrees; 1: something does not. What is not part of
the verdict (what torch.compile traces here, how many kernels were compiled) is printed as `note`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from confbag.kernels.attention.torch_native import attention
from confbag.kernels.checks.agreement import difference
from confbag.kernels.checks.bounds import SWITCH
from confbag.kernels.draft_extend import cases as fill_cases
from confbag.kernels.draft_extend import reference as fill_reference
from confbag.kernels.draft_extend import triton as fill_triton
from confbag.kernels.last_loc import cases as last_loc_cases
from confbag.kernels.last_loc import reference as last_loc_reference
from confbag.kernels.last_loc import triton as last_loc_triton
from confbag.kernels.last_loc import triton_int32_safe as last_loc_safe

RANDOM = 400
LAST_LOC = {
    "reference": last_loc_reference.last_loc,
    "triton": last_loc_triton.last_loc,
    "triton_int32_safe": last_loc_safe.last_loc,
}
FILL = {"reference": fill_reference.draft_extend_fill, "triton": fill_triton.draft_extend_fill}
Row = tuple[str, str, str]


def agreement(device: str) -> Iterator[Row]:
    """Boundaries and random inputs, poisoned, bit for bit."""
    for op, implementations, cases in (("last_loc", LAST_LOC, last_loc_cases), ("draft_extend_fill", FILL, fill_cases)):
        for name, implementation in implementations.items():
            if name == "reference":
                continue
            count, faults = 0, []
            for case in cases.cases(device, RANDOM):
                count += 1
                fault = difference(case, implementations["reference"], implementation)
                if fault:
                    faults.append(fault)
            yield f"{op}, {name}", f"{count} cases equal the reference", faults[0] if faults else ""


def reference_as_on_the_cpu(device: str) -> Iterator[Row]:
    """The references on the device leave what they leave on a CPU."""
    shapes = [*fill_cases.BOUNDARIES.values(), *(fill_cases.random_shape(seed) for seed in range(100))]
    fault = ""
    for shape in shapes:
        here, there = shape.arguments("cpu"), shape.arguments(device)
        FILL["reference"](*here)
        FILL["reference"](*there)
        fault = fault or ("" if all(map(same, here, there)) else str(shape))
    yield "draft_extend_fill, reference", f"{len(shapes)} cases equal the CPU", fault
    looked_up = [shape for shape in last_loc_cases.BOUNDARIES if shape.requests]
    fault = ""
    for lookup in looked_up:
        found = [LAST_LOC["reference"](*lookup.arguments(where)) for where in ("cpu", device)]
        fault = fault or ("" if same(*found) else str(lookup))
    yield "last_loc, reference", f"{len(looked_up)} cases equal the CPU", fault


def beyond_int32(device: str) -> Iterator[Row]:
    """A table and hidden states of more than 2**31 elements."""
    table = torch.zeros(2200, 1_000_000, dtype=torch.int32, device=device)
    table[2199, 999_999], table[0, 0] = 41, 42
    for name, last_loc in LAST_LOC.items():
        fault = ""
        for request_dtype in (torch.int32, torch.int64):
            for prefix_dtype in (torch.int32, torch.int64):
                requests = torch.tensor([2199, 0], dtype=request_dtype, device=device)
                prefixes = torch.tensor([1_000_000, 1], dtype=prefix_dtype, device=device)
                found = last_loc(table, requests, prefixes).tolist()
                fault = fault or ("" if found == [41, 42] else f"{request_dtype}, {prefix_dtype}: {found}")
        yield f"last_loc, {name}", "a table of 2.2e9 elements", fault
    del table
    shape = fill_cases.Shape(max_num_token=270_000, num_tokens=270_000, hidden=None)
    for name, fill in FILL.items():
        arguments = list(shape.arguments(device))
        arguments[17] = torch.full((270_000, 8192), -1, dtype=torch.bfloat16, device=device)
        arguments[18] = torch.arange(270_000, device=device, dtype=torch.int32).view(-1, 1).expand(-1, 8192).bfloat16()
        fill(*arguments)
        fault = "" if torch.equal(arguments[17], arguments[18]) else "hidden states differ"
        del arguments
        yield f"draft_extend_fill, {name}", "hidden states of 2.2e9 elements", fault


def without_waiting(device: str) -> Iterator[Row]:
    """No implementation waits for the device (cuda)."""
    shape = fill_cases.BOUNDARIES["plain"]
    for op, implementations, arguments in (
        ("last_loc", LAST_LOC, last_loc_cases.Shape(300).arguments(device)),
        ("draft_extend_fill", FILL, shape.arguments(device)),
    ):
        for name, implementation in implementations.items():
            implementation(*arguments)
            torch.cuda.set_sync_debug_mode("error")
            fault = ""
            try:
                implementation(*arguments)
            except RuntimeError as error:
                fault = str(error)
            finally:
                torch.cuda.set_sync_debug_mode("default")
            yield f"{op}, {name}", "does not wait for the device", fault


def captured(device: str) -> Iterator[Row]:
    """Captured once, replayed on two other inputs of the same sizes (cuda)."""
    for op, implementations, shape in (
        ("last_loc", LAST_LOC, last_loc_cases.Shape(300)),
        ("draft_extend_fill", FILL, fill_cases.Shape(hidden=64)),
    ):
        for name, implementation in implementations.items():
            fixed = shape.arguments(device)
            graph, returned = capture(implementation, fixed)
            fault = ""
            for seed in (1, 2):
                other = type(shape)(**{**vars(shape), "seed": seed})
                for mine, its in zip(fixed, other.arguments(device), strict=True):
                    if isinstance(mine, Tensor):
                        mine.copy_(its)
                wanted = other.arguments(device)
                said = implementations["reference"](*wanted)
                graph.replay()
                torch.cuda.synchronize()
                agree = all(map(same, [returned, *fixed], [said, *wanted]))
                fault = fault or ("" if agree else f"the replay of seed {seed} differs")
            yield f"{op}, {name}", "a captured graph, replayed twice", fault


def capture(implementation: Callable[..., Any], arguments: Any) -> tuple[torch.cuda.CUDAGraph, Any]:
    """One call in a graph, after a warm-up on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        implementation(*arguments)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        returned = implementation(*arguments)
    return graph, returned


def values_checked(device: str) -> Iterator[Row]:
    """Under the switch (this process has it on), what is out of range raises and nothing is written."""
    table = torch.zeros(4, 10, dtype=torch.int32, device=device)
    for name, last_loc in LAST_LOC.items():
        fault = ""
        for request, prefix in ((4, 1), (-1, 1), (0, 11)):
            operands = torch.tensor([0, request], device=device), torch.tensor([1, prefix], device=device)
            fault = fault or (
                "" if raises(IndexError, last_loc, table, *operands) else f"no IndexError for {request}, {prefix}"
            )
        yield f"last_loc, {name}", "bounds debugging", fault
    for name, fill in FILL.items():
        arguments = list(fill_cases.BOUNDARIES["plain"].arguments(device))
        arguments[12][0] = 2**31
        before = arguments[6].clone()
        refused = raises(ValueError, fill, *arguments) and torch.equal(before, arguments[6])
        overlapping = list(fill_cases.BOUNDARIES["plain"].arguments(device))
        overlapping[4] = overlapping[0][1:10]
        refused = refused and raises(ValueError, fill, *overlapping)
        yield f"draft_extend_fill, {name}", "bounds debugging", "" if refused else "no ValueError"


def raises(exception: type[Exception], function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether the call raises it."""
    try:
        function(*arguments)
    except exception:
        return True
    return False


def attention_close(device: str) -> Iterator[Row]:
    """attention on the device is attention on a CPU, up to rounding."""
    random = torch.Generator().manual_seed(0)
    keys, values = torch.randn(2, 400, 2, 32, generator=random)
    table = torch.randperm(400, generator=random)[:300].view(3, 100).to(torch.int32)
    operands = [torch.randn(52, 8, 32, generator=random), keys, values, table]
    operands += [torch.tensor([2, 0, 1]), torch.tensor([100, 51, 7]), torch.tensor([1, 51, 0])]
    here = attention(*operands, 0.2)
    there = attention(*(operand.to(device) for operand in operands), 0.2).cpu()
    worst = float((here - there).abs().max())
    yield "attention, torch_native", f"within {worst:.1e} of the CPU", "" if worst < 1e-4 else "too far"


def notes(device: str) -> Iterator[Row]:
    """What torch.compile traces here, and how many kernels one process compiled for all cases above."""
    for op, implementations, shape in (
        ("last_loc", LAST_LOC, last_loc_cases.Shape(300)),
        ("draft_extend_fill", FILL, fill_cases.Shape(hidden=64)),
    ):
        for name, implementation in implementations.items():
            wanted, found = shape.arguments(device), shape.arguments(device)
            said = implementation(*wanted)
            try:
                returned = torch.compile(implementation, fullgraph=True)(*found)
                right = all(map(same, [said, *wanted], [returned, *found]))
                yield f"{op}, {name}", "torch.compile, fullgraph: " + ("right" if right else "WRONG"), ""
            except Exception as error:
                yield f"{op}, {name}", f"torch.compile: {type(error).__name__}: {str(error).splitlines()[0][:80]}", ""
    for name, kernel in (("draft_extend_fill", fill_triton._fill), ("last_loc", last_loc_triton._last_loc)):
        caches = getattr(kernel, "device_caches", {})
        yield name, f"kernels compiled: {[len(cache[0]) for cache in caches.values()]}", ""


def same(one: Any, other: Any) -> bool:
    """Equal bits, wherever they are."""
    if not isinstance(one, Tensor):
        return one is other or one == other
    return torch.equal(one.cpu().flatten().view(torch.uint8), other.cpu().flatten().view(torch.uint8))


def main() -> int:
    """Print a row for each check; 1 when one failed."""
    device = next((word for word in sys.argv[1:] if not word.startswith("-")), "cuda")
    checks = [agreement, reference_as_on_the_cpu, attention_close]
    if "--values" in sys.argv:
        checks = [values_checked]
    elif device == "cuda":
        print(torch.cuda.get_device_name(), "torch", torch.__version__)
        checks += [without_waiting, captured]
        if torch.cuda.mem_get_info()[0] > 20 * 2**30:
            checks.append(beyond_int32)
    failed = 0
    for check in checks:
        for subject, what, fault in check(device):
            failed += bool(fault)
            print(f"{'FAIL' if fault else 'ok':5}{subject:34}{what}{': ' + fault if fault else ''}", flush=True)
    if "--values" not in sys.argv:
        child = [sys.executable, __file__, device, "--values"]
        failed += subprocess.run(child, env={**os.environ, SWITCH: "1"}).returncode
        for subject, what, _ in notes(device):
            print(f"note {subject:34}{what}", flush=True)
        print("everything agrees" if not failed else "something does not agree")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
