"""dsv4.compressor by the Ascend custom-op package, on A5: another order of arguments, and a ring for each request."""

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
    """See the contract; rotary_mode must be 2, and cache_mode 2 is CYCLE with a table of [B].

    The op has no stride argument: state_cache is contiguous, which is checked here.
    """
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
    sizes = check(given, cycle=True)
    if kernels_check_values(x):
        check_values(sizes, given)
    check_native(given, sizes.head_dim)
    if sizes.empty:
        # The op refuses the empty rope rows that go with an empty x.
        return x.new_empty(sizes.result)
    arguments = given._asdict()
    del arguments["state_cache_stride_dim0"]
    result: Tensor = torch.ops.custom.compressor(**arguments)
    return result
