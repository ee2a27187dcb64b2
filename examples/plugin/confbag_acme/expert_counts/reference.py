"""moe.expert_counts in plain PyTorch: the meaning that the kernel is tested against."""

from __future__ import annotations

import torch
from torch import Tensor


def expert_counts(expert_ids: Tensor, num_experts: int) -> Tensor:
    """See the contract."""
    ids = expert_ids.flatten().to(torch.int64)
    if ids.numel() and not -1 <= int(ids.min()) <= int(ids.max()) < num_experts:
        raise IndexError(f"an expert id is not between -1 and {num_experts - 1}")
    return torch.bincount(ids[ids >= 0], minlength=num_experts).to(torch.int32)
