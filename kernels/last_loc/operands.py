"""What the operands of kvcache.last_loc must be, the same for every implementation."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.operands import require_contiguous, require_tensor

TABLE = (torch.int32,)
INDEX = (torch.int32, torch.int64)


def check(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> None:
    """Refuse dtypes, shapes and devices that the contract does not name."""
    require_tensor("req_to_token", req_to_token, TABLE, (None, None))
    device = req_to_token.device
    require_tensor("req_pool_indices", req_pool_indices, INDEX, (None,), device)
    require_tensor("prefix_lens", prefix_lens, INDEX, (req_pool_indices.shape[0],), device)


def check_layout(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> None:
    """Refuse layouts that the kernels cannot read."""
    if req_to_token.shape[1] > 1 and req_to_token.stride(1) != 1:
        raise ValueError(
            f"req_to_token: expected unit column stride, found strides {list(req_to_token.stride())}; "
            "pass req_to_token.contiguous()"
        )
    require_contiguous("req_pool_indices", req_pool_indices)
    require_contiguous("prefix_lens", prefix_lens)


def check_values(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> None:
    """Refuse requests and prefixes out of range. Reads values, so it waits for the device."""
    requests, max_context = req_to_token.shape
    outside = (req_pool_indices < 0) | (req_pool_indices >= requests) | (prefix_lens > max_context)
    if not bool(outside.any()):
        return
    row = int(outside.nonzero()[0])
    request, prefix = int(req_pool_indices[row]), int(prefix_lens[row])
    if not 0 <= request < requests:
        raise IndexError(f"req_pool_indices[{row}]: expected a request in [0, {requests}), found {request}")
    raise IndexError(
        f"prefix_lens[{row}]: expected at most {max_context} tokens, the columns of req_to_token, found {prefix}"
    )
