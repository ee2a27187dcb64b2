"""kvcache.last_loc in Triton, storing int32 only (hip, npu): int32 into an int64 buffer was miscompiled there."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.last_loc.operands import check, check_layout, check_values
from confbag.kernels.last_loc.triton import launch


def last_loc(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> Tensor:
    """See the contract. The kernel stores the table's dtype; PyTorch converts it to the dtype of prefix_lens."""
    check(req_to_token, req_pool_indices, prefix_lens)
    check_layout(req_to_token, req_pool_indices, prefix_lens)
    if kernels_check_values(req_to_token):
        check_values(req_to_token, req_pool_indices, prefix_lens)
    found = torch.empty_like(prefix_lens, dtype=torch.int32)
    launch(found, req_to_token, req_pool_indices, prefix_lens)
    return found.to(prefix_lens.dtype)
