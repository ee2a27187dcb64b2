"""What the operands of attention must be, the same for every implementation of ours."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.operands import require_floating, require_int, require_number, require_tensor

INDEX = (torch.int32, torch.int64)


def check(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    query_lens: Tensor,
    scale: float,
    window: int | None,
    compress_ratio: int,
) -> None:
    """Refuse numbers, dtypes, shapes and devices that the contract does not name."""
    require_number("scale", scale)
    require_int("compress_ratio", compress_ratio)
    if window is not None:
        require_int("window", window)
    for name, tensor in (("query", query), ("key_cache", key_cache), ("value_cache", value_cache)):
        require_floating(name, tensor)
    device = query.device
    require_tensor("query", query, (query.dtype,), (None, None, None))
    require_tensor("key_cache", key_cache, (key_cache.dtype,), (None, None, query.shape[2]), device)
    slots, kv_heads, _ = key_cache.shape
    require_tensor("value_cache", value_cache, (value_cache.dtype,), (slots, kv_heads, None), device)
    if kv_heads == 0 or query.shape[1] % kv_heads:
        raise ValueError(f"query: expected a multiple of the cache's {kv_heads} heads, found {query.shape[1]}")
    require_tensor("req_to_token", req_to_token, (torch.int32,), (None, None), device)
    require_tensor("req_pool_indices", req_pool_indices, INDEX, (None,), device)
    require_tensor("seq_lens", seq_lens, INDEX, (req_pool_indices.shape[0],), device)
    require_tensor("query_lens", query_lens, INDEX, (req_pool_indices.shape[0],), device)


def check_values(requests: list[int], lengths: list[int], counts: list[int], table: Tensor, query: Tensor) -> None:
    """Refuse requests and lengths, already read, that are out of range or contradict each other."""
    rows, max_context = table.shape
    for row, (request, length, count) in enumerate(zip(requests, lengths, counts, strict=True)):
        if not 0 <= request < rows:
            raise IndexError(f"req_pool_indices[{row}]: expected a request in [0, {rows}), found {request}")
        if length > max_context:
            raise IndexError(
                f"seq_lens[{row}]: expected at most {max_context} tokens, the columns of req_to_token, found {length}"
            )
        if not 0 <= count <= length:
            raise ValueError(f"query_lens[{row}]: expected between 0 and seq_lens[{row}], {length}, found {count}")
    if sum(counts) != query.shape[0]:
        raise ValueError(f"query: expected {sum(counts)} tokens, the sum of query_lens, found {query.shape[0]}")
