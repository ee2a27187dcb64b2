"""dsv4.sparse_attention on `torch.ops.npu.sparse_attn_sharedkv` (sgl-kernel-npu; Ascend A2 and A3)."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.dsv4.sparse_attention.contract import WINDOW_UNSAID
from confbag.kernels.dsv4.sparse_attention.operands import Operands, check, check_native, check_npu_shapes
from confbag.kernels.dsv4.sparse_attention.values import check_values


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
    check_native(given)
    check_npu_shapes(given)
    if kernels_check_values(q):
        check_values(given, strict=True)
    # Every argument by its name, the defaults too: those of the window differ between libraries.
    out, lse = torch.ops.npu.sparse_attn_sharedkv(**given._asdict())
    return out, lse
