"""The memory of one compressor's state."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.dsv4.state_pool.geometry import REQUEST_SCOPED, StateGeometry


class StatePool:
    """A compressor's state as its op takes it.

    size: the slots that it must have room for, see StateGeometry.
    ratio: 4 or 128.
    head_dim: of the compressor.
    ring_size: rows of a ring.
    dtype: float32; the ops keep nothing else.
    device: where it is.
    online: False; online compression of ratio 128 keeps no such state.

    It has geometry (its sizes), buffer (float32 [rows, last_dim]), state_cache (the same memory as [rings, ring_size,
    last_dim]) and dummy (the row that invalid positions point at). Raises ValueError for another dtype, and for
    `online` with ratio 128.
    """

    def __init__(
        self,
        size: int,
        ratio: int,
        head_dim: int,
        ring_size: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        online: bool = False,
    ) -> None:
        if dtype is not torch.float32:
            found = str(dtype).removeprefix("torch.")
            raise ValueError(f"dtype: expected float32, which memory.state_dtype says, found {found}")
        self.geometry = StateGeometry(size, ratio, head_dim, ring_size)
        if online and ratio == REQUEST_SCOPED:
            raise ValueError("online: expected False; online compression of ratio 128 has no state for this op to read")
        shape = self.geometry.view_shape
        self.buffer = torch.zeros(self.geometry.rows, self.geometry.last_dim, dtype=dtype, device=device)
        self.state_cache: Tensor = self.buffer.view(shape)
        self.clear()

    @property
    def dummy(self) -> int:
        """The row that stands for every invalid position."""
        return self.geometry.dummy

    def clear(self) -> None:
        """Make the rows that must count for nothing do so, kv 0 and score -inf: the dummy, or with ratio 128 all."""
        rows, half = self.geometry.cleared, self.geometry.last_dim // 2
        cleared = self.buffer[rows.start : rows.stop]
        cleared[:, :half] = 0
        cleared[:, half:] = -torch.inf
