"""Pages grouped into runs that are consecutive on both sides, and the bytes that each run of a layer is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """`pages` pages, consecutive from `source` on here and from `destination` on there."""

    source: int
    destination: int
    pages: int


class Block(NamedTuple):
    """`length` bytes to be copied from one address to the other."""

    source: int
    destination: int
    length: int


def group(source: Sequence[int], destination: Sequence[int]) -> list[Run]:
    """The runs in order: split wherever either sequence is not one more than before. None when either side is empty.

    Raises ValueError for lengths that differ.
    """
    if not source or not destination:
        return []
    if len(source) != len(destination):
        raise ValueError(
            f"dst_kv_indices: expected {len(source)} pages, as many as prefill_kv_indices has, found {len(destination)}"
        )
    runs = []
    start = 0
    for place in range(1, len(source) + 1):
        if (
            place == len(source)
            or source[place] != source[place - 1] + 1
            or destination[place] != destination[place - 1] + 1
        ):
            runs.append(Run(source[start], destination[start], place - start))
            start = place
    return runs


def place(runs: Sequence[Run], source: int, destination: int, item_len: int) -> list[Block]:
    """The blocks of one layer whose pools begin at these addresses. item_len: bytes of a page."""
    return [
        Block(source + run.source * item_len, destination + run.destination * item_len, run.pages * item_len)
        for run in runs
    ]
