"""Inputs on which every expert_counts must equal the reference: `confbag verify moe.expert_counts` runs them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from confbag.kernels.checks.agreement import Case

BOUNDARIES = {"no tokens": (0, 2, 8), "one expert": (9, 1, 1), "more experts than tokens": (2, 2, 300)}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary, then `count` random inputs; -1 is among the ids."""
    for name, sizes in BOUNDARIES.items():
        yield Case(name, partial(arguments, device, *sizes, seed=0))
    random = torch.Generator().manual_seed(seed)
    for number in range(count):
        tokens, topk, experts = (int(torch.randint(1, most, (), generator=random)) for most in (200, 9, 65))
        yield Case(f"random {number}", partial(arguments, device, tokens, topk, experts, seed=seed + number))


def arguments(device: str, tokens: int, topk: int, experts: int, seed: int) -> tuple[torch.Tensor, int]:
    """expert_ids and num_experts, the same at each call."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(-1, experts, (tokens, topk), generator=random, dtype=torch.int32)
    return ids.to(device), experts
