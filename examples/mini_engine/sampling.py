"""Which token comes next: the largest of logits plus noise, where the noise is a function of (seed, position) alone.

Noise that belongs to a position, not to a step, is what lets speculation guess sampled text too: the token at a
position is the same however many steps it took to get there. Temperature 0 is greedy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor


def gumbel(seed: int, position: int, count: int) -> Tensor:
    """Gumbel noise [count] in float64: argmax(logits + temperature * noise) samples softmax(logits / temperature)."""
    digest = hashlib.sha256(f"{seed}:{position}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little", signed=True))
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    return -torch.log(-torch.log(uniform.clamp(min=torch.finfo(torch.float64).tiny)))


def noise(rows: Sequence[tuple[float, int, int]], like: Tensor) -> Tensor:
    """Noise for rows of (temperature, seed, position), in the shape, dtype and device of `like`; zeros where greedy."""
    drawn = torch.zeros(like.shape, dtype=torch.float64)
    for row, (temperature, seed, position) in enumerate(rows):
        if temperature > 0:
            drawn[row] = gumbel(seed, position, like.shape[1])
    return drawn.to(like)


def choose(logits: Tensor, temperatures: Tensor, drawn: Tensor) -> Tensor:
    """The token of each row of logits [n, vocabulary]; temperatures [n, 1]. The first of equals wins."""
    return torch.argmax(logits + temperatures.to(logits.dtype) * drawn, dim=1)
