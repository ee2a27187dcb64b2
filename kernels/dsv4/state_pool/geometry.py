"""How many rows a compressor's state has, which one is the dummy, and what is sent of it; plain integers, no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

OVERLAPPING, REQUEST_SCOPED = 4, 128
RATIOS: Final = (OVERLAPPING, REQUEST_SCOPED)
RINGS: Final = {OVERLAPPING: (8, 16), REQUEST_SCOPED: (128, 256)}
"""Rows of a ring, without speculation and with it."""

KV_HEAD_DIM: Final = 512


@dataclass(frozen=True)
class StateGeometry:
    """The rows of one compressor's state.

    size: the slots that it must have room for: of the sliding window's pool for ratio 4, whose state follows those
    slots, and a ring for each request for ratio 128, whose state follows the request. head_dim: of the compressor, 512
    or the indexer's 128. ring_size: rows of a ring, at least 1.
    """

    size: int
    ratio: int
    head_dim: int
    ring_size: int

    def __post_init__(self) -> None:
        _at_least("size", self.size, 0)
        if self.ratio not in RATIOS:
            raise ValueError(f"ratio: expected 4 or 128, found {self.ratio!r}")
        _at_least("head_dim", self.head_dim, 1)
        _at_least("ring_size", self.ring_size, 1)

    @property
    def coff(self) -> int:
        """2 where a group sees the one before it (ratio 4), else 1."""
        return 2 if self.ratio == OVERLAPPING else 1

    @property
    def rows(self) -> int:
        """Rows of the buffer: room for size, a ring and the dummy, in whole groups and whole rings."""
        step = math.lcm(self.ratio, self.ring_size)
        return -(-(self.size + self.ring_size + 1) // step) * step

    @property
    def last_dim(self) -> int:
        """Elements of a row: kv, then score."""
        return 2 * self.coff * self.head_dim

    @property
    def view_shape(self) -> tuple[int, int, int]:
        """The shape that the op takes: [rings, ring_size, last_dim]. ValueError for rings of one row."""
        if self.ring_size < 2:
            raise ValueError(f"ring_size: expected at least 2, which the op's view needs, found {self.ring_size}")
        return (self.rows // self.ring_size, self.ring_size, self.last_dim)

    @property
    def dummy(self) -> int:
        """The row that stands for every invalid position: the last one, cleared."""
        return self.rows - 1

    @property
    def cleared(self) -> range:
        """The rows that a new pool clears: the dummy for ratio 4, all of them for ratio 128."""
        return range(self.dummy, self.rows) if self.ratio == OVERLAPPING else range(self.rows)

    def require_request_rings(self, request_slots: int) -> None:
        """Refuse fewer rows than a ring for every request slot, which a request-scoped state needs, and A5 always."""
        if self.rows < request_slots * self.ring_size:
            raise ValueError(
                f"size: expected room for {request_slots * self.ring_size} rows, a ring of {self.ring_size} for each "
                f"of {request_slots} request slots, found {self.rows}"
            )


def ring_size(ratio: int, speculative: bool) -> int:
    """The rows of a ring as SGLang has them: 8 or 128 by ratio, twice as many with speculation."""
    if ratio not in RINGS:
        raise ValueError(f"ratio: expected 4 or 128, found {ratio!r}")
    return RINGS[ratio][bool(speculative)]


def sent_positions(seq_len: int) -> range:
    """The positions whose ratio-4 state a prefill worker sends: the last full group and the tail after it."""
    _at_least("seq_len", seq_len, 0)
    return range(max(0, seq_len - (seq_len % OVERLAPPING + OVERLAPPING)), seq_len)


def sent_rows(seq_len: int, request: int, ring_size: int) -> list[int]:
    """The rows that hold them where the state is a ring of `ring_size` rows for each request."""
    _at_least("request", request, 0)
    _at_least("ring_size", ring_size, 2 * OVERLAPPING)
    if ring_size % OVERLAPPING:
        raise ValueError(f"ring_size: expected a multiple of {OVERLAPPING}, found {ring_size}")
    return [request * ring_size + position % ring_size for position in sent_positions(seq_len)]


def kv_shape(size: int, page_size: int) -> tuple[int, int, int, int]:
    """The shape of a pool of KV rows in PA_ND, bfloat16: [pages, page_size, 1, 512]."""
    _at_least("size", size, 0)
    _at_least("page_size", page_size, 1)
    return ((size + page_size + 1) // page_size, page_size, 1, KV_HEAD_DIM)


def compressed_page_size(page_size: int, ratio: int) -> int:
    """The rows of a page of compressed KV, which holds the groups of one page of tokens."""
    _at_least("page_size", page_size, 1)
    if page_size % ratio:
        raise ValueError(f"page_size: expected a multiple of {ratio}, found {page_size}")
    return page_size // ratio


def require_c128_page_size(page_size: int) -> None:
    """Refuse a page of ratio-128 KV that is no positive multiple of 16."""
    if isinstance(page_size, bool) or not isinstance(page_size, int) or page_size < 1 or page_size % 16:
        raise ValueError(f"c128_page_size: expected a positive multiple of 16, found {page_size!r}")


def _at_least(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, found {value!r}")
