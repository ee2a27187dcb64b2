"""The engine for kind dsv4: the same steps, over another decoder and other memory, through the three dsv4 ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from confbag import get_exec, get_model
from mini_engine.dsv4.decoder import Dsv4Decoder
from mini_engine.dsv4.passes import Passes
from mini_engine.dsv4.pool import Dsv4Pool
from mini_engine.dsv4.shape import Dsv4Shape
from mini_engine.engine import Engine, published_page_size, published_width
from mini_engine.kv_pool import KvPool
from mini_engine.model import Batch
from mini_engine.settings import Serve


class Dsv4Engine(Engine):
    """Reads what this process published; `ops` is what `plan.bind` returned."""

    def _build(self, serve: Serve, *, columns: int) -> tuple[Any, KvPool]:
        shape = _published_shape()
        width = published_width()
        self.decoder = Dsv4Decoder(shape, seed=serve.seed, device=self._device, max_positions=columns)
        self.memory = Dsv4Pool(
            shape,
            pages=serve.pages,
            page_size=published_page_size(),
            rows=serve.max_batch,
            columns=columns,
            device=self._device,
            last_loc=self._ops.last_loc,
            speculative=width is not None,
        )
        self.passes = Passes(
            shape,
            self.memory,
            self._ops.sparse_metadata,
            device=self._device,
            placement=get_exec().metadata_placement,
            width=width,
        )
        return self.decoder, self.memory

    def _forward(self, phase: str, batch: Batch, growth: Sequence[tuple[int, int, int]]) -> Tensor:
        passing = self.passes.begin(phase, batch, growth)
        attend = getattr(self._ops, f"sparse_attention_{phase}")
        return self.decoder.forward(batch, self.memory, passing, self._ops.compressor, attend)


def _published_shape() -> Dsv4Shape:
    model = get_model()
    if model.num_heads is None or model.head_dim is None or model.sliding_window is None:
        raise ValueError("model.num_heads, head_dim and sliding_window must be known before the engine starts")
    return Dsv4Shape(
        num_heads=model.num_heads,
        head_dim=model.head_dim,
        window=model.sliding_window,
        dtype=getattr(torch, model.dtype or "bfloat16"),
    )
