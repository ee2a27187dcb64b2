"""dsv4.sparse_metadata by the vendor's kernel: NPU tensors in, a table on the same NPU out."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.dsv4.sparse_metadata.operands import check_numbers, check_tensors, check_values, require_device


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
    """See the contract. Cores and SoC are the driver's. The kernel handles no KV length of 0: pass at least 1.

    What the op itself refuses is not published [?]; only its schema and its callers were seen.
    """
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
    require_device(cu_seqlens_q, seqused_kv, "npu", "pass the device tensor and not its mirror")
    check_tensors(cu_seqlens_q, seqused_kv, batch_size)
    given = seqused_kv if cu_seqlens_q is None else cu_seqlens_q
    assert given is not None  # require_device refused two Nones
    if kernels_check_values(given):
        check_values(cu_seqlens_q, seqused_kv, num_heads_q, lowest=1)
    table: Tensor = torch.ops.custom.npu_sparse_attn_sharedkv_metadata(
        num_heads_q=num_heads_q,
        num_heads_kv=num_heads_kv,
        head_dim=head_dim,
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_ori_kv=None,
        cu_seqlens_cmp_kv=None,
        seqused_q=None,
        seqused_kv=seqused_kv,
        batch_size=batch_size,
        max_seqlen_q=0,
        max_seqlen_kv=0,
        ori_topk=0,
        cmp_topk=cmp_topk,
        cmp_ratio=cmp_ratio,
        ori_mask_mode=ori_mask_mode,
        cmp_mask_mode=cmp_mask_mode,
        ori_win_left=ori_win_left,
        ori_win_right=ori_win_right,
        layout_q=layout_q,
        layout_kv=layout_kv,
        has_ori_kv=has_ori_kv,
        has_cmp_kv=has_cmp_kv,
        device=str(given.device),
    )
    return table
