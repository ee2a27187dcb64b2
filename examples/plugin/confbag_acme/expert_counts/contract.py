"""moe.expert_counts: how many tokens are routed to each expert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends import ALWAYS, BATCH_INVARIANT, NativeOp, Op, Requires

if TYPE_CHECKING:
    from torch import Tensor


def expert_counts(expert_ids: Tensor, num_experts: int) -> Tensor:
    """The number of tokens that each expert gets.

    expert_ids: int32 or int64 [tokens, topk], contiguous; -1 is routed nowhere. num_experts: at least 1. Returns int32
    [num_experts], newly allocated. Raises IndexError for an id below -1 or not below num_experts (reference).
    """


EXPERT_COUNTS = Op("moe.expert_counts", expert_counts, cases="confbag_acme.expert_counts.cases:cases")

EXPERT_COUNTS.implement(
    "reference",
    "confbag_acme.expert_counts.reference:expert_counts",
    requires=Requires(components=("torch",)),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="a bincount",
)
EXPERT_COUNTS.implement(
    "acme",
    "confbag_acme.expert_counts.native:expert_counts",
    priority=20,
    requires=Requires(
        device=("acme",),
        components=("torch", "acme-runtime>=2.1"),
        native_ops=(NativeOp("acme::expert_counts(Tensor expert_ids, int num_experts) -> Tensor"),),
        library="acme-ops",
    ),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="a histogram in on-chip memory",
)
