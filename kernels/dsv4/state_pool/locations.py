"""EXPLICIT location tables: the state row of every position that a compressor call reads or writes.

Column c of request b is position start_pos[b] - coff * ratio + c. It is valid where the request is live (seqused above
0), the position is not negative and lies before start_pos[b] + capacity[b]; everything else points at the cleared dummy
row. Built on the device from device tensors, without waiting for it.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import reference_checks_values
from confbag.kernels.checks.operands import require_tensor
from confbag.kernels.dsv4.state_pool.geometry import OVERLAPPING, REQUEST_SCOPED, StateGeometry

INT32: Final = (torch.int32,)
INTEGERS: Final = (torch.int32, torch.int64)


def window_table(
    geometry: StateGeometry,
    req_to_token: Tensor,
    full_to_swa: Tensor,
    req_pool_indices: Tensor,
    start_pos: Tensor,
    seqused: Tensor,
    capacity: Tensor,
    max_capacity: int,
    swa_page_size: int,
) -> Tensor:
    """The table for ratio 4, whose state follows the sliding window's slots: int32 [B, 8 + max_capacity].

    geometry: of the state, ratio 4.
    req_to_token: int32 [requests, context].
    full_to_swa: int32 or int64, the window's slot of each full slot, negative where it has none (dummy).
    req_pool_indices: int32 or int64 [B].
    start_pos: int32 [B], the position of each request's first token.
    seqused: int32 [B], the tokens used of each request; 0 is padding.
    capacity: int32 [B], the tokens that each request has room for.
    max_capacity: the largest capacity, at least 1.
    swa_page_size: a multiple of the ring. Slot w is in row (w // swa_page_size) * ring + w % ring.

    Raises TypeError, ValueError; for values in CPU tensors always, elsewhere under `exec.debug.bounds`.
    """
    if geometry.ratio != OVERLAPPING:
        raise ValueError(f"geometry: expected ratio {OVERLAPPING}, found {geometry.ratio}; write request_table")
    if swa_page_size < 1 or swa_page_size % geometry.ring_size:
        raise ValueError(
            f"swa_page_size: expected a multiple of {geometry.ring_size}, the rows of a ring, found {swa_page_size}"
        )
    require_tensor("req_to_token", req_to_token, INT32, (None, None), start_pos.device)
    require_tensor("full_to_swa", full_to_swa, INTEGERS, (None,), start_pos.device)
    _check(req_pool_indices, start_pos, seqused, capacity, max_capacity)
    requests, context = req_to_token.shape
    checked = reference_checks_values(start_pos)
    if checked:
        _check_requests(req_pool_indices, seqused, requests)
        _refuse(
            "start_pos + capacity",
            (seqused > 0) & (start_pos.long() + capacity > context),
            start_pos.long() + capacity,
            f"at most {context}, the columns of req_to_token",
        )
    position, valid = _positions(geometry, start_pos, seqused, capacity, max_capacity)
    request = torch.where(valid, req_pool_indices.long()[:, None], 0)
    full = req_to_token[request, torch.where(valid, position, 0)].long()
    valid = valid & (full >= 0)
    if checked:
        _refuse("req_to_token", valid & (full >= full_to_swa.shape[0]), full, "a slot that full_to_swa has")
    swa = full_to_swa[torch.where(valid, full, 0)].long()
    row = swa // swa_page_size * geometry.ring_size + swa % geometry.ring_size
    return _finish(geometry, row, valid & (swa >= 0), checked)


def request_table(
    geometry: StateGeometry,
    req_pool_indices: Tensor,
    start_pos: Tensor,
    seqused: Tensor,
    capacity: Tensor,
    max_capacity: int,
) -> Tensor:
    """The table for ratio 128, whose state is a ring for each request: int32 [B, 128 + max_capacity].

    Position p of request q is in row q * ring + p % ring.
    geometry: of the state, ratio 128.
    req_pool_indices: int32 or int64 [B].
    start_pos: int32 [B], the position of each request's first token.
    seqused: int32 [B], the tokens used of each request; 0 is padding.
    capacity: int32 [B], the tokens that each request has room for.
    max_capacity: the largest capacity, at least 1.

    Raises as window_table does.
    """
    if geometry.ratio != REQUEST_SCOPED:
        raise ValueError(f"geometry: expected ratio {REQUEST_SCOPED}, found {geometry.ratio}; write window_table")
    _check(req_pool_indices, start_pos, seqused, capacity, max_capacity)
    checked = reference_checks_values(start_pos)
    if checked:
        _check_requests(req_pool_indices, seqused, geometry.rows // geometry.ring_size)
    position, valid = _positions(geometry, start_pos, seqused, capacity, max_capacity)
    row = req_pool_indices.long()[:, None] * geometry.ring_size + position % geometry.ring_size
    return _finish(geometry, row, valid, checked)


def _check(req_pool_indices: Tensor, start_pos: Tensor, seqused: Tensor, capacity: Tensor, max_capacity: int) -> None:
    require_tensor("start_pos", start_pos, INT32, (None,))
    batch, device = start_pos.shape[0], start_pos.device
    require_tensor("req_pool_indices", req_pool_indices, INTEGERS, (batch,), device)
    require_tensor("seqused", seqused, INT32, (batch,), device)
    require_tensor("capacity", capacity, INT32, (batch,), device)
    if max_capacity < 1:
        raise ValueError(f"max_capacity: expected at least 1, found {max_capacity}")
    if reference_checks_values(start_pos):
        live = seqused > 0
        _refuse("start_pos", live & (start_pos < 0), start_pos, "at least 0")
        _refuse("capacity", capacity > max_capacity, capacity, f"at most max_capacity ({max_capacity})")
        _refuse("seqused", seqused > capacity, seqused, "at most the capacity of its request")


def _check_requests(req_pool_indices: Tensor, seqused: Tensor, requests: int) -> None:
    wrong = (seqused > 0) & ((req_pool_indices < 0) | (req_pool_indices >= requests))
    _refuse("req_pool_indices", wrong, req_pool_indices, f"a request in [0, {requests})")


def _positions(
    geometry: StateGeometry, start_pos: Tensor, seqused: Tensor, capacity: Tensor, max_capacity: int
) -> tuple[Tensor, Tensor]:
    """The position of every column, and whether it is valid."""
    history = geometry.coff * geometry.ratio
    column = torch.arange(history + max_capacity, device=start_pos.device)
    position = start_pos.long()[:, None] - history + column
    inside = (seqused > 0)[:, None] & (column < history + capacity.long()[:, None])
    return position, inside & (position >= 0)


def _finish(geometry: StateGeometry, row: Tensor, valid: Tensor, checked: bool) -> Tensor:
    if checked:
        _refuse("state_block_table", valid & (row >= geometry.dummy), row, f"a row before the dummy, {geometry.dummy}")
    return torch.where(valid, row, geometry.dummy).to(torch.int32)


def _refuse(name: str, wrong: Tensor, values: Tensor, expected: str) -> None:
    if bool(wrong.any()):
        place = [int(index) for index in wrong.nonzero()[0]]
        found = int(values[tuple(place)])
        raise ValueError(f"{name}{place}: expected {expected}, found {found}")
