"""attention in plain PyTorch, one request after the other: slow, and right on every device that PyTorch knows.

On a CPU each query token is computed by itself, from operands whose sizes, strides and alignment depend on nothing but
the number of tokens that it sees. So its bits are the same alone and in a batch, prefilled, decoded, or verified with
others: speculation cannot change what a model says. On other devices a request's queries are computed together, which
is faster and promises no such thing.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from confbag.kernels.operands import require_tensor

INDEX = (torch.int32, torch.int64)


def attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    query_lens: Tensor,
    scale: float,
) -> Tensor:
    """See the contract. Reads the lengths, so it waits for the device and cannot be captured."""
    _check(query, key_cache, value_cache, req_to_token, req_pool_indices, seq_lens, query_lens)
    requests, lengths, counts = req_pool_indices.tolist(), seq_lens.tolist(), query_lens.tolist()
    _check_values(requests, lengths, counts, req_to_token, query)
    attend = _token_by_token if query.device.type == "cpu" else _all_at_once
    # At least float32: a reference must not lose what the cache's dtype still holds.
    dtype = torch.promote_types(query.dtype, torch.float32)
    out = query.new_empty(query.shape[0], query.shape[1], value_cache.shape[2])
    first = 0
    for request, length, count in zip(requests, lengths, counts, strict=True):
        if count:
            slots = _slots(req_to_token, request, length, key_cache.shape[0])
            keys, values = key_cache[slots].to(dtype), value_cache[slots].to(dtype)
            queries = query[first : first + count].to(dtype)
            out[first : first + count] = attend(queries, keys, values, scale)
            first += count
    return out


def _slots(table: Tensor, request: int, length: int, slots_in_cache: int) -> Tensor:
    slots = table[request, :length].long()
    lowest, highest = (int(bound) for bound in slots.aminmax())
    if lowest < 0 or highest >= slots_in_cache:
        found = lowest if lowest < 0 else highest
        raise IndexError(f"req_to_token[{request}]: expected slots in [0, {slots_in_cache}), found {found}")
    return slots


def _token_by_token(queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """[count, num_heads, v_head_dim] of one request, each token in calls of its own. Why: see the module."""
    count, heads, head_dim = queries.shape
    length, kv_heads, v_head_dim = values.shape
    keys_by_head, values_by_head = keys.permute(1, 2, 0), values.permute(1, 0, 2)
    rows = []
    for token in range(count):
        seen = length - count + token + 1
        # The product is a new tensor, so that its alignment is not the token's place in the batch.
        row = (queries[token] * scale).view(kv_heads, heads // kv_heads, head_dim)
        scores = torch.bmm(row, keys_by_head[:, :, :seen])
        rows.append(torch.bmm(scores.softmax(-1), values_by_head[:, :seen]).view(heads, v_head_dim))
    return torch.stack(rows)


def _all_at_once(queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """[count, num_heads, v_head_dim] of one request in one call."""
    count, heads, _ = queries.shape
    length, kv_heads, _ = values.shape
    position = torch.arange(length, device=queries.device)
    seen = position <= position[length - count :, None]
    group = heads // kv_heads
    attended = scaled_dot_product_attention(
        queries.transpose(0, 1),
        keys.transpose(0, 1).repeat_interleave(group, dim=0),
        values.transpose(0, 1).repeat_interleave(group, dim=0),
        attn_mask=seen,
        scale=scale,
    )
    return attended.transpose(0, 1)


def _check(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    query_lens: Tensor,
) -> None:
    for name, tensor in (("query", query), ("key_cache", key_cache), ("value_cache", value_cache)):
        if not tensor.dtype.is_floating_point:
            raise TypeError(f"{name}: expected a floating dtype, found {str(tensor.dtype).removeprefix('torch.')}")
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


def _check_values(requests: list[int], lengths: list[int], counts: list[int], table: Tensor, query: Tensor) -> None:
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
