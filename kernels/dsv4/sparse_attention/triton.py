"""dsv4.sparse_attention in Triton (cuda, hip, xpu): PyTorch addresses the rows, one kernel gathers and weighs them."""

from __future__ import annotations

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.checks.operands import require_tensor
from confbag.kernels.dsv4.sparse_attention.contract import WINDOW_UNSAID
from confbag.kernels.dsv4.sparse_attention.operands import Operands, check
from confbag.kernels.dsv4.sparse_attention.seen import Seen, compressed, original, tokens
from confbag.kernels.dsv4.sparse_attention.values import check_values

ADDRESSED = 256
"""Tokens whose slots are computed at one time."""

HEADS = 16
ROWS = 32
DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@triton.jit  # type: ignore[untyped-decorator]
def _weigh(  # type: ignore[no-untyped-def]
    query,
    upper,
    lower,
    highest,
    cache,
    slots,
    width,
    scale,
    size,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The running sums over one token's rows of one cache; a slot below 0 is a row that it does not see."""
    channel = tl.arange(0, SIZE)
    for first in range(0, width, ROWS):
        column = first + tl.arange(0, ROWS)
        slot = tl.load(slots + column, mask=column < width, other=-1)
        # A table has room for the longest request; most blocks hold nothing that the token sees.
        if tl.max(slot, 0) >= 0:
            seen = slot >= 0
            rows = tl.load(
                cache + slot[:, None] * size + channel[None, :], mask=seen[:, None] & (channel < size)[None, :], other=0
            ).to(query.dtype)
            scores = tl.dot(query, tl.trans(rows), input_precision="ieee") * scale
            scores = tl.where(seen[None, :], scores, float("-inf"))
            higher = tl.maximum(highest, tl.max(scores, 1))
            shrink = tl.exp(highest - higher)
            weights = tl.exp(scores - higher[:, None])
            lower = lower * shrink + tl.sum(weights, 1)
            # Rounded to what q is, however wide the product is made.
            rounded = weights.to(cache.dtype.element_ty).to(query.dtype)
            upper = upper * shrink[:, None] + tl.dot(rounded, rows, input_precision="ieee")
            highest = higher
    return upper, lower, highest


@triton.jit(do_not_specialize=("heads", "ori_width", "cmp_width"))  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    q,
    ori,
    cmp,
    ori_slots,
    cmp_slots,
    sinks,
    out,
    scale,
    heads,
    size,
    ori_width,
    cmp_width,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    WIDE: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    channel = tl.arange(0, SIZE)
    inside = (head < heads)[:, None] & (channel < size)[None, :]
    at = (token * heads + head)[:, None] * size + channel[None, :]
    query = tl.load(q + at, mask=inside, other=0)
    if WIDE:
        query = query.to(tl.float32)
    upper = tl.zeros((HEADS, SIZE), tl.float32)
    if sinks is not None:
        highest = tl.load(sinks + head, mask=head < heads, other=0.0)
        lower = tl.full((HEADS,), 1.0, tl.float32)
    else:
        highest = tl.full((HEADS,), float("-inf"), tl.float32)
        lower = tl.zeros((HEADS,), tl.float32)
    upper, lower, highest = _weigh(
        query, upper, lower, highest, ori, ori_slots + token * ori_width, ori_width, scale, size, SIZE, ROWS
    )
    if cmp is not None:
        upper, lower, highest = _weigh(
            query, upper, lower, highest, cmp, cmp_slots + token * cmp_width, cmp_width, scale, size, SIZE, ROWS
        )
    found = upper / tl.where(lower == 0.0, 1.0, lower)[:, None]
    tl.store(out + at, found.to(out.dtype.element_ty), mask=inside)


INTERPRETED = not isinstance(_attend, triton.JITFunction)
"""Triton's interpreter multiplies the bits of bfloat16 as if they were integers: it is given float32."""


def sparse_attention(
    q: Tensor,
    ori_kv: Tensor | None = None,
    cmp_kv: Tensor | None = None,
    ori_sparse_indices: Tensor | None = None,
    cmp_sparse_indices: Tensor | None = None,
    ori_block_table: Tensor | None = None,
    cmp_block_table: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_ori_kv: Tensor | None = None,
    cu_seqlens_cmp_kv: Tensor | None = None,
    seqused_q: Tensor | None = None,
    seqused_kv: Tensor | None = None,
    sinks: Tensor | None = None,
    metadata: Tensor | None = None,
    softmax_scale: float = 0,
    cmp_ratio: int = 0,
    ori_mask_mode: int = 4,
    cmp_mask_mode: int = 3,
    ori_win_left: int = WINDOW_UNSAID,
    ori_win_right: int = 0,
    layout_q: str = "BSND",
    layout_kv: str = "PA_ND",
    return_softmax_lse: bool = False,
) -> tuple[Tensor, Tensor]:
    """See the contract. Takes no float64. Runs on the current device's current stream."""
    given = Operands(
        q,
        ori_kv,
        cmp_kv,
        ori_sparse_indices,
        cmp_sparse_indices,
        ori_block_table,
        cmp_block_table,
        cu_seqlens_q,
        cu_seqlens_ori_kv,
        cu_seqlens_cmp_kv,
        seqused_q,
        seqused_kv,
        sinks,
        metadata,
        softmax_scale,
        cmp_ratio,
        ori_mask_mode,
        cmp_mask_mode,
        ori_win_left,
        ori_win_right,
        layout_q,
        layout_kv,
        return_softmax_lse,
    )
    check(given)
    require_tensor("q", q, DTYPES, (None,) * q.dim())
    if kernels_check_values(q):
        check_values(given, strict=True)
    queries = q.flatten(0, -3)
    out = torch.empty_like(queries)
    every = tokens(given)
    with_compressed = cmp_kv is not None and cmp_kv.shape[0] > 0
    total, heads, size = queries.shape
    for start in range(0, total, ADDRESSED):
        stop = min(start + ADDRESSED, total)
        some = every.part(start, stop)
        ori_slots = _slots(original(given, some))
        cmp_slots = _slots(compressed(given, some)) if with_compressed else None
        _attend[(stop - start, triton.cdiv(heads, HEADS))](
            queries[start:stop],
            ori_kv,
            cmp_kv if with_compressed else None,
            ori_slots,
            cmp_slots,
            sinks,
            out[start:stop],
            float(softmax_scale),
            heads,
            size,
            ori_slots.shape[1],
            0 if cmp_slots is None else cmp_slots.shape[1],
            HEADS=HEADS,
            SIZE=max(16, triton.next_power_of_2(size)),
            ROWS=ROWS,
            WIDE=INTERPRETED,
        )
    return out.view(q.shape), q.new_empty(0, dtype=torch.float32)


def _slots(part: Seen) -> Tensor:
    return torch.where(part.seen, part.slots, -1)
