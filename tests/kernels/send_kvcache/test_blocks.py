"""Pages to blocks: the worked example, the edges, and that every byte is in exactly one block."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.kernels.send_kvcache.blocks import Block, Run, group, place


def test_worked_example() -> None:
    runs = group([3, 4, 5, 9], [0, 1, 7, 8])
    assert place(runs, 10_000, 50_000, 100) == [
        Block(10_300, 50_000, 200),
        Block(10_500, 50_700, 100),
        Block(10_900, 50_800, 100),
    ]


@pytest.mark.parametrize(
    ("source", "destination", "runs"),
    [
        ([7], [2], [Run(7, 2, 1)]),
        ([0, 1, 2], [5, 6, 7], [Run(0, 5, 3)]),
        ([2, 1, 0], [5, 6, 7], [Run(2, 5, 1), Run(1, 6, 1), Run(0, 7, 1)]),
        ([0, 1, 2, 3], [5, 6, 8, 9], [Run(0, 5, 2), Run(2, 8, 2)]),
        ([0, 2], [5, 6], [Run(0, 5, 1), Run(2, 6, 1)]),
        ([4, 4], [1, 2], [Run(4, 1, 1), Run(4, 2, 1)]),
        ([0, 2**31 - 1], [2**31 - 2, 2**31 - 1], [Run(0, 2**31 - 2, 1), Run(2**31 - 1, 2**31 - 1, 1)]),
    ],
)
def test_a_run_ends_where_either_side_leaves_its_row(
    source: list[int], destination: list[int], runs: list[Run]
) -> None:
    assert group(source, destination) == runs


@pytest.mark.parametrize(("source", "destination"), [([], []), ([], [1, 2]), ([3], [])])
def test_an_empty_side_gives_no_blocks(source: list[int], destination: list[int]) -> None:
    assert group(source, destination) == []


@pytest.mark.parametrize(("source", "destination"), [([1, 2], [1]), ([1], [1, 2, 3])])
def test_other_lengths_are_refused(source: list[int], destination: list[int]) -> None:
    with pytest.raises(ValueError, match=f"expected {len(source)} pages.*found {len(destination)}"):
        group(source, destination)


def test_addresses_beyond_32_bits() -> None:
    assert place([Run(2**31 - 1, 1, 2)], 2**40, 2**41, 2**16) == [
        Block(2**40 + (2**31 - 1) * 2**16, 2**41 + 2**16, 2**17)
    ]


numbers = st.integers(0, 30)


@given(st.lists(st.tuples(numbers, numbers), max_size=40), st.integers(1, 5))
def test_every_page_is_in_one_block_and_no_two_blocks_could_be_one(pairs: list[tuple[int, int]], item_len: int) -> None:
    runs = group([one for one, _ in pairs], [other for _, other in pairs])
    assert [(run.source + k, run.destination + k) for run in runs for k in range(run.pages)] == pairs
    for one, other in itertools.pairwise(runs):
        assert (one.source + one.pages, one.destination + one.pages) != (other.source, other.destination)
    for run, block in zip(runs, place(runs, 1000, 9000, item_len), strict=True):
        assert block == (1000 + run.source * item_len, 9000 + run.destination * item_len, run.pages * item_len)
