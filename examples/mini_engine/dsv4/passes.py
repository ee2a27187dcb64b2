"""What one forward pass of kind dsv4 reads besides its tokens: lengths, work tables, state locations; from the host.

A verify step must keep the state of every token that it runs, for any of its guesses may turn out wrong and the next
step then continues in the middle. EXPLICIT locations keep that of an unfinished group alone, so a verify step names
blocks instead (CONTINUOUS): a ring is one block, said again for every run of positions, and the rows are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confbag.kernels.dsv4.compressor.rows import packed_rows, rope_positions
from confbag.kernels.dsv4.forward_metadata import lengths, metadata, tables
from confbag.kernels.dsv4.state_pool.locations import request_table, window_table
from mini_engine.dsv4.pool import OVERLAPPING, Dsv4Pool
from mini_engine.dsv4.shape import Dsv4Shape
from mini_engine.model import Batch

CONTINUOUS, EXPLICIT = 1, 2
NO_INDEX = 0
"""Every compressed token that is visible is attended to: the model has no index that chooses among them."""


@dataclass(frozen=True)
class Chunk:
    """What the compressors of one ratio read. slots: where the rows that are produced go, in their order."""

    cache_mode: int
    state_table: Tensor
    rope_positions: Tensor
    slots: Tensor


@dataclass(frozen=True)
class Pass:
    """One forward pass. start_pos, seqused: the first token of each request and how many of its tokens are real."""

    metadata: metadata.ForwardMetadata
    window_table: Tensor
    start_pos: Tensor
    seqused: Tensor
    chunks: dict[int, Chunk]

    def table_of(self, ratio: int) -> Tensor:
        """The work table of a layer."""
        return self.metadata.tables[f"c{ratio}" if ratio else tables.WINDOW]


class Passes:
    """`begin` prepares a pass. The metadata of verify steps is made once for each batch size and refreshed."""

    def __init__(
        self,
        shape: Dsv4Shape,
        pool: Dsv4Pool,
        sparse_metadata: Any,
        *,
        device: torch.device,
        placement: metadata.Placement,
        width: int | None,
    ) -> None:
        self._pool = pool
        self._device = device
        self._placement: metadata.Placement = placement
        self._width = width
        self._ratios = sorted({ratio for ratio in shape.ratios if ratio})
        self._kinds = tables.kinds(shape.ratios, NO_INDEX)
        self._scheduler = tables.Scheduler(sparse_metadata, shape.num_heads, shape.head_dim, shape.window, self._kinds)
        self.captured: dict[int, metadata.ForwardMetadata] = {}

    def begin(self, phase: str, batch: Batch, growth: Sequence[tuple[int, int, int]]) -> Pass:
        """growth: (row, tokens before the pass, tokens after it) of each request; requests past them are padding."""
        padding = len(batch.req_pool_indices) - len(growth)
        starts = [held for _, held, _ in growth] + [0] * padding
        used = [wanted - held for _, held, wanted in growth] + [0] * padding
        found = self._metadata(phase, len(starts), growth)
        start_pos, seqused = self._int32(starts), self._int32(used)
        tokens = len(batch.input_ids)
        chunks = {}
        for ratio in self._ratios:
            groups = [(row, group) for row, held, wanted in growth for group in range(held // ratio, wanted // ratio)]
            positions = rope_positions(starts, used, ratio, packed_rows(tokens, len(starts), ratio))
            if phase == "draft":
                cache_mode, table = CONTINUOUS, self._blocks(ratio, batch.req_pool_indices)
            else:
                cache_mode, table = EXPLICIT, self._locations(ratio, batch, start_pos, seqused, max(used))
            chunks[ratio] = Chunk(
                cache_mode,
                table,
                self._int64(positions),
                self._pool.compressed_slots(
                    ratio, self._int64([row for row, _ in groups]), self._int64([group for _, group in groups])
                ),
            )
        return Pass(found, self._pool.window_table[batch.req_pool_indices], start_pos, seqused, chunks)

    def _metadata(self, phase: str, requests: int, growth: Sequence[tuple[int, int, int]]) -> metadata.ForwardMetadata:
        if phase == "draft":
            assert self._width is not None
            if requests not in self.captured:
                bucket = lengths.Batch(lengths.Mode.TARGET_VERIFY, tokens=self._width)
                self.captured[requests] = metadata.ForwardMetadata.capture(
                    bucket, requests, self._device, self._placement, self._kinds
                )
            found = self.captured[requests]
            found.refresh([held for _, held, _ in growth], scheduler=self._scheduler)
            return found
        seq_lens = [wanted for _, _, wanted in growth]
        if phase == "decode":
            passing = lengths.Batch(lengths.Mode.DECODE, seq_lens)
        else:
            passing = lengths.Batch(
                lengths.Mode.PREFILL, seq_lens, query_lens=[wanted - held for _, held, wanted in growth]
            )
        return metadata.ForwardMetadata.build(passing, self._device, self._placement, self._scheduler)

    def _locations(self, ratio: int, batch: Batch, start_pos: Tensor, seqused: Tensor, longest: int) -> Tensor:
        """The state row of every position that the pass reads or writes."""
        pool, geometry = self._pool, self._geometry(ratio)
        if ratio == OVERLAPPING:
            return window_table(
                geometry,
                pool.req_to_token,
                pool.full_to_window,
                batch.req_pool_indices,
                start_pos,
                seqused,
                seqused,
                longest,
                pool.page_size,
            )
        return request_table(geometry, batch.req_pool_indices, start_pos, seqused, seqused, longest)

    def _blocks(self, ratio: int, rows: Tensor) -> Tensor:
        """The state's block of every run of positions as long as a ring."""
        pool, ring = self._pool, self._pool.rings[ratio]
        if ratio == OVERLAPPING:
            return pool.window_table[rows].repeat_interleave(pool.page_size // ring, dim=1)
        runs = -(-pool.req_to_token.shape[1] // ring)
        return rows.to(torch.int32)[:, None].repeat(1, runs)

    def _geometry(self, ratio: int) -> Any:
        states = self._pool.states.values()
        return next(state.geometry for state in states if state.geometry.ratio == ratio)

    def _int32(self, values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int32, device=self._device)

    def _int64(self, values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self._device)
