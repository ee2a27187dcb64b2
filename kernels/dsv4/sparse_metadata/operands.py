"""What the operands of dsv4.sparse_metadata must be; the native ops leave most of it unchecked."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from confbag.kernels.checks.operands import (
    INT32_MAX,
    INT32_MIN,
    require_contiguous,
    require_flag,
    require_int,
    require_tensor,
)

CUBE_CORES, VECTOR_CORES = 36, 72
"""Rows of the table, which is 8 wide."""
SIZE = 1024
"""Elements of the table."""

LAYOUTS_Q = ("TND", "BSND")
LAYOUTS_KV = ("PA_ND",)
MASK_MODES = (0, 3, 4)
TOPKS = (0, 512, 1024)
RATIOS = (4, 128)


def check_numbers(
    num_heads_q: int,
    num_heads_kv: int,
    head_dim: int,
    layout_q: str,
    layout_kv: str,
    batch_size: int,
    cmp_topk: int,
    cmp_ratio: int,
    ori_mask_mode: int,
    cmp_mask_mode: int,
    ori_win_left: int,
    ori_win_right: int,
    has_ori_kv: bool,
    has_cmp_kv: bool,
    aic_cores: int,
    aiv_cores: int,
    soc: str,
) -> None:
    """Refuse attributes that the contract does not allow."""
    numbers = {
        "num_heads_q": (num_heads_q, 1, INT32_MAX),
        "num_heads_kv": (num_heads_kv, INT32_MIN, INT32_MAX),
        "head_dim": (head_dim, INT32_MIN, INT32_MAX),
        "batch_size": (batch_size, 0, INT32_MAX),
        "cmp_topk": (cmp_topk, INT32_MIN, INT32_MAX),
        "cmp_ratio": (cmp_ratio, INT32_MIN, INT32_MAX),
        "ori_mask_mode": (ori_mask_mode, INT32_MIN, INT32_MAX),
        "cmp_mask_mode": (cmp_mask_mode, INT32_MIN, INT32_MAX),
        "ori_win_left": (ori_win_left, INT32_MIN, INT32_MAX),
        "ori_win_right": (ori_win_right, INT32_MIN, INT32_MAX),
        "aic_cores": (aic_cores, 1, CUBE_CORES),
        "aiv_cores": (aiv_cores, 1, VECTOR_CORES),
    }
    for name, (value, lowest, highest) in numbers.items():
        require_int(name, value)
        if not lowest <= value <= highest:
            raise ValueError(f"{name}: expected a number from {lowest} to {highest}, found {value}")
    for name, flag in (("has_ori_kv", has_ori_kv), ("has_cmp_kv", has_cmp_kv)):
        require_flag(name, flag)
    if type(soc) is not str:
        raise TypeError(f"soc: expected a SoC's name, found {soc!r}")
    if num_heads_kv != 1:
        raise ValueError(f"num_heads_kv: expected 1, found {num_heads_kv}")
    _one_of("layout_q", layout_q, LAYOUTS_Q)
    _one_of("layout_kv", layout_kv, LAYOUTS_KV)
    _one_of("ori_mask_mode", ori_mask_mode, MASK_MODES)
    if has_cmp_kv:
        _one_of("cmp_topk", cmp_topk, TOPKS)
        _one_of("cmp_ratio", cmp_ratio, RATIOS, "; pass has_cmp_kv=False where nothing compressed is attended to")


def check_tensors(cu_seqlens_q: Tensor | None, seqused_kv: Tensor | None, batch_size: int) -> None:
    """Refuse another dtype, length, layout, or two devices: a native op would read past a tensor that is too short."""
    device = None
    for name, tensor, length in (
        ("cu_seqlens_q", cu_seqlens_q, batch_size + 1),
        ("seqused_kv", seqused_kv, batch_size),
    ):
        if tensor is None:
            continue
        require_tensor(name, tensor, (torch.int32,), (None,))
        if tensor.shape[0] != length:
            raise ValueError(
                f"{name}: expected [{length}], for batch_size {batch_size}, found {list(tensor.shape)}; "
                f"pass batch_size={tensor.shape[0] - (length - batch_size)} or {name}[:{length}]"
            )
        require_tensor(name, tensor, (torch.int32,), (length,), device)
        require_contiguous(name, tensor)
        device = tensor.device


def require_device(cu_seqlens_q: Tensor | None, seqused_kv: Tensor | None, kind: str, instead: str) -> None:
    """Refuse tensors of another device kind, and none at all, which leaves the native op without a dispatch key."""
    if cu_seqlens_q is None and seqused_kv is None:
        raise ValueError("cu_seqlens_q, seqused_kv: expected at least one tensor, found None and None")
    for name, tensor in (("cu_seqlens_q", cu_seqlens_q), ("seqused_kv", seqused_kv)):
        if tensor is None:
            continue
        require_tensor(name, tensor, (torch.int32,), (None,))
        if tensor.device.type != kind:
            raise ValueError(f"{name}: expected a tensor on {kind}, found one on {tensor.device}; {instead}")


def check_values(cu_seqlens_q: Tensor | None, seqused_kv: Tensor | None, num_heads_q: int, lowest: int = 0) -> None:
    """Refuse lengths that contradict each other. Reads values, so it waits for a device that holds them.

    lowest: of seqused_kv.
    """
    if cu_seqlens_q is not None:
        check_starts(cu_seqlens_q.tolist(), num_heads_q)
    if seqused_kv is not None:
        lengths: list[int] = seqused_kv.tolist()
        if lengths and min(lengths) < lowest:
            row = next(row for row, length in enumerate(lengths) if length < lowest)
            raise ValueError(f"seqused_kv[{row}]: expected at least {lowest} tokens, found {lengths[row]}")


def check_starts(starts: list[int], num_heads_q: int) -> None:
    """Refuse starts that are none: not from 0, falling, or of more packed rows than the scheduler can count."""
    if starts[0] != 0:
        raise ValueError(f"cu_seqlens_q[0]: expected 0, found {starts[0]}")
    for row, (before, after) in enumerate(pairwise(starts), start=1):
        if after < before:
            raise ValueError(f"cu_seqlens_q[{row}]: expected at least {before}, the start before it, found {after}")
        if (after - before) * num_heads_q >= 2**32:
            raise ValueError(
                f"cu_seqlens_q[{row}]: expected fewer than 2**32 rows of {num_heads_q} heads in a request, "
                f"found {after - before} tokens"
            )


def _one_of(name: str, value: object, known: tuple[object, ...], tail: str = "") -> None:
    if value not in known:
        raise ValueError(f"{name}: expected {' or '.join(map(str, known))}, found {value!r}{tail}")
