"""The sending side of disagg.send_kvcache: its pools, its place in the pipeline, its engine and its time limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Engine(Protocol):
    """What sends: the one call that is made of a transfer engine."""

    def batch_transfer_sync_write(
        self, session: str, sources: list[int], destinations: list[int], lengths: list[int], /
    ) -> int:
        """Copy each block to the peer; 0 once all have arrived."""


@dataclass(frozen=True)
class Sender:
    """What a prefill process knows of itself; made once, when its pools are registered with its engine.

    engine: of the provider that sends.
    data_ptrs: the address of each entry.
    data_lens: the bytes of each entry.
    item_lens: the bytes of a page of each entry; one of 0 bytes is skipped.
    layer_ids: the layer of each entry, empty where the pool gives none.
    groups: how often the entries run through the layers (MLA 1; K and V 2; DeepSeek-V4: compressed KV, index K and
        index scale 3, C128 1, C4 state 2).
    hybrid_mla: whether a pipeline stage pairs by layer ids.
    pp_size: stages of the pipeline.
    start_layer: the first layer of this stage.
    end_layer: the one after its last.
    ratio: only layers of this compression ratio have entries.
    compression_ratios: of every layer of the model.
    attn_tp_size: ranks that share a layer's heads.
    unified_memory: whether both sides must have the same page bytes and attn_tp_size, as the engine's unified memory
        needs.
    custom_mem_pool: one future a layer on the caller's executor, else one layer after the other.
    time_limit: seconds for one send.
    """

    engine: Engine
    data_ptrs: Sequence[int]
    data_lens: Sequence[int]
    item_lens: Sequence[int]
    layer_ids: Sequence[int] = ()
    groups: int = 1
    hybrid_mla: bool = False
    pp_size: int = 1
    start_layer: int = 0
    end_layer: int | None = None
    ratio: int | None = None
    compression_ratios: Sequence[int] = ()
    attn_tp_size: int = 1
    unified_memory: bool = False
    custom_mem_pool: bool = False
    time_limit: float = 30.0

    def __post_init__(self) -> None:
        for name in ("data_ptrs", "data_lens", "item_lens", "layer_ids", "compression_ratios"):
            values = tuple(getattr(self, name))
            object.__setattr__(self, name, values)
            for place, value in enumerate(values):
                if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                    raise ValueError(f"sender.{name}[{place}]: expected an integer of at least 0, found {value!r}")
        for name in ("data_lens", "item_lens", *(("layer_ids",) if self.layer_ids else ())):
            if len(getattr(self, name)) != len(self.data_ptrs):
                raise ValueError(
                    f"sender.{name}: expected one for each of {len(self.data_ptrs)} entries, "
                    f"found {len(getattr(self, name))}"
                )
        for name in ("groups", "pp_size", "attn_tp_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"sender.{name}: expected at least 1, found {getattr(self, name)}")
        if self.ratio is not None and self.ratio not in self.compression_ratios:
            raise ValueError(
                f"sender.ratio: expected one of the compression ratios {sorted(set(self.compression_ratios))}, "
                f"found {self.ratio}"
            )
        if not self.time_limit > 0:
            raise ValueError(f"sender.time_limit: expected seconds above 0, found {self.time_limit}")

    def layer_of(self, entry: int) -> int:
        """The layer of an entry, for a person who reads an error."""
        if self.layer_ids:
            return self.layer_ids[entry]
        within = entry % max(len(self.data_ptrs) // self.groups, 1)
        if self.ratio is None:
            return self.start_layer + within
        having = [layer for layer, ratio in enumerate(self.compression_ratios) if ratio == self.ratio]
        place = self.compression_ratios[: self.start_layer].count(self.ratio) + within
        return having[place] if place < len(having) else within
