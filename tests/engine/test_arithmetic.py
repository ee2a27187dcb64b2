"""The engine's arithmetic: right, and the same bits for a row whatever rows stand beside it."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mini_engine import arithmetic

SEEDS = st.integers(0, 2**32 - 1)


def _random(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    # Sizes from 1e-4 to 1e4: a sum in another order would round otherwise.
    return torch.randn(shape, generator=generator) * 10 ** torch.randint(-4, 5, shape, generator=generator)


def _same_alone(function: object, rows: torch.Tensor) -> None:
    assert callable(function)
    together = function(rows)
    alone = torch.cat([function(row.unsqueeze(0)) for row in rows])
    assert torch.equal(together, alone)
    order = torch.arange(len(rows)).flip(0)
    assert torch.equal(function(rows[order]), together[order])


@settings(deadline=None, max_examples=50)
@given(SEEDS, st.integers(1, 140), st.integers(1, 70), st.integers(1, 40))
def test_linear_rows_do_not_see_each_other(seed: int, count: int, inputs: int, outputs: int) -> None:
    weight = _random(inputs, outputs, seed=seed)
    _same_alone(lambda rows: arithmetic.linear(rows, weight), _random(count, inputs, seed=seed + 1))


@settings(deadline=None, max_examples=50)
@given(SEEDS, st.integers(1, 90), st.integers(1, 70))
def test_norm_and_silu_rows_do_not_see_each_other(seed: int, count: int, width: int) -> None:
    rows = _random(count, width, seed=seed)
    _same_alone(lambda rows: arithmetic.rms_norm(rows, torch.ones(width)), rows)
    _same_alone(arithmetic.silu, rows)


@settings(deadline=None, max_examples=50)
@given(SEEDS, st.integers(1, 20), st.integers(1, 65), st.integers(1, 20))
def test_linear_is_a_matrix_product(seed: int, count: int, inputs: int, outputs: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, inputs, generator=generator, dtype=torch.float64)
    weight = torch.randn(inputs, outputs, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(arithmetic.linear(rows, weight), rows @ weight)


def test_norm_is_root_mean_square() -> None:
    rows = _random(7, 33, seed=3).double()
    gain = _random(33, seed=4).double()
    torch.testing.assert_close(
        arithmetic.rms_norm(rows, gain), torch.nn.functional.rms_norm(rows, (33,), gain, eps=1e-6)
    )


def test_rotation_depends_on_the_distance_alone() -> None:
    angles = torch.arange(12, dtype=torch.float64).unsqueeze(1) * torch.tensor([1.0, 0.1, 0.01], dtype=torch.float64)
    heads = _random(2, 1, 6, seed=5).double()

    def score(query_position: int, key_position: int) -> torch.Tensor:
        at = angles[[query_position, key_position]]
        query, key = arithmetic.rotate(heads, at.cos(), at.sin())
        return (query * key).sum()

    torch.testing.assert_close(score(3, 1), score(11, 9))
    assert not torch.isclose(score(3, 1), score(3, 2))
