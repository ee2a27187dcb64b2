"""dsv4.sparse_metadata: which cube core computes which query tokens of a batch in dsv4.sparse_attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import NativeOp, Need, Requires
from confbag.backends.words.levels import BATCH_INVARIANT, PIECEWISE

if TYPE_CHECKING:
    from torch import Tensor


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
    """A table of 1024 int32 that splits the batch into one contiguous run of query tokens for each cube core.

    num_heads_q: query heads of this rank, at least 1.
    num_heads_kv: 1.
    head_dim: decides nothing.
    layout_q: TND or BSND.
    layout_kv: PA_ND.
    cu_seqlens_q: int32 [batch_size + 1], the first query token of each request and their number last; starts with 0,
        never falls. Contiguous, and in one place with seqused_kv: CPU tensors for `torch_npu_host` (the mirrors of the
        forward metadata), NPU tensors for `torch_npu_device`, either for the reference, which waits for a device that
        holds them. With layout BSND, or None, query lengths count as 0: one core does everything, right and slow.
    seqused_kv: int32 [batch_size], tokens of each request that are attended to, not negative; None counts as 0.
    batch_size: requests.
    cmp_topk: compressed tokens for each query token: 0 (all), 512 or 1024 with has_cmp_kv.
    cmp_ratio: 4 or 128 with has_cmp_kv; a call must pass has_cmp_kv=False or a ratio, for the defaults contradict each
        other.
    ori_mask_mode: 4 is a window of ori_win_left tokens before and ori_win_right after the query's own, 3 is causal, 0
        is everything.
    cmp_mask_mode: decides nothing.
    ori_win_left: tokens, a negative one is unlimited. A window of W tokens is W - 1; over a draft block of n tokens
        W + n - 1.
    ori_win_right: tokens, a negative one is unlimited.
    has_ori_kv: decides nothing.
    has_cmp_kv: whether compressed KV is attended to.
    aic_cores: cube cores, 1 to 36. A native provider takes this and the next two from the driver and ignores what is
        passed.
    aiv_cores: vector cores, 1 to 72.
    soc: the SoC's name, of which only whether it contains `ascend950` matters.

    Returns int32 [1024], newly allocated: the reference where its operands are (the CPU without any), a native provider
    on the NPU, its copy enqueued on the current stream. 36 rows of 8 for cube cores [enable, request_start,
    token_start, 0, request_end, token_end, 0, 0], half open, end (r, 0) being the end of request r - 1; rows of unused
    cores are 0; then 72 rows of 8 for vector cores, always 0; then 0. A token is a block of 64 packed query rows on
    Ascend 950. The last enabled row ends at (batch_size, 0). Any full, contiguous, ordered partition is numerically
    valid for the consumer. A5's own attention, over a packed fp8 cache, has tables that are laid out otherwise and
    cannot be interchanged with these; it and its metadata are out of scope here.

    Raises TypeError for another type or dtype, ValueError for everything else that the above does not allow, before any
    native call. Values of the two tensors are checked always on the CPU, elsewhere under `exec.debug.bounds`.
    Source: the host op of sgl-kernel-npu (its pull request #699).
    """


HOST = NativeOp(
    "npu::sparse_attn_sharedkv_metadata_host(int num_heads_q, int num_heads_kv, int head_dim, str layout_q, "
    "str layout_kv, Tensor? cu_seqlens_q=None, Tensor? seqused_kv=None, int batch_size=0, int cmp_topk=0, "
    "int cmp_ratio=-1, int ori_mask_mode=4, int cmp_mask_mode=3, int ori_win_left=127, int ori_win_right=0, "
    "bool has_ori_kv=True, bool has_cmp_kv=True) -> Tensor",
    # Its operands are on the CPU and only its result is on the NPU.
    dispatch_key="CPU",
)
DEVICE = NativeOp(
    "custom::npu_sparse_attn_sharedkv_metadata(int num_heads_q, int num_heads_kv, int head_dim, *, "
    "Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_ori_kv=None, Tensor? cu_seqlens_cmp_kv=None, "
    "Tensor? seqused_q=None, Tensor? seqused_kv=None, int batch_size=0, int max_seqlen_q=0, int max_seqlen_kv=0, "
    "int ori_topk=0, int cmp_topk=0, int cmp_ratio=-1, int ori_mask_mode=4, int cmp_mask_mode=3, "
    "int ori_win_left=127, int ori_win_right=0, str layout_q='BSND', str layout_kv='PA_ND', bool has_ori_kv=True, "
    "bool has_cmp_kv=True, str device='npu:0') -> Tensor"
)

_CASES = "confbag.kernels.dsv4.sparse_metadata.cases"

SPARSE_METADATA = Op("dsv4.sparse_metadata", sparse_metadata, applies={"model.kind": "dsv4"}, cases=f"{_CASES}:cases")
# None has a priority: exec.metadata_placement chooses between them, by rules. Each is made before a graph is replayed
# and copied into a buffer that the graph reads, so none of them is captured and none keeps a graph from being so.

SPARSE_METADATA.implement(
    "reference",
    "confbag.kernels.dsv4.sparse_metadata.reference:sparse_metadata",
    requires=Requires(components=("torch",)),
    determinism=BATCH_INVARIANT,
    graph=PIECEWISE,
    description="the scheduler in Python; waits for operands that are on a device",
)
SPARSE_METADATA.implement(
    "torch_npu_host",
    "confbag.kernels.dsv4.sparse_metadata.torch_npu_host:sparse_metadata",
    requires=Requires(
        device=("npu",),
        # Builds for ascend950 leave the op out. That is a fact of the library, and the plan says op-missing.
        arch=("ascend910b", "ascend910_93", "ascend950"),
        components=("torch", "torch-npu"),
        native_ops=(HOST,),
        library="sgl-kernel-npu",
        needs=(
            Need(
                "exec.metadata_placement",
                ["auto", "host"],
                "feature",
                hint="it computes from the mirrors on the CPU; leave exec.metadata_placement out or set it to host",
            ),
        ),
    ),
    determinism=BATCH_INVARIANT,
    graph=PIECEWISE,
    cases=f"{_CASES}:host_cases",
    description="the scheduler on the host, from CPU mirrors: no wait for the device",
)
SPARSE_METADATA.implement(
    "torch_npu_device",
    "confbag.kernels.dsv4.sparse_metadata.torch_npu_device:sparse_metadata",
    requires=Requires(
        device=("npu",),
        # Its successor on ascend950 is another op, whose tables are laid out otherwise.
        arch=("ascend910b", "ascend910_93"),
        components=("torch", "torch-npu"),
        native_ops=(DEVICE,),
        library="ascend-custom-ops",
        needs=(
            Need(
                "exec.metadata_placement",
                ["auto", "device"],
                "feature",
                hint="it computes from tensors on the NPU; leave exec.metadata_placement out or set it to device",
            ),
        ),
    ),
    determinism=BATCH_INVARIANT,
    graph=PIECEWISE,
    cases=f"{_CASES}:device_cases",
    description="the scheduler as a kernel, from tensors on the device",
)
