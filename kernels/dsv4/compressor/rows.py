"""How many compressed rows a call produces, and the position that each of them is rotated by; needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

Count = TypeVar("Count", int, "Tensor")


def produced_rows(start_pos: Count, seqused: Count, cmp_ratio: int) -> Count:
    """The rows that a request fills: its groups whose last token is one of the `seqused` from `start_pos` on.

    Of integers, or of integer tensors, request by request.
    """
    return (start_pos + seqused) // cmp_ratio - start_pos // cmp_ratio


def packed_rows(tokens: int, batch: int, cmp_ratio: int) -> int:
    """The rows of a TH result: as many as `tokens` tokens of `batch` requests can produce at most."""
    return min(tokens, tokens // cmp_ratio + batch)


def padded_rows(sequence: int, cmp_ratio: int) -> int:
    """The rows of each request in a BSH result."""
    return -(-sequence // cmp_ratio)


def rope_positions(start_pos: Sequence[int], seqused: Sequence[int], cmp_ratio: int, rows: int) -> list[int]:
    """The position that each of `rows` packed rows is rotated by, that of its group's first token; 0 after the last.

    For prefill, decode (one token of each request, none of a padded row) and verify alike. Raises ValueError when
    `rows` are too few.
    """
    positions = [
        group * cmp_ratio
        for start, used in zip(start_pos, seqused, strict=True)
        for group in range(start // cmp_ratio, (start + used) // cmp_ratio)
    ]
    if len(positions) > rows:
        raise ValueError(f"rows: expected at least {len(positions)}, which this chunk produces, found {rows}")
    return positions + [0] * (rows - len(positions))
