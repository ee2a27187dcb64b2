"""Inputs on which every dsv4.compressor must agree with the reference: the boundaries, then random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from confbag.kernels.checks.agreement import Arguments, Case, Tolerance, guarded
from confbag.kernels.dsv4.compressor.operands import CONTINUOUS, EXPLICIT, HALVES, PAIRS
from confbag.kernels.dsv4.compressor.rows import packed_rows, padded_rows, produced_rows

ORDER: Final = (
    "x",
    "wkv",
    "wgate",
    "state_cache",
    "ape",
    "norm_weight",
    "rope_sin",
    "rope_cos",
    "state_block_table",
    "cu_seqlens",
    "seqused",
    "start_pos",
    "rope_head_dim",
    "cmp_ratio",
    "coff",
    "norm_eps",
    "rotary_mode",
    "cache_mode",
    "state_cache_stride_dim0",
)

# One step of bfloat16 for the result; the state's float32 sums run over the hidden size in any order.
TOLERANCE: Final = Tolerance(relative=2**-7, absolute=1e-3)


@dataclass(frozen=True)
class Shape:
    """What decides one input. capacity: tokens of each request, all equal in BSH. used, starts: None leaves them out.

    block_size: state rows of a block. null_blocks: a table of cache_mode 1 with some blocks 0.
    """

    capacity: tuple[int, ...] = (5, 0, 9)
    used: tuple[int, ...] | None = None
    starts: tuple[int, ...] | None = (3, 2, 0)
    padded: bool = False
    hidden: int = 8
    head_dim: int = 6
    rope_head_dim: int = 4
    cmp_ratio: int = 4
    coff: int = 1
    norm_eps: float = 1e-6
    rotary_mode: int = PAIRS
    cache_mode: int = EXPLICIT
    block_size: int = 16
    dtype: torch.dtype = torch.bfloat16
    null_blocks: bool = False
    seed: int = 0

    @property
    def rows(self) -> int:
        """Rows of the result, all requests together."""
        if self.padded:
            return len(self.capacity) * padded_rows(max(self.capacity, default=0), self.cmp_ratio)
        return packed_rows(sum(self.capacity), len(self.capacity), self.cmp_ratio)

    def produced(self) -> list[int]:
        """The ordinals of the rows that are produced."""
        starts = self.starts or (0,) * len(self.capacity)
        counts = [
            produced_rows(start, used, self.cmp_ratio)
            for start, used in zip(starts, self.used or self.capacity, strict=True)
        ]
        if not self.padded:
            return list(range(sum(counts)))
        each = padded_rows(max(self.capacity, default=0), self.cmp_ratio)
        return [request * each + row for request, count in enumerate(counts) for row in range(count)]

    def case(self, device: str) -> Case:
        """The case of this shape on a device."""
        return Case(str(self), lambda: self.arguments(device), TOLERANCE, self._produced_part)

    def _produced_part(self, result: Tensor) -> Tensor:
        return result.reshape(-1, self.head_dim)[self.produced()]

    def arguments(self, device: str) -> Arguments:
        """The 19 arguments, in the contract's order; the same at each call."""
        named = self.named(device)
        return tuple(named[name] for name in ORDER)

    def named(self, device: str) -> dict[str, Any]:
        """The arguments by name."""
        random = torch.Generator().manual_seed(self.seed)
        batch, tokens, width = len(self.capacity), sum(self.capacity), self.coff * self.head_dim

        def normal(dtype: torch.dtype, *size: int) -> Tensor:
            values = torch.randn(size, generator=random)
            return guarded(values.to(device, dtype), float("nan"))

        def integers(values: Any) -> Tensor:
            return torch.tensor(values, dtype=torch.int32, device=device)

        table, block_num = self._table(random)
        lead = (batch, max(self.capacity, default=0)) if self.padded else (tokens,)
        rope = (batch, self.rows // max(batch, 1)) if self.padded else (self.rows,)
        angle = torch.randn((*rope, self.rope_head_dim // 2), generator=random)
        angle = angle.repeat_interleave(2, -1) if self.rotary_mode == PAIRS else torch.cat([angle, angle], -1)
        scale = self.hidden**-0.5
        bounds = torch.tensor([0, *self.capacity]).cumsum(0).tolist()
        return {
            "x": normal(self.dtype, *lead, self.hidden),
            "wkv": normal(self.dtype, width, self.hidden) * scale,
            "wgate": normal(self.dtype, width, self.hidden) * scale,
            "state_cache": normal(torch.float32, block_num, self.block_size, 2 * width),
            "ape": normal(torch.float32, self.cmp_ratio, width),
            "norm_weight": normal(torch.float32, self.head_dim),
            "rope_sin": angle.sin().to(device),
            "rope_cos": angle.cos().to(device),
            "state_block_table": table.to(device, torch.int32),
            "cu_seqlens": None if self.padded else integers(bounds),
            "seqused": None if self.used is None else integers(self.used),
            "start_pos": None if self.starts is None else integers(self.starts),
            "rope_head_dim": self.rope_head_dim,
            "cmp_ratio": self.cmp_ratio,
            "coff": self.coff,
            "norm_eps": self.norm_eps,
            "rotary_mode": self.rotary_mode,
            "cache_mode": self.cache_mode,
            "state_cache_stride_dim0": 0,
        }

    def _table(self, random: torch.Generator) -> tuple[Tensor, int]:
        """The table and the number of blocks behind it; no two positions of a call share a place, but null blocks."""
        batch = len(self.capacity)
        starts = self.starts or (0,) * batch
        if self.cache_mode == CONTINUOUS:
            columns = max(
                [-(-(start + size) // self.block_size) for start, size in zip(starts, self.capacity, strict=True)] + [1]
            )
            blocks = 1 + torch.randperm(batch * columns, generator=random).view(batch, columns)
            if self.null_blocks:
                blocks[torch.rand(batch, columns, generator=random) < 0.3] = 0
            return blocks, batch * columns + 1
        columns = self.coff * self.cmp_ratio + max([1, *self.capacity])
        places = torch.randperm(batch * columns, generator=random).view(batch, columns)
        return places, max(1, -(-batch * columns // self.block_size))


BOUNDARIES: Final = {
    "plain": Shape(),
    "nothing": Shape(capacity=(), starts=()),
    "requests without tokens": Shape(capacity=(0, 0), starts=(0, 5)),
    "padding only": Shape(capacity=(1, 1), used=(0, 0), starts=(0, 9)),
    "no finished group": Shape(capacity=(1, 2), starts=(0, 5)),
    "decode at the end of a group": Shape(capacity=(1, 1, 1), starts=(3, 4, 7), used=(1, 1, 1)),
    "the first group has no previous one": Shape(capacity=(4, 5), starts=(0, 2), coff=2),
    "the previous group is state": Shape(capacity=(4, 3), starts=(8, 9), coff=2),
    "no start_pos": Shape(starts=None, coff=2),
    "fewer used than there are": Shape(capacity=(9, 9), used=(4, 7), starts=(1, 2), coff=2),
    "one group of 128": Shape(capacity=(1, 128), starts=(127, 0), cmp_ratio=128),
    "continuous": Shape(cache_mode=CONTINUOUS),
    "null blocks": Shape(cache_mode=CONTINUOUS, null_blocks=True, block_size=2, capacity=(20, 9), starts=(3, 8)),
    "blocks of one row": Shape(cache_mode=CONTINUOUS, block_size=1, coff=2),
    "halves": Shape(rotary_mode=HALVES),
    "no rotation": Shape(rope_head_dim=0),
    "every channel rotated": Shape(rope_head_dim=6),
    "float16": Shape(dtype=torch.float16),
    "BSH": Shape(padded=True, capacity=(9, 9), used=(9, 2), starts=(3, 0)),
    "BSH without tokens": Shape(padded=True, capacity=(0, 0), starts=(3, 0)),
    "BSH without requests": Shape(padded=True, capacity=(), starts=()),
    "BSH, coff 2": Shape(padded=True, capacity=(7, 7), starts=(5, 0), coff=2, cache_mode=CONTINUOUS),
}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary, then `count` random inputs, of sizes that the native ops refuse: see native_cases."""
    for name, shape in BOUNDARIES.items():
        yield replace(shape.case(device), name=name)
    for number in range(count):
        yield random_shape(seed + number).case(device)


def native_cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Inputs of the sizes and the rotation that npu::compressor takes, boundaries first."""
    for name, shape in BOUNDARIES.items():
        if shape.rotary_mode == PAIRS and shape.rope_head_dim:
            yield replace(_native(shape, 128).case(device), name=name)
    for number in range(count):
        yield _native(random_shape(seed + number), (128, 512)[number % 2]).case(device)


def a5_cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """With CONTINUOUS state alone: how A5 addresses a ring in its other one is not published: no reference."""
    for name, shape in BOUNDARIES.items():
        if shape.cache_mode == CONTINUOUS:
            yield replace(_native(shape, 128).case(device), name=name)
    for number in range(count):
        shape = replace(random_shape(seed + number), cache_mode=CONTINUOUS)
        yield _native(shape, (128, 512)[number % 2]).case(device)


def _native(shape: Shape, head_dim: int) -> Shape:
    return replace(shape, hidden=1024, head_dim=head_dim, rope_head_dim=64, rotary_mode=PAIRS)


def random_shape(seed: int) -> Shape:
    """A shape that the contract allows, decided by the seed."""
    random = torch.Generator().manual_seed(seed)

    def pick(lowest: int, highest: int) -> int:
        return int(torch.randint(lowest, highest + 1, (), generator=random))

    cmp_ratio = (2, 4, 4, 8, 16, 32, 64, 128)[pick(0, 7)]
    batch, padded = pick(1, 5), pick(0, 1) == 1
    longest = pick(1, 2 * cmp_ratio + 3)
    capacity = (longest,) * batch if padded else tuple(pick(0, longest) for _ in range(batch))
    head_dim = (4, 6, 16)[pick(0, 2)]
    return Shape(
        capacity=capacity,
        used=tuple(pick(0, size) for size in capacity) if pick(0, 2) else None,
        starts=tuple(pick(0, 3 * cmp_ratio) for _ in capacity) if pick(0, 4) else None,
        padded=padded,
        hidden=(1, 8, 24)[pick(0, 2)],
        head_dim=head_dim,
        rope_head_dim=(0, 2, 4)[pick(0, 2)],
        cmp_ratio=cmp_ratio,
        coff=pick(1, 2),
        norm_eps=(1e-6, 1e-3, 0.0)[pick(0, 2)],
        rotary_mode=pick(HALVES, PAIRS),
        cache_mode=pick(CONTINUOUS, EXPLICIT),
        block_size=(1, 4, 8, 128)[pick(0, 3)],
        dtype=(torch.bfloat16, torch.float16)[pick(0, 1)],
        null_blocks=pick(0, 1) == 1,
        seed=seed,
    )
