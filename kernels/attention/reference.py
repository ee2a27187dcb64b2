"""attention of kind dsv4 on any device: the reference of dsv4.sparse_attention over pages of one slot."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.attention.operands import check, check_values
from confbag.kernels.checks.bounds import reference_checks_values
from confbag.kernels.checks.operands import described, require_tensor
from confbag.kernels.dsv4.sparse_attention.operands import METADATA_SIZE
from confbag.kernels.dsv4.sparse_attention.reference import sparse_attention

INT32 = (torch.int32,)


def attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    query_lens: Tensor,
    scale: float,
    window: int | None = None,
    sinks: Tensor | None = None,
    compressed_cache: Tensor | None = None,
    req_to_compressed: Tensor | None = None,
    compress_ratio: int = 0,
    compressed_indices: Tensor | None = None,
) -> Tensor:
    """See the contract. Never waits for a device, except to check values under `exec.debug.bounds`."""
    check(
        query,
        key_cache,
        value_cache,
        req_to_token,
        req_pool_indices,
        seq_lens,
        query_lens,
        scale,
        window,
        compress_ratio,
    )
    _check_shared(key_cache, value_cache)
    if window is not None and window < 1:
        raise ValueError(f"window: expected at least 1 token, the query's own, found {window}")
    _check_compressed(query, req_to_token, compressed_cache, req_to_compressed, compress_ratio, compressed_indices)
    if reference_checks_values(query):
        requests, lengths, counts = req_pool_indices.tolist(), seq_lens.tolist(), query_lens.tolist()
        check_values(requests, lengths, counts, req_to_token, query)
    if query.shape[0] == 0:
        return torch.empty_like(query)
    starts = torch.cat([query_lens.new_zeros(1), query_lens]).cumsum(0)
    out, _ = sparse_attention(
        query.contiguous(),
        ori_kv=_pages_of_one_slot(key_cache),
        cmp_kv=None if compressed_cache is None else _pages_of_one_slot(compressed_cache),
        cmp_sparse_indices=None if compressed_indices is None else compressed_indices[:, None],
        ori_block_table=req_to_token[req_pool_indices],
        cmp_block_table=None if req_to_compressed is None else req_to_compressed[req_pool_indices],
        cu_seqlens_q=starts.to(torch.int32),
        seqused_kv=seq_lens.to(torch.int32),
        sinks=sinks,
        metadata=torch.zeros(METADATA_SIZE, dtype=torch.int32, device=query.device),
        softmax_scale=scale,
        cmp_ratio=compress_ratio,
        ori_win_left=(req_to_token.shape[1] if window is None else window) - 1,
        ori_win_right=0,
        layout_q="TND",
    )
    return out


def _pages_of_one_slot(cache: Tensor) -> Tensor:
    return cache.contiguous()[:, None]


def _check_shared(keys: Tensor, values: Tensor) -> None:
    if keys.shape[1] != 1:
        raise ValueError(f"key_cache: expected one head, which all query heads share, found {keys.shape[1]}")
    if keys is values:
        return
    same = keys.shape == values.shape and keys.dtype == values.dtype and keys.stride() == values.stride()
    if not same or keys.data_ptr() != values.data_ptr():
        raise ValueError(
            f"value_cache: expected key_cache itself, whose rows are key and value at once, "
            f"found another tensor of shape {list(values.shape)}"
        )


def _check_compressed(
    query: Tensor,
    req_to_token: Tensor,
    cache: Tensor | None,
    table: Tensor | None,
    ratio: int,
    indices: Tensor | None,
) -> None:
    if cache is None:
        for name, given in (("req_to_compressed", table), ("compressed_indices", indices)):
            if given is not None:
                raise ValueError(f"{name}: expected None without compressed_cache, found {described(given)}")
        return
    tokens, _, head_dim = query.shape
    require_tensor("compressed_cache", cache, (query.dtype,), (None, 1, head_dim), query.device)
    require_tensor("req_to_compressed", table, INT32, (req_to_token.shape[0], None), query.device)
    if ratio < 1:
        raise ValueError(f"compress_ratio: expected at least 1 with compressed_cache, found {ratio}")
    if indices is not None:
        require_tensor("compressed_indices", indices, INT32, (tokens, None), query.device)
