"""dsv4.compressor by sgl-kernel-npu's op, on Ascend before A5."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.dsv4.compressor.native_limits import check_native
from confbag.kernels.dsv4.compressor.operands import Operands, check
from confbag.kernels.dsv4.compressor.values import check_values


def compressor(
    x: Tensor,
    wkv: Tensor,
    wgate: Tensor,
    state_cache: Tensor,
    ape: Tensor,
    norm_weight: Tensor,
    rope_sin: Tensor,
    rope_cos: Tensor,
    state_block_table: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    seqused: Tensor | None = None,
    start_pos: Tensor | None = None,
    rope_head_dim: int = 64,
    cmp_ratio: int = 4,
    coff: int = 1,
    norm_eps: float = 1e-6,
    rotary_mode: int = 1,
    cache_mode: int = 1,
    state_cache_stride_dim0: int = 0,
) -> Tensor:
    """See the contract; rotary_mode must be 2. Rows that nobody produces are left as they were allocated."""
    given = Operands(
        x,
        wkv,
        wgate,
        state_cache,
        ape,
        norm_weight,
        rope_sin,
        rope_cos,
        state_block_table,
        cu_seqlens,
        seqused,
        start_pos,
        rope_head_dim,
        cmp_ratio,
        coff,
        norm_eps,
        rotary_mode,
        cache_mode,
        state_cache_stride_dim0,
    )
    sizes = check(given)
    if kernels_check_values(x):
        check_values(sizes, given)
    check_native(given, sizes.head_dim)
    if sizes.empty:
        # The op refuses the empty rope rows that go with an empty x.
        return x.new_empty(sizes.result)
    result: Tensor = torch.ops.npu.compressor(**given._asdict())
    return result
