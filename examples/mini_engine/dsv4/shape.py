"""The sizes of a model of kind dsv4."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

RATIOS = (0, 4, 128)
"""The compress ratio of each layer; 0 has the window alone."""
WIDEST_ROTARY = 64


@dataclass(frozen=True)
class Dsv4Shape:
    """What the weights are made from."""

    num_heads: int
    head_dim: int
    window: int
    dtype: torch.dtype
    ratios: tuple[int, ...] = RATIOS

    @property
    def layers(self) -> int:
        return len(self.ratios)

    @property
    def rotary(self) -> int:
        """The channels that turn: the last ones, at most half of a head."""
        return min(WIDEST_ROTARY, self.head_dim // 4 * 2)

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(self.head_dim)
