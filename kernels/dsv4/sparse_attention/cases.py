"""Inputs on which every sparse_attention must agree with the reference, in the sizes that the native ops take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from confbag.kernels.checks.agreement import Arguments, Case, Tolerance
from confbag.kernels.dsv4.sparse_attention.operands import METADATA_SIZE, Operands
from confbag.kernels.dsv4.sparse_attention.seen import tokens

HEADS, HEAD_SIZE = 64, 512
TOLERANCE = Tolerance(relative=2e-2, absolute=2e-2)
INT32 = torch.int32


@dataclass(frozen=True)
class Shape:
    """What decides one input: (cached tokens, queries) of each request, its layout and what is compressed.

    topk: entries of cmp_sparse_indices a token; 0 is none (CFA). slots: entries of ori_sparse_indices; 0 is none.
    padding: rows of q that belong to nobody.
    """

    requests: tuple[tuple[int, int], ...]
    layout: str = "TND"
    page: int = 128
    win_left: int = 127
    win_right: int = 0
    ratio: int = 0
    compressed_page: int = 32
    topk: int = 0
    slots: int = 0
    padding: int = 0
    dtype: torch.dtype = torch.bfloat16
    sink: float = 0.5
    seed: int = 0

    def case(self, device: str) -> Case:
        """The case of this shape on a device. Rows that belong to nobody are not compared."""

        def arguments() -> Arguments:
            return self.operands(device)

        def specified(result: tuple[Tensor, Tensor]) -> Tensor:
            live = tokens(self.operands("cpu")).live.to(result[0].device)
            return result[0].flatten(0, -3)[live]

        return Case(str(self), arguments, TOLERANCE, specified)

    def operands(self, device: str) -> Operands:
        """Every argument in the contract's order, the same at each call."""
        random = torch.Generator().manual_seed(self.seed)

        def normal(*size: int) -> Tensor:
            return torch.randn(size, generator=random).to(device, self.dtype)

        def paged(lengths: list[int], page: int) -> tuple[Tensor, Tensor]:
            needed = [-(-length // page) for length in lengths]
            order = torch.randperm(sum(needed) + 1, generator=random).to(INT32)
            table = torch.full((len(lengths), max(*needed, 1)), -1, dtype=INT32)
            for row, (count, stop) in enumerate(zip(needed, accumulate(needed), strict=True)):
                table[row, :count] = order[stop - count : stop]
            return normal(len(order), page, 1, HEAD_SIZE), table.to(device)

        lengths = [length for length, _ in self.requests]
        counts = [count for _, count in self.requests]
        ori_kv, ori_block_table = paged(lengths, self.page)
        given: dict[str, Any] = {"ori_kv": ori_kv, "ori_block_table": ori_block_table}
        if self.layout == "TND":
            rows: tuple[int, ...] = (sum(counts) + self.padding,)
            given["cu_seqlens_q"] = torch.tensor([0, *accumulate(counts)], dtype=INT32, device=device)
        else:
            rows = (len(counts), max(counts) + self.padding)
            given["seqused_q"] = torch.tensor(counts, dtype=INT32, device=device)
        if self.ratio:
            given["cmp_kv"], given["cmp_block_table"] = paged(
                [length // self.ratio for length in lengths], self.compressed_page
            )
        if self.topk:
            given["cmp_sparse_indices"] = self._compressed_indices(rows, random).to(device)
        if self.slots:
            indices = torch.randint(0, ori_kv.shape[0] * self.page, (*rows, 1, self.slots), generator=random)
            indices[..., self.slots // 2 :] = -1
            given["ori_sparse_indices"] = indices.to(device, INT32)
        given.update(
            q=normal(*rows, HEADS, HEAD_SIZE),
            seqused_kv=torch.tensor(lengths, dtype=INT32, device=device),
            sinks=torch.full((HEADS,), self.sink, device=device),
            metadata=_one_core_does_everything(len(counts)).to(device),
            softmax_scale=HEAD_SIZE**-0.5,
            cmp_ratio=self.ratio or 1,
            ori_mask_mode=4,
            cmp_mask_mode=3,
            ori_win_left=self.win_left,
            ori_win_right=self.win_right,
            layout_q=self.layout,
            layout_kv="PA_ND",
            return_softmax_lse=False,
        )
        return Operands._make(given.get(name) for name in Operands._fields)

    def _compressed_indices(self, rows: tuple[int, ...], random: torch.Generator) -> Tensor:
        """For each token the visible compressed tokens in any order, as many as fit, then -1."""
        indices = torch.full((*rows, 1, self.topk), -1, dtype=INT32)
        first = 0
        for request, (length, count) in enumerate(self.requests):
            for place in range(count):
                visible = max(0, (length - count + place + 1) // self.ratio)
                chosen = torch.randperm(visible, generator=random)[: self.topk].to(INT32)
                row = indices[first + place] if self.layout == "TND" else indices[request, place]
                row[0, : len(chosen)] = chosen
            first += count
        return indices


def _one_core_does_everything(requests: int) -> Tensor:
    """The simplest table of dsv4.sparse_metadata that covers every row: from request 0 up to the end of the last."""
    metadata = torch.zeros(METADATA_SIZE, dtype=INT32)
    metadata[:8] = torch.tensor([1, 0, 0, 0, requests, 0, 0, 0])
    return metadata


BOUNDARIES = {
    "decode": Shape(((300, 1), (128, 1), (1, 1))),
    "prefill": Shape(((5, 5), (3, 2))),
    "a window shorter than the sequence": Shape(((40, 3),), win_left=3),
    "a window to the right": Shape(((40, 6),), win_left=7, win_right=2),
    "no token in the cache": Shape(((0, 2), (4, 1))),
    "more queries than tokens": Shape(((2, 5),)),
    "a request without queries": Shape(((9, 2), (7, 0), (5, 1))),
    "padding": Shape(((9, 2),), padding=3),
    "BSND": Shape(((20, 2), (7, 1)), layout="BSND", padding=1),
    "the smallest page": Shape(((40, 2),), page=16),
    "no sink": Shape(((40, 2),), sink=-1e4),
    "a large sink": Shape(((40, 2),), sink=20.0),
    "CFA": Shape(((300, 2), (127, 1)), ratio=128, compressed_page=16),
    "SCFA": Shape(((300, 2), (3, 1)), ratio=4, topk=512),
    "SCFA with more visible than entries": Shape(((2200, 1),), ratio=4, topk=512),
    "SCFA, BSND": Shape(((50, 2), (9, 1)), layout="BSND", ratio=4, topk=512),
    "slots in place of the window": Shape(((300, 3),), slots=128),
    "float16": Shape(((300, 2),), ratio=4, dtype=torch.float16),
}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary, then `count` random inputs."""
    for name, shape in BOUNDARIES.items():
        yield replace(shape.case(device), name=name)
    for number in range(count):
        yield random_shape(seed + number).case(device)


def random_shape(seed: int) -> Shape:
    """A shape that the native ops take, decided by the seed."""
    random = torch.Generator().manual_seed(seed)

    def pick(lowest: int, highest: int) -> int:
        return int(torch.randint(lowest, highest + 1, (), generator=random))

    ratio = (0, 4, 128)[pick(0, 2)]
    return Shape(
        requests=(*((pick(0, 400), pick(0, 3)) for _ in range(pick(0, 2))), (pick(1, 400), pick(1, 3))),
        layout=("TND", "BSND")[pick(0, 1)],
        page=16 * pick(1, 8),
        win_left=(127, pick(0, 200))[pick(0, 1)],
        win_right=(0, pick(0, 5))[pick(0, 1)],
        ratio=ratio,
        compressed_page=16 * pick(1, 3),
        topk=512 if ratio == 4 and pick(0, 1) else 0,
        padding=pick(0, 2),
        dtype=(torch.bfloat16, torch.float16)[pick(0, 1)],
        sink=float(pick(-3, 3)),
        seed=seed,
    )
