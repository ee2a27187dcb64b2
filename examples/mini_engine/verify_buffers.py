"""The verify step's tensors: allocated once, filled in place, as a captured graph needs that replays fixed addresses.

A graph is captured for a few batch sizes; a step of `raw_bs` requests replays the smallest that holds them, and the
rows past `raw_bs` are padding: they write slot 0, read row 0 of the request table, and nobody looks at what they
predict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mini_engine.model import Batch

DraftExtendFill = Callable[..., None]


@dataclass(frozen=True)
class Window:
    """One request's rows of a verify step.

    tokens: the committed token that is not cached yet, then the guesses. slots: the table's entries of the whole
    window; past the guesses they name slot 0. cached: the tokens before the window.
    """

    row: int
    tokens: Sequence[int]
    cached: int
    slots: Tensor
    temperature: float


@dataclass(frozen=True)
class Step:
    """The views that one captured batch size works on; made once, with the buffers."""

    batch: Batch
    select_index: Tensor
    num_accept_tokens: Tensor
    temperatures: Tensor


class VerifyBuffers:
    """`fill` stages the windows of one step and returns the views of the captured size that holds them."""

    def __init__(self, fill: DraftExtendFill, *, max_bs: int, width: int, device: torch.device) -> None:
        def zeros(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.width = width
        self.sizes = sorted({*(2**power for power in range(max_bs.bit_length())), max_bs})
        self.input_ids = zeros(max_bs * width, dtype=torch.int64)
        self.positions = zeros(max_bs * width, dtype=torch.int64)
        self.out_cache_loc = zeros(max_bs * width, dtype=torch.int64)
        self.seq_lens = zeros(max_bs, dtype=torch.int32)
        self.req_pool_indices = zeros(max_bs, dtype=torch.int64)
        self.num_correct_drafts = zeros(max_bs, dtype=torch.int32)
        self.num_accept_tokens = zeros(max_bs, dtype=torch.int32)
        self.select_index = zeros(max_bs, dtype=torch.int64)
        self.temperatures = torch.ones(max_bs, 1, dtype=torch.float32, device=device)
        self.global_num_tokens = zeros(1, dtype=torch.int32)
        self.query_lens = torch.full((max_bs,), width, dtype=torch.int32, device=device)
        self._fill = fill
        self._steps = {bs: self._views(bs) for bs in self.sizes}

    def fill(self, windows: Sequence[Window]) -> Step:
        raw_bs, width = len(windows), self.width
        bs = next(size for size in self.sizes if size >= raw_bs)
        # The op leaves the request indices of padded rows as they were: an old one would read a live request's slots.
        self.req_pool_indices.zero_()
        self._fill(
            self.input_ids,
            self.positions,
            self.out_cache_loc,
            self._source([token for window in windows for token in self._padded(window.tokens)]),
            self._source([window.cached + offset for window in windows for offset in range(width)]),
            torch.cat([window.slots for window in windows]),
            self.seq_lens,
            self.req_pool_indices,
            self.num_correct_drafts,
            self.num_accept_tokens,
            self.select_index,
            self.temperatures,
            self._source([window.cached + width for window in windows]),
            self._source([window.row for window in windows]),
            # Before the step nothing of a window is proved but its committed token: no correct draft, one accepted
            # token, and select_index is that token's row, the first whose prediction is new.
            self._source([0] * raw_bs),
            self._source([1] * raw_bs),
            torch.tensor(
                [[window.temperature] for window in windows], dtype=torch.float32, device=self.input_ids.device
            ),
            None,
            None,
            self.global_num_tokens,
            None,
            raw_bs,
            bs,
            width,
            0,
            # A padded request is as long as its own window, the shortest that attention accepts for `width` queries.
            width,
        )
        return self._steps[bs]

    def check(self, windows: Sequence[Window], step: Step) -> None:
        """The buffers hold what the host believes (`exec.debug.mirrors`)."""
        padding = len(step.select_index) - len(windows)
        held = (
            step.batch.seq_lens.tolist(),
            step.batch.req_pool_indices.tolist(),
            step.num_accept_tokens.tolist(),
            self.out_cache_loc[len(windows) * self.width :].any().item(),
        )
        believed = (
            [window.cached + self.width for window in windows] + [self.width] * padding,
            [window.row for window in windows] + [0] * padding,
            [1] * len(windows) + [-1] * padding,
            False,
        )
        if held != believed:
            raise RuntimeError(f"the verify buffers hold {held} and the host believes {believed}")

    def _padded(self, tokens: Sequence[int]) -> list[int]:
        return [*tokens, *[0] * (self.width - len(tokens))]

    def _source(self, values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.input_ids.device)

    def _views(self, bs: int) -> Step:
        tokens = bs * self.width
        batch = Batch(
            input_ids=self.input_ids[:tokens],
            positions=self.positions[:tokens],
            out_cache_loc=self.out_cache_loc[:tokens],
            req_pool_indices=self.req_pool_indices[:bs],
            seq_lens=self.seq_lens[:bs],
            query_lens=self.query_lens[:bs],
        )
        return Step(batch, self.select_index[:bs], self.num_accept_tokens[:bs], self.temperatures[:bs])
