"""dsv4.compressor in four Triton launches (cuda, hip, xpu).

The projections of every token into scratch; then every row of the result by a program of its own, which reads scratch
and state and writes neither; then two launches that put what is kept into the state, the last one after the first has
settled which of two tokens with one place stays. Tiles do not depend on the batch, so no result does.
"""

from __future__ import annotations

import torch
import triton  # type: ignore[import-untyped]
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.checks.operands import require_contiguous
from confbag.kernels.dsv4.compressor.operands import CONTINUOUS, PAIRS, Operands, check
from confbag.kernels.dsv4.compressor.triton_kernels import INTERPRETED, compress, keep, project
from confbag.kernels.dsv4.compressor.values import check_values

TOKEN_TILE, CHANNEL_TILE, HIDDEN_TILE = 64, 64, 64


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
    """See the contract; every operand contiguous. Runs on the current device's current stream.

    Rows that nobody produces are zero. Without the check of values, a table entry that is no state row is neither read
    nor written.
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
    sizes = check(given)
    if kernels_check_values(x):
        check_values(sizes, given)
    assert state_block_table is not None
    for name, operand in given._asdict().items():
        if isinstance(operand, Tensor):
            require_contiguous(name, operand)
    result = x.new_empty(sizes.result)
    if sizes.empty:
        return result
    width, hidden = coff * sizes.head_dim, x.shape[-1]
    state_rows = sizes.block_num * sizes.block_size
    new = torch.empty((sizes.tokens, 2 * width), dtype=torch.float32, device=x.device)
    last = torch.full((state_rows,), -1, dtype=torch.int32, device=x.device)
    project[(triton.cdiv(sizes.tokens, TOKEN_TILE), triton.cdiv(width, CHANNEL_TILE))](
        x,
        wkv,
        wgate,
        new,
        sizes.tokens,
        hidden,
        width,
        TOKENS=TOKEN_TILE,
        CHANNELS=CHANNEL_TILE,
        HIDDEN=HIDDEN_TILE,
        WIDEN=INTERPRETED,
    )
    where = (state_block_table, cu_seqlens, seqused, start_pos)
    columns, sequence = state_block_table.shape[1], sizes.sequence or 0
    flags = {
        "RATIO": cmp_ratio,
        "COFF": coff,
        "BLOCKS": cache_mode == CONTINUOUS,
        "PADDED": sizes.sequence is not None,
        "BATCH": triton.next_power_of_2(sizes.batch),
    }
    compress[(sizes.rows,)](
        new,
        state_cache,
        ape,
        norm_weight,
        rope_sin,
        rope_cos,
        *where,
        result,
        sizes.batch,
        sequence,
        sizes.rows // sizes.batch,
        columns,
        state_rows,
        sizes.block_size,
        norm_eps,
        HEAD_DIM=sizes.head_dim,
        ROPE=rope_head_dim,
        IN_PAIRS=rotary_mode == PAIRS,
        CHANNELS=triton.next_power_of_2(sizes.head_dim),
        **flags,
    )
    for claim in (True, False):
        keep[(sizes.tokens,)](
            new,
            state_cache,
            ape,
            *where,
            last,
            sizes.batch,
            sequence,
            columns,
            state_rows,
            sizes.block_size,
            WIDTH=width,
            CLAIM=claim,
            CHANNELS=triton.next_power_of_2(width),
            **flags,
        )
    return result
