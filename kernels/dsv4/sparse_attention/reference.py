"""dsv4.sparse_attention in plain PyTorch: the meaning that every other implementation is tested against.

On a CPU each query token is computed by itself, from the rows that it sees and nothing else, so its bits are the same
alone and in a batch, prefilled, decoded or verified. On other devices what a token does not see is masked, so that
nothing waits for the device and a call can be captured.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values, reference_checks_values
from confbag.kernels.dsv4.sparse_attention.contract import WINDOW_UNSAID
from confbag.kernels.dsv4.sparse_attention.operands import Operands, check
from confbag.kernels.dsv4.sparse_attention.seen import Tokens, compressed, original, tokens
from confbag.kernels.dsv4.sparse_attention.values import check_values

ADDRESSED = 256
"""Tokens whose slots are computed at one time."""

GATHERED = 2**25
"""Elements of both caches that are gathered at one time on a device."""


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
    """See the contract."""
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
    if reference_checks_values(q):
        check_values(given, strict=kernels_check_values(q))
    queries = q.flatten(0, -3)
    found = torch.empty_like(queries)
    for start, rows, seen in _rows(given, tokens(given)):
        stop = start + len(rows)
        found[start:stop] = _attend(queries[start:stop], rows, seen, sinks, softmax_scale)
    return found.view(q.shape), q.new_empty(0, dtype=torch.float32)


def _rows(given: Operands, every: Tokens) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Run after run of tokens: the first one's number, the rows [t, k, D] for them, and which of those each sees."""
    caches = [_flat(given.ori_kv)]
    if given.cmp_kv is not None and given.cmp_kv.shape[0] > 0:
        caches.append(_flat(given.cmp_kv))
    total, head_size = len(every.index), given.q.shape[-1]
    for start in range(0, total, ADDRESSED):
        some = every.part(start, start + ADDRESSED)
        parts = [original(given, some), *(compressed(given, some) for _ in caches[1:])]
        if _one_by_one(given.q):
            for token in range(len(some.index)):
                slots = [part.slots[token, part.seen[token]] for part in parts]
                rows = torch.cat([cache[own] for cache, own in zip(caches, slots, strict=True)])
                yield start + token, rows[None], torch.ones(1, len(rows), dtype=torch.bool)
            continue
        seen = torch.cat([part.seen for part in parts], 1)
        step = max(1, GATHERED // (seen.shape[1] * head_size))
        for token in range(0, len(some.index), step):
            few = slice(token, token + step)
            rows = torch.cat([cache[part.slots[few]] for cache, part in zip(caches, parts, strict=True)], 1)
            # Zeros and not what lies in slot 0: a weight of 0 times nan is nan.
            yield start + token, torch.where(seen[few, :, None], rows, 0), seen[few]


def _one_by_one(q: Tensor) -> bool:
    return q.device.type == "cpu"


def _attend(queries: Tensor, rows: Tensor, seen: Tensor, sinks: Tensor | None, scale: float) -> Tensor:
    """[t, N, D] from queries [t, N, D], rows [t, k, D] and what is seen of them [t, k]."""
    count, heads, _ = queries.shape
    dtype = torch.promote_types(queries.dtype, torch.float32)
    keys = rows.to(dtype)
    # Copied, so that its alignment is not the token's place in the batch.
    scores = torch.bmm(queries.to(dtype, copy=True), keys.transpose(1, 2)) * scale
    scores = scores.masked_fill(~seen[:, None], -torch.inf)
    sink = queries.new_full((heads,), -torch.inf, dtype=dtype) if sinks is None else sinks.to(dtype)
    logits = torch.cat([scores, sink.expand(count, heads)[..., None]], -1)
    # Without a sink, who sees nothing has nothing finite to subtract.
    weights = (logits - logits.amax(-1, keepdim=True).clamp(min=torch.finfo(dtype).min)).exp()
    upper = torch.bmm(weights[..., :-1].to(queries.dtype).to(dtype), keys)
    lower = weights.sum(-1, keepdim=True)
    return (upper / torch.where(lower == 0, 1, lower)).to(queries.dtype)


def _flat(cache: Tensor | None) -> Tensor:
    """[slots, D] of a paged cache."""
    assert cache is not None
    return cache.flatten(0, 2)
