"""Inputs on which every attention must agree with the reference: the boundaries, then random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from confbag.kernels.checks.agreement import Arguments, Case, Tolerance

INT32 = torch.int32
TOLERANCES = {
    torch.float32: Tolerance(relative=1e-4, absolute=1e-5),
    torch.float16: Tolerance(relative=2e-2, absolute=2e-2),
    torch.bfloat16: Tolerance(relative=2e-2, absolute=2e-2),
}


@dataclass(frozen=True)
class Shape:
    """What decides one input: (tokens in the cache, queries) of each request, heads and their sizes.

    ratio, topk, window, sinks: what kind dsv4 alone has; then the cache has one head, key and value at once.
    """

    requests: tuple[tuple[int, int], ...] = ((9, 4), (1, 1), (6, 0), (6, 6))
    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 16
    v_head_dim: int = 16
    dtype: torch.dtype = torch.float32
    index_dtype: torch.dtype = torch.int64
    shared: bool = False
    ratio: int = 0
    topk: int = 0
    window: int | None = None
    sinks: bool = False
    seed: int = 0

    def case(self, device: str) -> Case:
        """The case of this shape on a device."""
        return Case(str(self), lambda: self.arguments(device), TOLERANCES[self.dtype])

    def arguments(self, device: str) -> Arguments:
        """The 14 arguments, in the contract's order; tokens lie in slots of any order."""
        random = torch.Generator().manual_seed(self.seed)
        count, longest = len(self.requests), max((length for length, _ in self.requests), default=0) + 2

        def normal(*size: int) -> Tensor:
            return torch.randn(size, generator=random).to(device, self.dtype)

        def table() -> Tensor:
            slots = torch.randperm((count + 2) * longest, generator=random)
            return slots.view(count + 2, longest).to(device, INT32)

        def integers(values: Any) -> Tensor:
            return torch.as_tensor(values, dtype=self.index_dtype).to(device)

        slots, heads = (count + 2) * longest, 1 if self.shared else self.num_kv_heads
        keys = normal(slots, heads, self.head_dim)
        tokens = sum(queries for _, queries in self.requests)
        return (
            normal(tokens, self.num_heads, self.head_dim),
            keys,
            keys if self.shared else normal(slots, heads, self.v_head_dim),
            table(),
            integers(torch.randperm(count + 2, generator=random)[:count]),
            integers([length for length, _ in self.requests]),
            integers([queries for _, queries in self.requests]),
            self.head_dim**-0.5,
            self.window,
            torch.randn(self.num_heads, generator=random).to(device) if self.sinks else None,
            normal(slots, 1, self.head_dim) if self.ratio else None,
            table() if self.ratio else None,
            self.ratio,
            self._chosen(random).to(device, INT32) if self.topk else None,
        )

    def _chosen(self, random: torch.Generator) -> Tensor:
        """For each query visible compressed tokens in any order, as many as fit, then -1."""
        rows = []
        for length, queries in self.requests:
            for position in range(length - queries, length):
                chosen = torch.randperm((position + 1) // self.ratio, generator=random)[: self.topk]
                rows.append(torch.nn.functional.pad(chosen, (0, self.topk - len(chosen)), value=-1))
        return torch.stack(rows) if rows else torch.empty(0, self.topk, dtype=torch.int64)


BOUNDARIES = {
    "mixed": Shape(),
    "prefill": Shape(((17, 17),)),
    "decode": Shape(((1, 1), (16, 1), (33, 1))),
    "no queries": Shape(((5, 0),)),
    "one head": Shape(num_heads=1, num_kv_heads=1),
    "as many key heads as query heads": Shape(num_heads=3, num_kv_heads=3),
    "values of another size": Shape(v_head_dim=7),
    "int32 lengths": Shape(index_dtype=INT32),
    "bfloat16": Shape(dtype=torch.bfloat16),
    "float16": Shape(dtype=torch.float16),
}
SHARED = {
    "the whole context": Shape(shared=True),
    "a window": Shape(shared=True, window=3),
    "a window of one": Shape(shared=True, window=1),
    "sinks": Shape(shared=True, sinks=True),
    "compressed": Shape(shared=True, window=3, sinks=True, ratio=2),
    "chosen of the compressed": Shape(shared=True, window=3, sinks=True, ratio=2, topk=2),
    "a window longer than any request": Shape(shared=True, window=1000, ratio=4),
    "bfloat16, compressed": Shape(shared=True, window=4, ratio=4, dtype=torch.bfloat16),
}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary of plain attention, then `count` random inputs."""
    for name, shape in BOUNDARIES.items():
        yield replace(shape.case(device), name=name)
    for number in range(count):
        yield random_shape(seed + number).case(device)


def shared_cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """The same for kind dsv4."""
    for name, shape in SHARED.items():
        yield replace(shape.case(device), name=name)
    for number in range(count):
        shape = random_shape(seed + number)
        yield replace(
            shape,
            shared=True,
            v_head_dim=shape.head_dim,
            ratio=(0, 2, 4)[number % 3],
            window=(None, 1, 5)[number // 3 % 3],
            sinks=number % 2 == 1,
        ).case(device)


def random_shape(seed: int) -> Shape:
    """A shape of plain attention, decided by the seed."""
    random = torch.Generator().manual_seed(seed)

    def pick(lowest: int, highest: int) -> int:
        return int(torch.randint(lowest, highest + 1, (), generator=random))

    lengths = [pick(1, 40) for _ in range(pick(1, 5))]
    kv_heads = pick(1, 3)
    return Shape(
        requests=tuple((length, pick(0, length)) for length in lengths),
        num_heads=kv_heads * pick(1, 3),
        num_kv_heads=kv_heads,
        head_dim=2 * pick(1, 20),
        v_head_dim=pick(1, 40),
        dtype=(torch.float32, torch.bfloat16, torch.float16)[pick(0, 2)],
        index_dtype=(torch.int64, INT32)[pick(0, 1)],
        seed=seed,
    )
