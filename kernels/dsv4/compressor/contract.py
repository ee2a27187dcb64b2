"""dsv4.compressor: KV groups of `cmp_ratio` tokens compressed into one row each, with the unfinished group as state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import NativeOp, Need, Requires
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT, RUN_TO_RUN, UNIFORM_BATCH

if TYPE_CHECKING:
    from torch import Tensor


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
    """Compress every group of r tokens whose last one lies in this chunk; keep the rest of the chunk in state_cache.

    r is cmp_ratio, D the length of norm_weight, W = coff * D, H the hidden size, B the requests, T or S the tokens.
    x: bfloat16 or float16; [T, H] (TH, ragged) or [B, S, H] (BSH).
    wkv: [W, H] in the dtype of x; with coff 2 the first D rows serve a token in its role in the previous group, the
        last D in its own.
    wgate: the same.
    state_cache: float32 [block_num, block_size, 2 * W], contiguous, nothing of it empty; a row is a token's kv, then
        its score. Written in place: it requires no gradient where it is called, and is no inference tensor outside
        inference mode.
    ape: float32 [r, W], added to the score, row = position % r.
    norm_weight: float32 [D].
    rope_sin: float32, one row for each row of the result in its layout, rope_head_dim wide (an empty result may come
        with one row). TH: the result's rows are packed densely, request after request. BSH: row k of request b is
        [b, k].
    rope_cos: the same.
    state_block_table: int32, required although it has a default. cache_mode 1 (CONTINUOUS): [B, blocks], position p
        is in block table[b, p // block_size], row p % block_size; block 0 is read but never written. cache_mode 2
        (EXPLICIT): [B, width], width >= coff * r + 1 and at least coff * r + the tokens used; position p is the row
        table[b, coff * r + p - start_pos[b]] of all rows; row 0 is a row like any other, and -1 is refused: what is
        invalid points at a cleared dummy row. The provider torch_npu_a5 knows no EXPLICIT: its cache_mode 2 (CYCLE)
        takes [B], the block that is each request's ring.
    cu_seqlens: int32 [B + 1], from 0 to T, never falling; TH needs it and BSH must not have it.
    seqused: int32 [B], the tokens really used of each request, at most its capacity; None uses all. 0 is padding: it
        produces and writes nothing, and its rows of rope and table are ignored.
    start_pos: int32 [B], the position of each request's first token in x; None is 0. start_pos + seqused fits in
        int32.
    rope_head_dim: even, at most D.
    cmp_ratio: 2, 4, 8, 16, 32, 64 or 128.
    coff: 1, or 2 to let a group see the one before it.
    norm_eps: of the RMS norm.
    rotary_mode: 1 rotates halves, 2 pairs.
    cache_mode: 1 or 2, see state_block_table.
    state_cache_stride_dim0: 0, or block_size * 2 * W.

    Group g of request b (s = start_pos, e = s + seqused, g from s // r to before e // r) is, for each channel alone,
    the softmax over its candidates' scores applied to their kv: the tokens of group g - 1 in their previous role
    (coff 2; before position 0 they count for nothing), then those of group g. Tokens before s come from state_cache as
    it was before the call. The RMS norm follows, then the rotation of the last rope_head_dim channels; all in float32.
    Afterwards state_cache gets the rows of the positions in [s, e) whose block is not 0 (cache_mode 1), or of those
    from max(s, (e // r - coff + 1) * r) (cache_mode 2); of two positions with one row the later one stays.

    Returns cmp_kv in the dtype of x, newly allocated: TH [min(T, T // r + B), D], BSH [B, ceil(S / r), D]. Request b
    fills (s + seqused) // r - s // r rows (`produced_rows`); what the others hold is unspecified, zero in the reference
    and left as it was allocated by the native op. An empty x gives an empty result or one without a produced row, and
    no state is touched.
    The native ops take rotary_mode 2 only (mode 1 falls through their kernel without an error), rope_head_dim 64, D
    128 or 512, H from 1024 to 10240 in steps of 512, contiguous tensors of device npu, and have no autograd.

    Raises TypeError for another dtype or a missing operand, ValueError for another shape, layout, device or number.
    Values (cu_seqlens, seqused, start_pos, what the table holds where it is used) are ValueErrors too: in the
    reference on CPU tensors always (not inside torch.compile), elsewhere and in the bindings under
    `exec.debug.bounds`. Nothing is written when it raises.
    Source: sgl-kernel-npu of August 2026 (#689). Uncertain there: whether coff 2 on the device reads a row of a ring
    that the same call has overwritten, and how A5 addresses its ring.
    """


NPU_SCHEMA = (
    "npu::compressor(Tensor x, Tensor wkv, Tensor wgate, Tensor! state_cache, Tensor ape, Tensor norm_weight, "
    "Tensor rope_sin, Tensor rope_cos, Tensor? state_block_table=None, Tensor? cu_seqlens=None, "
    "Tensor? seqused=None, Tensor? start_pos=None, int rope_head_dim=64, int cmp_ratio=4, int coff=1, "
    "float norm_eps=1e-6, int rotary_mode=1, int cache_mode=1, int state_cache_stride_dim0=0) -> Tensor"
)
A5_SCHEMA = (
    "custom::compressor(Tensor x, Tensor wkv, Tensor wgate, Tensor(a!) state_cache, Tensor ape, Tensor norm_weight, "
    "Tensor rope_sin, Tensor rope_cos, int rope_head_dim, int cmp_ratio, *, Tensor? state_block_table=None, "
    "Tensor? cu_seqlens=None, Tensor? seqused=None, Tensor? start_pos=None, int coff=1, float norm_eps=1e-6, "
    "int rotary_mode=1, int cache_mode=1) -> Tensor"
)

_STATE = Need(
    "memory.state_dtype",
    "float32",
    "dtype",
    hint="write memory.state_dtype: float32; the compressor keeps its state in float32 and in nothing else",
)
_DTYPES = ("bfloat16", "float16")
_HEAD_SIZES = (128, 512)

_CASES = "confbag.kernels.dsv4.compressor.cases"

COMPRESSOR = Op("dsv4.compressor", compressor, applies={"model.kind": "dsv4"}, cases=f"{_CASES}:cases")

COMPRESSOR.implement(
    "reference",
    "confbag.kernels.dsv4.compressor.reference:compressor",
    variant="cpu",
    requires=Requires(device=("cpu",), components=("torch",), dtypes=_DTYPES, needs=(_STATE,)),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="gathers, one softmax and one norm; a token's projection does not depend on the others",
)
COMPRESSOR.implement(
    "reference",
    "confbag.kernels.dsv4.compressor.reference:compressor",
    variant="accelerator",
    requires=Requires(
        components=("torch",),
        dtypes=_DTYPES,
        needs=(Need("platform.device", {"not": ["cpu"]}, "device"), _STATE),
    ),
    determinism=RUN_TO_RUN,
    graph=ALWAYS,
    slow="two launches for each token",
    description="never waits for the device, except to check values under exec.debug.bounds",
)
COMPRESSOR.implement(
    "triton",
    "confbag.kernels.dsv4.compressor.triton:compressor",
    requires=Requires(
        device=("cuda", "hip", "xpu"), components=("torch", "triton>=3.0"), dtypes=_DTYPES, needs=(_STATE,)
    ),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="four launches; tiles do not depend on the batch",
)
COMPRESSOR.implement(
    "torch_npu",
    "confbag.kernels.dsv4.compressor.torch_npu:compressor",
    requires=Requires(
        device=("npu",),
        arch=("ascend910b", "ascend910_93"),
        components=("torch", "torch-npu", "sgl-kernel-npu>=2026.8.0"),
        native_ops=(NativeOp(NPU_SCHEMA),),
        library="sgl-kernel-npu",
        dtypes=_DTYPES,
        head_sizes=_HEAD_SIZES,
        needs=(_STATE,),
    ),
    graph=UNIFORM_BATCH,
    cases=f"{_CASES}:native_cases",
    description="cache_mode 2 is EXPLICIT; capture needs one eager call of the same shapes before it",
)
COMPRESSOR.implement(
    "torch_npu_a5",
    "confbag.kernels.dsv4.compressor.torch_npu_a5:compressor",
    requires=Requires(
        device=("npu",),
        arch=("ascend950",),
        components=("torch", "torch-npu", "ascend-custom-ops"),
        native_ops=(NativeOp(A5_SCHEMA),),
        library="ascend-custom-ops",
        dtypes=_DTYPES,
        head_sizes=_HEAD_SIZES,
        needs=(_STATE,),
    ),
    graph=UNIFORM_BATCH,
    cases=f"{_CASES}:a5_cases",
    description="cache_mode 2 is CYCLE: a table of one ring for each request",
)
