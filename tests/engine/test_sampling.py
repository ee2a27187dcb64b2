"""Sampling: greedy at temperature 0, the model's distribution above it, and noise that belongs to a position."""

from __future__ import annotations

import pytest
import torch
from mini_engine import sampling


def test_greedy_takes_the_first_of_the_largest() -> None:
    logits = torch.tensor([[1.0, 5.0, 5.0, 0.0], [9.0, 0.0, 0.0, 9.0]])
    drawn = sampling.noise([(0.0, 1, 2), (0.0, 3, 4)], logits)
    assert not drawn.any()
    assert sampling.choose(logits, torch.zeros(2, 1), drawn).tolist() == [1, 0]


def test_noise_is_of_the_seed_and_position_not_of_the_row() -> None:
    like = torch.zeros(3, 16)
    first = sampling.noise([(1.0, 7, 0), (0.0, 7, 1), (1.0, 7, 2)], like)
    second = sampling.noise([(1.0, 7, 2), (1.0, 8, 2), (2.0, 7, 0)], like)
    assert torch.equal(first[0], second[2])
    assert torch.equal(first[2], second[0])
    assert not torch.equal(second[0], second[1])
    assert not first[1].any()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_follow_the_softmax(temperature: float) -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    count = 4000
    rows = logits.expand(count, 3)
    drawn = sampling.noise([(temperature, 5, position) for position in range(count)], rows)
    tokens = sampling.choose(rows, torch.full((count, 1), temperature), drawn)
    seen = torch.bincount(tokens, minlength=3) / count
    # Six standard deviations of a share of 4000 draws are below 0.05; the seed is fixed.
    torch.testing.assert_close(seen, torch.softmax(logits[0] / temperature, 0), atol=0.05, rtol=0)
