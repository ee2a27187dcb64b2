"""kvcache.last_loc as one Triton launch that stores the dtype of prefix_lens (cuda, xpu)."""

from __future__ import annotations

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.last_loc.operands import check, check_layout, check_values

BLOCK = 256


@triton.jit(do_not_specialize=("requests", "max_context", "row_stride", "count"))  # type: ignore[untyped-decorator]
def _last_loc(  # type: ignore[no-untyped-def]
    table,
    requests_of,
    prefixes,
    found,
    requests,
    max_context,
    row_stride,
    count,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    # Widened before anything is computed from them: a row's offset passes 2**31 in a table of that many elements.
    request = tl.load(requests_of + at, mask=inside, other=0).to(tl.int64)
    prefix = tl.load(prefixes + at, mask=inside, other=0).to(tl.int64)
    readable = inside & (prefix > 0) & (prefix <= max_context) & (request >= 0) & (request < requests)
    slot = tl.load(table + request * row_stride + (prefix - 1), mask=readable, other=-1)
    tl.store(found + at, slot.to(found.dtype.element_ty), mask=inside)


def launch(found: Tensor, req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> None:
    """Write the slots into `found`, on the current device's current stream."""
    count = prefix_lens.shape[0]
    if count == 0:
        return
    requests, max_context = req_to_token.shape
    _last_loc[(triton.cdiv(count, BLOCK),)](
        req_to_token,
        req_pool_indices,
        prefix_lens,
        found,
        requests,
        max_context,
        req_to_token.stride(0),
        count,
        BLOCK=BLOCK,
    )


def last_loc(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> Tensor:
    """See the contract."""
    check(req_to_token, req_pool_indices, prefix_lens)
    check_layout(req_to_token, req_pool_indices, prefix_lens)
    if kernels_check_values(req_to_token):
        check_values(req_to_token, req_pool_indices, prefix_lens)
    found = torch.empty_like(prefix_lens)
    launch(found, req_to_token, req_pool_indices, prefix_lens)
    return found
