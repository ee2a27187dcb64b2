"""What the operands of dsv4.sparse_attention must be, and what the native ops want beyond that."""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor

from confbag.kernels.checks.operands import described, require_contiguous, require_int, require_number, require_tensor
from confbag.kernels.dsv4.sparse_attention.contract import WINDOW_UNSAID

UINT32_MAX: Final = 2**32 - 1
METADATA_SIZE: Final = 1024
FLOATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
NATIVE_FLOATS = (torch.bfloat16, torch.float16)
INT32 = (torch.int32,)
TND, BSND, PA_ND = "TND", "BSND", "PA_ND"


class Operands(NamedTuple):
    """One call, in the contract's order."""

    q: Tensor
    ori_kv: Tensor | None
    cmp_kv: Tensor | None
    ori_sparse_indices: Tensor | None
    cmp_sparse_indices: Tensor | None
    ori_block_table: Tensor | None
    cmp_block_table: Tensor | None
    cu_seqlens_q: Tensor | None
    cu_seqlens_ori_kv: Tensor | None
    cu_seqlens_cmp_kv: Tensor | None
    seqused_q: Tensor | None
    seqused_kv: Tensor | None
    sinks: Tensor | None
    metadata: Tensor | None
    softmax_scale: float
    cmp_ratio: int
    ori_mask_mode: int
    cmp_mask_mode: int
    ori_win_left: int
    ori_win_right: int
    layout_q: str
    layout_kv: str
    return_softmax_lse: bool


def check(given: Operands) -> None:
    """Refuse dtypes, shapes, devices and numbers that the contract does not name. Reads no values."""
    _check_numbers(given)
    _check_query(given.q, given.layout_q)
    requests = _check_lengths(given)
    q = given.q
    _check_cache("ori_kv", given.ori_kv, q)
    if given.ori_kv is not None and given.ori_kv.shape[0] == 0:
        raise ValueError(f"ori_kv: expected at least one page, found shape {list(given.ori_kv.shape)}")
    _check_table("ori_block_table", given.ori_block_table, requests, q)
    if given.cmp_kv is not None:
        _check_cache("cmp_kv", given.cmp_kv, q)
    if given.cmp_kv is not None or given.cmp_block_table is not None:
        _check_table("cmp_block_table", given.cmp_block_table, requests, q)
    _check_indices(given)
    if given.sinks is not None:
        require_tensor("sinks", given.sinks, (torch.float32,), (q.shape[-2],), q.device)
    require_tensor("metadata", given.metadata, INT32, (METADATA_SIZE,), q.device)


def check_native(given: Operands) -> None:
    """Refuse what both native ops refuse beyond the contract."""
    require_tensor("q", given.q, NATIVE_FLOATS, (None,) * given.q.dim())
    require_tensor("sinks", given.sinks, (torch.float32,), (given.q.shape[-2],), given.q.device)
    for name, tensor in zip(given._fields, given, strict=True):
        if isinstance(tensor, Tensor):
            require_contiguous(name, tensor)
            if any(stride > UINT32_MAX for stride in tensor.stride()):
                raise ValueError(f"{name}: expected strides that fit in uint32, found {list(tensor.stride())}")


def check_npu_shapes(given: Operands) -> None:
    """Refuse every size that npu::sparse_attn_sharedkv was not built for; it would only say that it failed."""
    *_, heads, head_size = given.q.shape
    _expect("q", "64 heads", heads == 64, heads)
    _expect("q", "a head size of 512", head_size == 512, head_size)
    for name, cache in (("ori_kv", given.ori_kv), ("cmp_kv", given.cmp_kv)):
        if cache is not None:
            page = cache.shape[1]
            _expect(name, "pages of a multiple of 16 up to 1024", page % 16 == 0 and page <= 1024, page)
    if given.cmp_kv is not None:
        _expect("cmp_ratio", "4 or 128", given.cmp_ratio in (4, 128), given.cmp_ratio)
    if given.cmp_sparse_indices is not None:
        width = given.cmp_sparse_indices.shape[-1]
        _expect("cmp_sparse_indices", "512 or 1024 entries a token", width in (512, 1024), width)
    if given.ori_sparse_indices is not None:
        width = given.ori_sparse_indices.shape[-1]
        fits = width % 128 == 0 and width <= 2048
        _expect("ori_sparse_indices", "a multiple of 128 entries a token, up to 2048", fits, width)


def _check_numbers(given: Operands) -> None:
    if given.layout_q not in (TND, BSND):
        raise ValueError(f"layout_q: expected {TND} or {BSND}, found {given.layout_q!r}")
    _expect("layout_kv", PA_ND, given.layout_kv == PA_ND, given.layout_kv)
    for name in ("ori_mask_mode", "cmp_mask_mode", "ori_win_left", "ori_win_right", "cmp_ratio"):
        require_int(name, getattr(given, name))
    _expect("ori_mask_mode", "4 (band)", given.ori_mask_mode == 4, given.ori_mask_mode)
    _expect("cmp_mask_mode", "3 (causal)", given.cmp_mask_mode == 3, given.cmp_mask_mode)
    _expect("return_softmax_lse", "False", given.return_softmax_lse is False, given.return_softmax_lse)
    if given.ori_win_left is WINDOW_UNSAID:
        raise ValueError(
            "ori_win_left: expected the window, found none; the default is 128 in one library and 127 in another, "
            "so pass it: a window of 128 tokens, the query's own among them, is 127"
        )
    for name in ("ori_win_left", "ori_win_right", "cmp_ratio"):
        number = getattr(given, name)
        _expect(name, "an integer from 0 to 2**32 - 1", 0 <= number <= UINT32_MAX, number)
    if given.cmp_kv is not None:
        _expect("cmp_ratio", "at least 1, since cmp_kv is given", given.cmp_ratio >= 1, given.cmp_ratio)
    scale = given.softmax_scale
    require_number("softmax_scale", scale)
    # Not `scale < 0`, which nan passes.
    _expect("softmax_scale", "a finite number of at least 0", 0 <= scale < float("inf"), scale)


def _check_query(q: Tensor, layout: str) -> None:
    require_tensor("q", q, FLOATS, (None,) * (3 if layout == TND else 4))
    if q.numel() == 0:
        raise ValueError(f"q: expected at least one query token, head and channel, found shape {list(q.shape)}")
    require_contiguous("q", q)


def _check_lengths(given: Operands) -> int:
    """The number of requests, once the lengths agree on it."""
    q, cu_seqlens_q, seqused_q = given.q, given.cu_seqlens_q, given.seqused_q
    if given.layout_q == TND:
        require_tensor("cu_seqlens_q", cu_seqlens_q, INT32, (None,), q.device)
        assert cu_seqlens_q is not None
        requests = cu_seqlens_q.shape[0] - 1
        if requests < 1:
            raise ValueError(f"cu_seqlens_q: expected shape [B + 1], B >= 1, found {list(cu_seqlens_q.shape)}")
        if seqused_q is not None:
            raise ValueError(f"seqused_q: expected None with layout_q {TND}, found {described(seqused_q)}")
    else:
        requests = q.shape[0]
        if cu_seqlens_q is not None:
            raise ValueError(f"cu_seqlens_q: expected None with layout_q {BSND}, found {described(cu_seqlens_q)}")
        if seqused_q is not None:
            require_tensor("seqused_q", seqused_q, INT32, (requests,), q.device)
    require_tensor("seqused_kv", given.seqused_kv, INT32, (requests,), q.device)
    for name in ("cu_seqlens_ori_kv", "cu_seqlens_cmp_kv"):
        unused = getattr(given, name)
        if unused is not None:
            dimensions = unused.dim() if isinstance(unused, Tensor) else 1
            require_tensor(name, unused, INT32, (None,) * dimensions, q.device)
    return requests


def _check_cache(name: str, cache: Tensor | None, q: Tensor) -> None:
    require_tensor(name, cache, (q.dtype,), (None, None, 1, q.shape[-1]), q.device)
    assert cache is not None
    if cache.shape[1] == 0:
        raise ValueError(f"{name}: expected pages of at least one token, found shape {list(cache.shape)}")
    require_contiguous(name, cache)


def _check_table(name: str, table: Tensor | None, requests: int, q: Tensor) -> None:
    require_tensor(name, table, INT32, (requests, None), q.device)
    assert table is not None
    if table.shape[1] == 0:
        raise ValueError(f"{name}: expected at least one page a request, found shape {list(table.shape)}")


def _check_indices(given: Operands) -> None:
    q = given.q
    tokens = tuple(q.shape[:-2])
    for name in ("ori_sparse_indices", "cmp_sparse_indices"):
        indices = getattr(given, name)
        if indices is None:
            continue
        if name == "cmp_sparse_indices" and given.cmp_kv is None:
            raise ValueError(f"{name}: expected None without cmp_kv, found {described(indices)}")
        if name == "ori_sparse_indices" and given.layout_q == BSND:
            raise ValueError(f"{name}: expected None with layout_q {BSND}, found {described(indices)}")
        require_tensor(name, indices, INT32, (*tokens, 1, None), q.device)
        if indices.shape[-1] == 0:
            raise ValueError(f"{name}: expected at least one entry a token, found shape {list(indices.shape)}")


def _expect(name: str, expected: str, holds: bool, found: object) -> None:
    if not holds:
        raise ValueError(f"{name}: expected {expected}, found {found!r}")
