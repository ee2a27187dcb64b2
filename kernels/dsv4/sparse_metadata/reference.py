"""dsv4.sparse_metadata in Python: the scheduler whose tables every other implementation must give."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import reference_checks_values
from confbag.kernels.dsv4.sparse_metadata.operands import SIZE, check_numbers, check_tensors, check_values

Place: TypeAlias = "tuple[int, int]"
"""A request, and a row of queries in it."""


class Rows(NamedTuple):
    """What decides the cost of a row of queries, the same for the whole batch.

    heads: packed query rows of one token. block: packed rows of one row of queries. step: KV tokens of one block.
    left, right: the window, None is unlimited. ratio, topk: of the compressed part; ratio 0 without one.
    """

    heads: int
    block: int
    step: int
    left: int | None
    right: int | None
    ratio: int
    topk: int


class Row(NamedTuple):
    """The cost of one row of queries, and of its last block: how far a core may overrun for it."""

    cost: int
    last: int


class Request(NamedTuple):
    """The rows of one request, the cost of all of them and of the last block of the last one that is not empty."""

    rows: tuple[Row, ...]
    cost: int
    last: int


EMPTY = Request((), 0, 0)


def sparse_metadata(
    num_heads_q: int,
    num_heads_kv: int,
    head_dim: int,
    layout_q: str,
    layout_kv: str,
    cu_seqlens_q: Tensor | None = None,
    seqused_kv: Tensor | None = None,
    batch_size: int = 0,
    cmp_topk: int = 0,
    cmp_ratio: int = -1,
    ori_mask_mode: int = 4,
    cmp_mask_mode: int = 3,
    ori_win_left: int = 127,
    ori_win_right: int = 0,
    has_ori_kv: bool = True,
    has_cmp_kv: bool = True,
    aic_cores: int = 24,
    aiv_cores: int = 48,
    soc: str = "ascend910_93",
) -> Tensor:
    """See the contract."""
    check_numbers(
        num_heads_q,
        num_heads_kv,
        head_dim,
        layout_q,
        layout_kv,
        batch_size,
        cmp_topk,
        cmp_ratio,
        ori_mask_mode,
        cmp_mask_mode,
        ori_win_left,
        ori_win_right,
        has_ori_kv,
        has_cmp_kv,
        aic_cores,
        aiv_cores,
        soc,
    )
    check_tensors(cu_seqlens_q, seqused_kv, batch_size)
    for operand in (cu_seqlens_q, seqused_kv):
        if operand is not None and reference_checks_values(operand):
            check_values(cu_seqlens_q, seqused_kv, num_heads_q)
            break
    given = seqused_kv if cu_seqlens_q is None else cu_seqlens_q
    starts = [0] * (batch_size + 1)
    if layout_q == "TND" and cu_seqlens_q is not None:
        starts = cu_seqlens_q.tolist()
    lengths = [0] * batch_size if seqused_kv is None else seqused_kv.tolist()
    wide = "ascend950" in soc.lower()
    left, right = {
        0: (None, None),
        3: (None, 0),
        4: (ori_win_left if ori_win_left >= 0 else None, ori_win_right if ori_win_right >= 0 else None),
    }[ori_mask_mode]
    rows = Rows(
        heads=num_heads_q,
        block=64 if wide else num_heads_q,
        step=128 if wide else 512,
        left=left,
        right=right,
        ratio=cmp_ratio if has_cmp_kv else 0,
        topk=cmp_topk if has_cmp_kv else 0,
    )
    requests = [_request(rows, starts[b + 1] - starts[b], lengths[b]) for b in range(batch_size)]
    table = [0] * SIZE
    for core, (start, end) in enumerate(_split(requests, aic_cores)):
        table[8 * core : 8 * core + 8] = [1, *start, 0, *end, 0, 0]
    return torch.tensor(table, dtype=torch.int32, device=None if given is None else given.device)


def _cost(packed: int, tokens: int) -> int:
    """The cost of one block: so many packed query rows against so many KV tokens."""
    return 6 * -(-packed // 16) + 10 * -(-tokens // 64)


def _request(rows: Rows, tokens: int, length: int) -> Request:
    packed = tokens * rows.heads
    if packed == 0 or length == 0:
        return EMPTY
    count = -(-packed // rows.block)
    tail = packed % rows.block
    made = []
    for row in range(count):
        first = row * rows.block // rows.heads
        final = (min((row + 1) * rows.block, packed) - 1) // rows.heads
        height = tail if row == count - 1 and tail else rows.block
        made.append(_row(rows, first, final, height, tokens, length))
    last = next((row.last for row in reversed(made) if row.cost), 0)
    return Request(tuple(made), sum(row.cost for row in made), last)


def _row(rows: Rows, first: int, final: int, height: int, tokens: int, length: int) -> Row:
    """The row of query tokens first to final of a request, the last of whose tokens stands at length - 1."""
    lowest = None if rows.left is None else first - (tokens - length + rows.left)
    highest = None if rows.right is None else final + length - tokens + rows.right
    lowest = 0 if lowest is None else lowest
    highest = length - 1 if highest is None else highest
    if lowest >= length or highest < 0 or highest < lowest:
        window, highest = 0, 0
    else:
        lowest, highest = max(lowest, 0), min(highest, length - 1)
        window = highest - lowest + 1
    compressed = (highest + 1) // rows.ratio if rows.ratio else 0
    if rows.topk:
        compressed = min(compressed, rows.topk)
    cost = last = 0
    for part in (window, compressed):
        whole, rest = divmod(part, rows.step)
        cost += whole * _cost(height, rows.step) + (_cost(height, rest) if rest else 0)
        if part:
            last = _cost(height, rest or rows.step)
    return Row(cost, last)


def _split(requests: list[Request], cores: int) -> list[tuple[Place, Place]]:
    """The run of each core from one place to another, greedily: a fair share of what is left, and at least one row.

    A core may overrun its share by half of the last block that it takes.
    """
    remaining = sum(request.cost for request in requests)
    if remaining == 0:
        return [((0, 0), (len(requests), 0))]
    largest = max(row.cost for request in requests for row in request.rows)
    runs = []
    at, row, left = 0, 0, requests[0].cost
    for core in range(cores):
        if at == len(requests):
            break
        start = (at, row)
        limit, spent = max(remaining // (cores - core), largest), 0
        while at < len(requests) and (left == 0 or limit + requests[at].last // 2 >= spent + left):
            spent += left
            at, row = at + 1, 0
            left = requests[at].cost if at < len(requests) else 0
        while at < len(requests) and limit + requests[at].rows[row].last // 2 >= spent + requests[at].rows[row].cost:
            spent += requests[at].rows[row].cost
            left -= requests[at].rows[row].cost
            row += 1
            while requests[at].rows[row].cost == 0:
                row += 1
        remaining -= spent
        runs.append((start, (at, row)))
    return runs
