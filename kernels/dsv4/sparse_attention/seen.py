"""Which rows of the two caches each query token sees, as slots and a mask, without reading a value from the device."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from confbag.kernels.dsv4.sparse_attention.operands import TND, Operands


@dataclass(frozen=True)
class Tokens:
    """Some query tokens: int64 [t] each. live: whether the token belongs to a request at all."""

    index: Tensor
    request: Tensor
    position: Tensor
    length: Tensor
    live: Tensor

    def part(self, start: int, stop: int) -> Tokens:
        """The tokens in [start, stop)."""
        fields = (self.index, self.request, self.position, self.length, self.live)
        return Tokens(*(field[start:stop] for field in fields))


@dataclass(frozen=True)
class Seen:
    """What some tokens see of one cache. slots: int64 [t, k], in range everywhere; seen: bool [t, k].

    outside: bool [t, k], what a token ought to see there but whose page or slot is out of range; never seen.
    """

    slots: Tensor
    seen: Tensor
    outside: Tensor


def tokens(given: Operands) -> Tokens:
    """Every query token, in the order of q."""
    q, lengths = given.q, _known(given.seqused_kv).long()
    index = torch.arange(math.prod(q.shape[:-2]), device=q.device)
    if given.layout_q == TND:
        starts = _known(given.cu_seqlens_q).long()
        # The first request that ends behind the token; one past the last for rows that belong to nobody.
        request = torch.searchsorted(starts[1:].contiguous(), index, right=True)
        live = request < lengths.shape[0]
        request = request.clamp(max=lengths.shape[0] - 1)
        count, place = (starts[1:] - starts[:-1])[request], index - starts[request]
    else:
        request, place = index // q.shape[1], index % q.shape[1]
        used = given.seqused_q
        count = torch.full_like(index, q.shape[1]) if used is None else used.long()[request]
        live = place < count
    length = lengths[request]
    return Tokens(index, request, length - count + place, length, live)


def original(given: Operands, some: Tokens) -> Seen:
    """What the tokens see of ori_kv."""
    pages, page = _known(given.ori_kv).shape[:2]
    if given.ori_sparse_indices is not None and given.cmp_sparse_indices is None:
        entries = given.ori_sparse_indices.flatten(0, -2)[some.index].long()
        # Up to the first negative one.
        wanted = (entries >= 0).long().cumprod(1).bool() & (_columns(entries) < some.length[:, None])
        return _seen(entries, wanted & some.live[:, None], entries >= pages * page)
    table = _known(given.ori_block_table)
    first = (some.position - given.ori_win_left).clamp(min=0)
    last = torch.minimum(some.position + given.ori_win_right, some.length - 1)
    # One column more than the table has room for, so that a window that leaves it is noticed.
    width = min(given.ori_win_left + given.ori_win_right + 1, table.shape[1] * page + 1)
    positions = first[:, None] + torch.arange(width, device=table.device)
    wanted = (positions <= last[:, None]) & some.live[:, None]
    return _paged(positions, wanted, table[some.request], page, pages)


def compressed(given: Operands, some: Tokens) -> Seen:
    """What the tokens see of cmp_kv."""
    pages, page = _known(given.cmp_kv).shape[:2]
    table = _known(given.cmp_block_table)
    visible = (some.position + 1).clamp(min=0) // given.cmp_ratio
    if given.cmp_sparse_indices is None:
        numbers = torch.arange(table.shape[1] * page + 1, device=table.device).expand(len(some.index), -1)
        wanted = numbers < visible[:, None]
    else:
        numbers, used = entries_used(given, some)
        wanted = used & (numbers >= 0) & (numbers < visible[:, None])
    return _paged(numbers, wanted & some.live[:, None], table[some.request], page, pages)


def entries_used(given: Operands, some: Tokens) -> tuple[Tensor, Tensor]:
    """cmp_sparse_indices of the tokens, int64 [t, K], and which of them count: the first min(K, visible)."""
    entries = _known(given.cmp_sparse_indices).flatten(0, -2)[some.index].long()
    visible = (some.position + 1).clamp(min=0) // given.cmp_ratio
    return entries, (_columns(entries) < visible[:, None]) & some.live[:, None]


def _paged(positions: Tensor, wanted: Tensor, table: Tensor, page: int, pages: int) -> Seen:
    """Positions through block tables, a row of `table` for each token."""
    columns = positions // page
    held = columns.clamp(0, table.shape[1] - 1)
    ids = table.long().gather(1, held)
    outside = (columns != held) | (ids < 0) | (ids >= pages)
    return _seen(ids * page + positions % page, wanted, outside)


def _seen(slots: Tensor, wanted: Tensor, outside: Tensor) -> Seen:
    seen = wanted & ~outside
    return Seen(torch.where(seen, slots, 0), seen, wanted & outside)


def _columns(entries: Tensor) -> Tensor:
    return torch.arange(entries.shape[1], device=entries.device)


def _known(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return tensor
