"""What shows only in the values of dsv4.compressor's index tensors; reading them waits for the device."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.operands import INT32_MAX
from confbag.kernels.dsv4.compressor.operands import EXPLICIT, Operands, Sizes


def check_values(sizes: Sizes, given: Operands) -> None:
    """Refuse lengths that do not fit each other and table entries, where the call uses them, that are no state row."""
    table, cu_seqlens, seqused, start_pos = given.state_block_table, given.cu_seqlens, given.seqused, given.start_pos
    cmp_ratio, coff = given.cmp_ratio, given.coff
    assert table is not None
    if cu_seqlens is not None:
        _check_cu_seqlens(cu_seqlens, sizes.tokens)
        capacity = cu_seqlens.long().diff()
    else:
        capacity = torch.full((sizes.batch,), sizes.sequence or 0, dtype=torch.int64, device=table.device)
    used = capacity if seqused is None else seqused.long()
    start = torch.zeros_like(capacity) if start_pos is None else start_pos.long()
    _refuse("start_pos", start < 0, start, "at least 0")
    _refuse("seqused", used < 0, used, "at least 0")
    row = _first(used > capacity)
    if row is not None:
        raise ValueError(
            f"seqused[{row}]: expected at most {int(capacity[row])}, the tokens of that request in x, "
            f"found {int(used[row])}"
        )
    row = _first(start + used > INT32_MAX)
    if row is not None:
        raise ValueError(
            f"start_pos[{row}] + seqused[{row}]: expected an int32, found {int(start[row])} + {int(used[row])}"
        )
    if table.dim() == 1:
        _check_table(table[:, None], (used > 0)[:, None], sizes.block_num, "a block of state_cache")
        return
    end = start + used
    if given.cache_mode == EXPLICIT:
        begin, stop = torch.zeros_like(start), coff * cmp_ratio + used
        limit, what = sizes.block_num * sizes.block_size, "a row of state_cache; point what is invalid at a dummy row"
    else:
        oldest = (start // cmp_ratio - (coff - 1)) * cmp_ratio
        # Without a finished group no earlier position is read.
        oldest = torch.where(end // cmp_ratio > start // cmp_ratio, oldest.clamp(min=0), start)
        begin, stop = oldest // sizes.block_size, (end - 1) // sizes.block_size + 1
        limit, what = sizes.block_num, "a block of state_cache"
    live = used > 0
    row = _first(live & (stop > table.shape[1]))
    if row is not None:
        raise ValueError(
            f"state_block_table: expected at least {int(stop[row])} columns, which request {row} uses, "
            f"found {table.shape[1]}"
        )
    column = torch.arange(table.shape[1], device=table.device)
    inside = live[:, None] & (column >= begin[:, None]) & (column < stop[:, None])
    _check_table(table, inside, limit, what)


def _check_cu_seqlens(cu_seqlens: Tensor, tokens: int) -> None:
    if int(cu_seqlens[0]) != 0:
        raise ValueError(f"cu_seqlens[0]: expected 0, found {int(cu_seqlens[0])}")
    row = _first(cu_seqlens[1:] < cu_seqlens[:-1])
    if row is not None:
        raise ValueError(
            f"cu_seqlens[{row + 1}]: expected at least {int(cu_seqlens[row])}, the element before it, "
            f"found {int(cu_seqlens[row + 1])}"
        )
    if int(cu_seqlens[-1]) != tokens:
        raise ValueError(
            f"cu_seqlens[{cu_seqlens.shape[0] - 1}]: expected {tokens}, the tokens of x, found {int(cu_seqlens[-1])}"
        )


def _check_table(table: Tensor, inside: Tensor, limit: int, what: str) -> None:
    wrong = inside & ((table < 0) | (table >= limit))
    if bool(wrong.any()):
        row, column = map(int, wrong.nonzero()[0])
        raise ValueError(
            f"state_block_table[{row}, {column}]: expected a number in [0, {limit}), {what}, "
            f"found {int(table[row, column])}"
        )


def _refuse(name: str, wrong: Tensor, values: Tensor, expected: str) -> None:
    row = _first(wrong)
    if row is not None:
        raise ValueError(f"{name}[{row}]: expected {expected}, found {int(values[row])}")


def _first(wrong: Tensor) -> int | None:
    return int(wrong.nonzero()[0]) if bool(wrong.any()) else None
