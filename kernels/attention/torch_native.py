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

from confbag.kernels.attention.operands import check, check_values


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
    """See the contract. Reads the lengths, so it waits for the device and cannot be captured."""
    _refuse(
        window=window,
        sinks=sinks,
        compressed_cache=compressed_cache,
        req_to_compressed=req_to_compressed,
        compress_ratio=compress_ratio or None,
        compressed_indices=compressed_indices,
    )
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
    requests, lengths, counts = req_pool_indices.tolist(), seq_lens.tolist(), query_lens.tolist()
    check_values(requests, lengths, counts, req_to_token, query)
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


def _refuse(**features: object) -> None:
    for name, given in features.items():
        if given is not None:
            found = f"shape {list(given.shape)}" if isinstance(given, Tensor) else repr(given)
            raise ValueError(f"{name}: expected none, which is all that torch_native does, found {found}")


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
