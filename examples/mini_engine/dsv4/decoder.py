"""The decoder of kind dsv4: one KV head that is key and value, seen through a window and compressed; random weights.

Each layer attends to a window of its request's tokens. A layer with a compress ratio also attends to one row for each
finished group of that many tokens, made by a learnt pooling (dsv4.compressor). Weights and caches hold the model's
dtype; what is between the ops is computed in float32, in an order that no batch can change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mini_engine.arithmetic import linear, rms_norm, silu
from mini_engine.dsv4.passes import Pass
from mini_engine.dsv4.pool import Dsv4Pool
from mini_engine.dsv4.shape import Dsv4Shape
from mini_engine.model import HEAD_GAIN, ROTARY_BASE, VOCABULARY, Batch

HIDDEN = 1024
"""The least that the native compressors take."""
RANK = 8
"""Queries and outputs go through a narrow middle: 64 heads of 512 are 32 times as wide as the hidden state is."""
FEED_FORWARD = 64
EPSILON = 1e-6
PAIRS = 2
"""The rotary mode in which neighbouring channels turn together."""


@dataclass(frozen=True)
class Compressor:
    """The weights of one layer's pooling."""

    ratio: int
    coff: int
    wkv: Tensor
    wgate: Tensor
    ape: Tensor
    norm: Tensor


@dataclass(frozen=True)
class Layer:
    """The weights of one layer. Those of the compressor are in the model's dtype, the others hold what it can."""

    attention_gain: Tensor
    query_in: Tensor
    query_out: Tensor
    key_value: Tensor
    key_value_gain: Tensor
    sinks: Tensor
    output_in: Tensor
    output_out: Tensor
    feed_forward_gain: Tensor
    gate_up: Tensor
    down: Tensor
    compressor: Compressor | None


class Dsv4Decoder:
    """`forward` computes the hidden state of every token; `logits` what each of some rows predicts next."""

    def __init__(self, shape: Dsv4Shape, *, seed: int, device: torch.device, max_positions: int) -> None:
        generator = torch.Generator().manual_seed(seed)

        def weight(inputs: int, outputs: int) -> Tensor:
            values = torch.randn(inputs, outputs, generator=generator) / math.sqrt(inputs)
            return values.to(shape.dtype).float().to(device)

        def normal(*size: int) -> Tensor:
            return torch.randn(size, generator=generator).to(device)

        def compressor(ratio: int) -> Compressor | None:
            if not ratio:
                return None
            coff = 2 if ratio == 4 else 1
            width = coff * shape.head_dim
            return Compressor(
                ratio,
                coff,
                wkv=weight(HIDDEN, width).T.contiguous().to(shape.dtype),
                wgate=weight(HIDDEN, width).T.contiguous().to(shape.dtype),
                ape=normal(ratio, width),
                norm=torch.ones(shape.head_dim, device=device),
            )

        self.shape = shape
        self.embedding = weight(VOCABULARY, HIDDEN) * math.sqrt(VOCABULARY)
        heads = shape.num_heads * shape.head_dim
        self.layers = [
            Layer(
                attention_gain=torch.ones(HIDDEN, device=device),
                query_in=weight(HIDDEN, RANK),
                query_out=weight(RANK, heads),
                key_value=weight(HIDDEN, shape.head_dim),
                key_value_gain=torch.ones(shape.head_dim, device=device),
                sinks=normal(shape.num_heads),
                output_in=weight(heads, RANK),
                output_out=weight(RANK, HIDDEN),
                feed_forward_gain=torch.ones(HIDDEN, device=device),
                gate_up=weight(HIDDEN, 2 * FEED_FORWARD),
                down=weight(FEED_FORWARD, HIDDEN),
                compressor=compressor(ratio),
            )
            for ratio in shape.ratios
        ]
        self.final_gain = torch.ones(HIDDEN, device=device)
        self.head = weight(HIDDEN, VOCABULARY) * HEAD_GAIN
        pairs = torch.arange(0, shape.rotary, 2, dtype=torch.float64) / shape.rotary
        angles = torch.arange(max_positions, dtype=torch.float64).unsqueeze(1) * ROTARY_BASE**-pairs
        # Full width: the two channels of a pair turn by one angle.
        self.cosine = angles.cos().repeat_interleave(2, 1).float().to(device)
        self.sine = angles.sin().repeat_interleave(2, 1).float().to(device)

    def forward(
        self,
        batch: Batch,
        pool: Dsv4Pool,
        passing: Pass,
        compress: Callable[..., Tensor],
        attend: Callable[..., tuple[Tensor, Tensor]],
    ) -> Tensor:
        """Writes the batch's rows into the pool; compress, attend: the bound ops. Returns float32 [tokens, HIDDEN]."""
        shape, count = self.shape, len(batch.input_ids)
        hidden: Tensor = self.embedding[batch.input_ids]
        cosine, sine = self.cosine[batch.positions], self.sine[batch.positions]
        slots = pool.window_slots(batch.out_cache_loc)
        for number, layer in enumerate(self.layers):
            normed = rms_norm(hidden, layer.attention_gain).to(shape.dtype)
            query, rows = self.query_and_row(layer, normed.float(), cosine, sine)
            pool.window_kv[number].view(-1, shape.head_dim)[slots] = rows
            seen: dict[str, Any] = {"cmp_kv": None, "cmp_block_table": None, "cmp_ratio": 1}
            if layer.compressor is not None:
                ratio = layer.compressor.ratio
                self._compress(layer.compressor, normed, pool, number, passing, compress)
                seen = {
                    "cmp_kv": pool.compressed_kv[number],
                    "cmp_block_table": pool.compressed_table(ratio, batch.req_pool_indices),
                    "cmp_ratio": ratio,
                }
            attended, _ = attend(
                query,
                ori_kv=pool.window_kv[number],
                ori_block_table=passing.window_table,
                cu_seqlens_q=passing.metadata.cu_seqlens_q,
                seqused_kv=passing.metadata.seqused_kv,
                sinks=layer.sinks,
                metadata=passing.table_of(shape.ratios[number]),
                softmax_scale=shape.scale,
                ori_mask_mode=4,
                cmp_mask_mode=3,
                ori_win_left=shape.window - 1,
                ori_win_right=0,
                layout_q="TND",
                layout_kv="PA_ND",
                **seen,
            )
            hidden = self.after_attention(layer, hidden, attended.view(count, shape.num_heads, -1), cosine, sine)
        return hidden

    def query_and_row(self, layer: Layer, normed: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor]:
        """The query [tokens, heads, D] and the row of the cache [tokens, D] of every token, in the model's dtype."""
        shape, count = self.shape, len(normed)
        query = linear(linear(normed, layer.query_in), layer.query_out).view(count * shape.num_heads, shape.head_dim)
        query = rms_norm(query, torch.ones_like(layer.key_value_gain)).view(count, shape.num_heads, shape.head_dim)
        row = rms_norm(linear(normed, layer.key_value), layer.key_value_gain)
        return (
            turn(query, cosine[:, None], sine[:, None]).to(shape.dtype),
            turn(row, cosine, sine).to(shape.dtype),
        )

    def after_attention(self, layer: Layer, hidden: Tensor, attended: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """The hidden state after the layer. Values carry the turn of their own position: the query's is taken back."""
        back = turn(attended.float(), cosine[:, None], -sine[:, None])
        hidden = hidden + linear(linear(back.flatten(1), layer.output_in), layer.output_out)
        gate, up = linear(rms_norm(hidden, layer.feed_forward_gain), layer.gate_up).chunk(2, dim=1)
        return hidden + linear(silu(gate) * up, layer.down)

    def logits(self, hidden: Tensor) -> Tensor:
        """What each row of hidden [n, HIDDEN] predicts: [n, VOCABULARY]."""
        return linear(rms_norm(hidden, self.final_gain), self.head)

    def _compress(
        self,
        weights: Compressor,
        normed: Tensor,
        pool: Dsv4Pool,
        number: int,
        passing: Pass,
        compress: Callable[..., Tensor],
    ) -> None:
        """Update the state with this pass's tokens, and store a row for every group that they finish."""
        chunk = passing.chunks[weights.ratio]
        made = compress(
            x=normed,
            wkv=weights.wkv,
            wgate=weights.wgate,
            state_cache=pool.states[number].state_cache,
            ape=weights.ape,
            norm_weight=weights.norm,
            rope_sin=self.sine[chunk.rope_positions],
            rope_cos=self.cosine[chunk.rope_positions],
            state_block_table=chunk.state_table,
            cu_seqlens=passing.metadata.cu_seqlens_q,
            seqused=passing.seqused,
            start_pos=passing.start_pos,
            rope_head_dim=self.shape.rotary,
            cmp_ratio=weights.ratio,
            coff=weights.coff,
            norm_eps=EPSILON,
            rotary_mode=PAIRS,
            cache_mode=chunk.cache_mode,
        )
        # The rows after those that were produced hold nothing.
        pool.compressed_kv[number].view(-1, self.shape.head_dim)[chunk.slots] = made[: len(chunk.slots)]


def turn(rows: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The last channels of every row turned in pairs by angles [..., rotary] of full width."""
    plain = rows.shape[-1] - cosine.shape[-1]
    moved = rows[..., plain:]
    quarter = torch.stack((-moved[..., 1::2], moved[..., 0::2]), dim=-1).flatten(-2)
    return torch.cat((rows[..., :plain], moved * cosine + quarter * sine), dim=-1)
