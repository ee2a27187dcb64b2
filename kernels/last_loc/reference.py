"""kvcache.last_loc in plain PyTorch: the meaning that every other implementation is tested against."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import reference_checks_values
from confbag.kernels.last_loc.operands import check, check_values


def last_loc(req_to_token: Tensor, req_pool_indices: Tensor, prefix_lens: Tensor) -> Tensor:
    """See the contract. Never waits for a device, except to check values under `exec.debug.bounds`."""
    check(req_to_token, req_pool_indices, prefix_lens)
    if reference_checks_values(req_to_token):
        check_values(req_to_token, req_pool_indices, prefix_lens)
    requests, max_context = req_to_token.shape
    if max_context == 0:
        return torch.full_like(prefix_lens, -1)
    # A negative index counts from the end in PyTorch; one past the end is what its own check refuses.
    rows = torch.where(req_pool_indices < 0, requests, req_pool_indices).long()
    columns = prefix_lens.long().sub(1).clamp(min=0)
    return torch.where(prefix_lens > 0, req_to_token[rows, columns], -1).to(prefix_lens.dtype)
