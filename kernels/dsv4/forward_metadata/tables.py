"""The tables of dsv4.sparse_metadata that one forward pass needs: one a kind of layer, shared by all of its layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch import Tensor

WINDOW = "window"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of layer. ratio: how many tokens one compressed token stands for; None attends to the window alone.

    topk: compressed tokens that each query token attends to; 0 is all of them.
    """

    name: str
    ratio: int | None = None
    topk: int = 0


def kinds(ratios: Iterable[int], index_topk: int) -> tuple[Kind, ...]:
    """The kinds of a model by its layers' compress ratios: always the window; ratio 4 is read through an index."""
    present = sorted({ratio for ratio in ratios if ratio > 1})
    return (Kind(WINDOW), *(Kind(f"c{ratio}", ratio, index_topk if ratio == 4 else 0) for ratio in present))


@dataclass(frozen=True, slots=True)
class Scheduler:
    """How tables are made. sparse_metadata: the bound op. num_heads_q: of this rank. window: tokens, self included.

    draft_block: tokens of a draft block that all see each other (DSpark); 0 where queries are causal.
    """

    sparse_metadata: Callable[..., Tensor]
    num_heads_q: int
    head_dim: int
    window: int
    kinds: tuple[Kind, ...]
    draft_block: int = 0

    def table(self, kind: Kind, cu_seqlens_q: Tensor, seqused_kv: Tensor) -> Tensor:
        """The table of one kind. Every argument is said: the defaults of the native ops differ from each other."""
        return self.sparse_metadata(
            num_heads_q=self.num_heads_q,
            num_heads_kv=1,
            head_dim=self.head_dim,
            layout_q="TND",
            layout_kv="PA_ND",
            cu_seqlens_q=cu_seqlens_q,
            seqused_kv=seqused_kv,
            batch_size=seqused_kv.shape[0],
            cmp_topk=kind.topk,
            cmp_ratio=1 if kind.ratio is None else kind.ratio,
            ori_mask_mode=4,
            cmp_mask_mode=3,
            ori_win_left=self.window + self.draft_block - 1,
            ori_win_right=0,
            has_ori_kv=True,
            has_cmp_kv=kind.ratio is not None,
        )
