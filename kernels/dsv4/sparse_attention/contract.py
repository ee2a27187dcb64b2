"""dsv4.sparse_attention: one KV head that is both key and value, seen through a window and in compressed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import NativeOp, Need, Requires
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT, UNIFORM_BATCH

if TYPE_CHECKING:
    from torch import Tensor


class _Unsaid(int):
    """The schema's default as a number that can be told apart from the same number in a call."""


WINDOW_UNSAID: Final = _Unsaid(128)


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
    """Each query token attends to a window of its request's tokens, and to compressed tokens of the ones before it.

    B requests, T or S query tokens, N heads, head size D, one KV head. Everything lies on the device of q.
    q: floating [T, N, D] (layout_q TND, ragged) or [B, S, N, D] (BSND), not empty, contiguous.
    ori_kv: [pages, page, 1, D] in the dtype of q, contiguous, key and value at once.
    cmp_kv: [pages, page, 1, D], the same, with a page size of its own; None for a window alone; no pages are allowed.
    ori_sparse_indices: int32 [T, 1, K], TND only, slots `page_id * page + offset`, in place of window, causality and
        block table; ignored when cmp_sparse_indices is given.
    cmp_sparse_indices: int32 [T, 1, K] or [B, S, 1, K], compressed tokens by their number (SCFA); without it every
        visible one counts (CFA).
    ori_block_table: int32 [B, at least 1], the page of each run of `page` positions. Only entries of pages that are
        needed are read.
    cmp_block_table: the same for compressed tokens, needed with cmp_kv and not read without.
    cu_seqlens_q: int32 [B + 1], from 0, never falling, at most T: needed for TND, forbidden for BSND.
    cu_seqlens_ori_kv: int32, unused.
    cu_seqlens_cmp_kv: int32, unused.
    seqused_q: int32 [B], at most S: how many of a request's rows are queries (BSND only; None: all).
    seqused_kv: int32 [B], needed, tokens in the cache for each request, its queries included.
    sinks: float32 [N], a logit for each head without a value; None is none (the native ops want it: write -1e4).
    metadata: int32 of 1024 elements (dsv4.sparse_metadata), needed; how it splits the work changes no result, so the
        reference does not read it, but rows that it does not cover are undefined in a native op.
    softmax_scale: at least 0; 0, the default, weighs every row alike.
    cmp_ratio: tokens in a compressed one, at least 1 with cmp_kv, else unused.
    ori_mask_mode: 4.
    cmp_mask_mode: 3.
    ori_win_left: how many tokens before its own a query sees; at least 0. It must be passed: its default is 128 here
        and 127 in another spelling of the same op, so none may decide. A window of 128 tokens, its own among them, is
        127.
    ori_win_right: how many tokens after its own; at least 0.
    layout_q: TND or BSND.
    layout_kv: PA_ND.
    return_softmax_lse: False.

    The i-th of a request's n queries stands at p = seqused_kv - n + i, which is below 0 when n is larger. It sees
    from ori_kv: positions max(p - ori_win_left, 0) to min(p + ori_win_right, seqused_kv - 1); or, with
    ori_sparse_indices, its first min(K, seqused_kv) entries up to the first negative one;
    from cmp_kv: with m = (p + 1) // cmp_ratio (0 when p < 0), compressed tokens 0 to m - 1, or its first min(K, m)
    entries of cmp_sparse_indices, which all lie in [0, m); only entries after those may be -1 or larger.
    A token that is seen in both forms counts twice. score = softmax_scale * <q, row> in float32; with M the largest of
    the scores and the head's sink, out = sum(e^(score - M) * row) / (sum(e^(score - M)) + e^(sink - M)), where the
    weights of the upper sum are rounded to the dtype of q. Who sees nothing gets zeros.

    Returns (out, lse), newly allocated: out like q, and an empty float32 tensor. Rows of q that belong to no request
    (past cu_seqlens_q[B] or seqused_q) are zero in the reference and undefined in a native op.
    Raises TypeError for another dtype or a missing operand, ValueError for another shape, layout, device or number,
    IndexError for a page or slot out of range. What shows only in the values of lengths, tables and indices: in the
    reference on CPU tensors always, elsewhere and in the bindings under `exec.debug.bounds`; without it the reference
    passes over what is out of range and a native op reads it. A negative entry among the first min(K, m) is an error
    under that switch alone: the reference skips it otherwise, and a native op multiplies by memory that nobody wrote.
    The provider triton takes no float64. The native ops take bfloat16 and float16, and npu::sparse_attn_sharedkv only
    N 64, D 512, pages of a multiple of 16 up to 1024, cmp_ratio 4 or 128, cmp_sparse_indices of K 512 or 1024,
    ori_sparse_indices of a multiple of 128 up to 2048. They agree with the reference within 2e-2 by their own tests;
    not run on an NPU here.
    Source: sgl-kernel-npu of August 2026 (#708). Uncertain there: CFA, SCFA, TND and sinks were read in the kernel and
    in the custom op's use, its own tests cover BSND windows; what custom::npu_sparse_attn_sharedkv restricts.
    """


_ARGUMENTS = (
    "(Tensor q, *, Tensor? ori_kv=None, Tensor? cmp_kv=None, Tensor? ori_sparse_indices=None, "
    "Tensor? cmp_sparse_indices=None, Tensor? ori_block_table=None, Tensor? cmp_block_table=None, "
    "Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_ori_kv=None, Tensor? cu_seqlens_cmp_kv=None, "
    "Tensor? seqused_q=None, Tensor? seqused_kv=None, Tensor? sinks=None, Tensor? metadata=None, "
    "float softmax_scale=0, int cmp_ratio=0, int ori_mask_mode=4, int cmp_mask_mode=3, int ori_win_left={window}, "
    "int ori_win_right=0, str layout_q='BSND', str layout_kv='PA_ND', bool return_softmax_lse=False)"
    " -> (Tensor, Tensor)"
)
NPU_SCHEMA = "npu::sparse_attn_sharedkv" + _ARGUMENTS.format(window=128)
CUSTOM_SCHEMA = "custom::npu_sparse_attn_sharedkv" + _ARGUMENTS.format(window=127)

# The page is still auto where attention could not be decided, which is a fault of its own.
_PAGE_KNOWN = {"memory.page_size": {"not": ["auto"]}}
_KV_HEADS = Need("model.num_kv_heads", 1, "feature", hint="keys and values are one head that all query heads share")
_KV_DTYPE = Need("memory.kv_cache", "model", "dtype", hint="its cache is in the dtype of the queries")

SPARSE_ATTENTION = Op(
    "dsv4.sparse_attention",
    sparse_attention,
    phases=("prefill", "decode", "draft"),
    applies={"model.kind": "dsv4"},
    cases="confbag.kernels.dsv4.sparse_attention.cases:cases",
)

SPARSE_ATTENTION.implement(
    "reference",
    "confbag.kernels.dsv4.sparse_attention.reference:sparse_attention",
    variant="cpu",
    requires=Requires(device=("cpu",), components=("torch",)),
    determinism=BATCH_INVARIANT,
    description="one query token after the other, from the rows that it sees and nothing else",
)
SPARSE_ATTENTION.implement(
    "reference",
    "confbag.kernels.dsv4.sparse_attention.reference:sparse_attention",
    variant="accelerator",
    requires=Requires(components=("torch",), needs=(Need("platform.device", {"not": ["cpu"]}, "device"),)),
    graph=ALWAYS,
    slow="it gathers as many compressed rows for each token as the block table has room for",
    description="masks what a token does not see; never waits for the device, except under exec.debug.bounds",
)
SPARSE_ATTENTION.implement(
    "triton",
    "confbag.kernels.dsv4.sparse_attention.triton:sparse_attention",
    priority=20,
    requires=Requires(
        device=("cuda", "hip", "xpu"),
        components=("torch", "triton>=3.0"),
        dtypes=("bfloat16", "float16", "float32"),
        needs=(_KV_HEADS, _KV_DTYPE),
    ),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="PyTorch addresses the rows, one kernel gathers and weighs them; any number of heads and head size",
)
SPARSE_ATTENTION.implement(
    "torch_npu",
    "confbag.kernels.dsv4.sparse_attention.torch_npu:sparse_attention",
    priority=20,
    requires=Requires(
        device=("npu",),
        # Builds for ascend950 leave the op out. That is a fact of the library, and the plan says op-missing.
        arch=("ascend910b", "ascend910_93", "ascend950"),
        components=("torch", "torch-npu", "sgl-kernel-npu>=2026.8.0"),
        native_ops=(NativeOp(NPU_SCHEMA),),
        library="sgl-kernel-npu",
        dtypes=("bfloat16", "float16"),
        head_sizes=(512,),
        needs=(
            Need(
                "model.heads_per_rank",
                64,
                "topology",
                hint="it computes 64 heads; choose parallel.tp_size so that each rank keeps 64",
            ),
            _KV_HEADS,
            _KV_DTYPE,
            Need("memory.page_size", {"multiple": 16}, "page-size", when=_PAGE_KNOWN),
            Need("memory.page_size", {"max": 1024}, "page-size", when=_PAGE_KNOWN),
        ),
    ),
    graph=UNIFORM_BATCH,
    description="capture needs one eager call of the same shapes before it",
)
SPARSE_ATTENTION.implement(
    "torch_npu_custom",
    "confbag.kernels.dsv4.sparse_attention.torch_npu_custom:sparse_attention",
    priority=10,
    requires=Requires(
        device=("npu",),
        arch=("ascend910b", "ascend910_93"),
        components=("torch", "torch-npu", "ascend-custom-ops"),
        native_ops=(NativeOp(CUSTOM_SCHEMA),),
        library="ascend-custom-ops",
        dtypes=("bfloat16", "float16"),
        needs=(_KV_HEADS, _KV_DTYPE),
    ),
    graph=UNIFORM_BATCH,
    description="the same op in torch.ops.custom; capture needs one eager call of the same shapes before it",
)
