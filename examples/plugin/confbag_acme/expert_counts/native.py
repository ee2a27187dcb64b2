"""moe.expert_counts by the native op of the Acme A1, which the library acme-ops registers."""

from __future__ import annotations

import torch
from torch import Tensor


def expert_counts(expert_ids: Tensor, num_experts: int) -> Tensor:
    """See the contract; ids are not checked on the device."""
    counts: Tensor = torch.ops.acme.expert_counts(expert_ids=expert_ids, num_experts=num_experts)
    return counts
