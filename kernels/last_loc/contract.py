"""kvcache.last_loc: the KV slot that holds each request's last cached token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import Requires
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT

if TYPE_CHECKING:
    from torch import Tensor


def last_loc(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> Tensor:
    """The slot of token `prefix_lens[i] - 1` of request `req_pool_indices[i]`, or -1 where the prefix is empty.

    req_to_token: int32 [requests, max_context], the slot of each token of each request. The kernels want unit column
    stride.
    req_pool_indices, prefix_lens: int32 or int64 [n], of one length; lengths are in tokens, zero or less is an empty
    prefix. The kernels want them contiguous.

    Returns [n] in the dtype of prefix_lens, newly allocated; writes no operand. n may be 0.
    Raises TypeError for another dtype (a table of int64 would lose slots from 2**31 on), ValueError for another shape,
    layout or device, and IndexError for a request outside [0, requests) or a prefix longer than max_context: the
    reference on CPU tensors always (inside torch.compile with torch's own words) and elsewhere under
    `exec.debug.bounds`, the kernels only under it. Without it a kernel reads nothing out of range and gives -1 there;
    the reference leaves it to the device's own index check.
    Source: sglang 0.5.23, memory/common.
    """


LAST_LOC = Op("kvcache.last_loc", last_loc, cases="confbag.kernels.last_loc.cases:cases")

LAST_LOC.implement(
    "reference",
    "confbag.kernels.last_loc.reference:last_loc",
    requires=Requires(components=("torch",)),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    compile=True,
    description="plain indexing; addresses never overflow",
)
LAST_LOC.implement(
    "triton",
    "confbag.kernels.last_loc.triton:last_loc",
    priority=20,
    requires=Requires(device=("cuda", "xpu"), components=("torch", "triton>=3.0")),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    compile=True,
    description="one launch, stores the dtype of prefix_lens",
)
LAST_LOC.implement(
    "triton_int32_safe",
    "confbag.kernels.last_loc.triton_int32_safe:last_loc",
    priority=10,
    requires=Requires(device=("hip", "npu"), components=("torch", "triton>=3.0")),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    compile=True,
    description="stores int32 and converts afterwards: a store of int32 into an int64 buffer was miscompiled on hip",
)
