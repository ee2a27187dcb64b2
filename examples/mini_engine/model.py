"""The decoder: byte tokens, grouped-query attention, rotary positions, RMSNorm, SwiGLU; weights drawn from a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mini_engine.arithmetic import linear, rms_norm, rotate, silu

VOCABULARY = 256
LAYERS = 3
ROTARY_BASE = 10_000.0
# A trained head is sure of its next token; a random one would spread its logits so little that sampling ignores them.
HEAD_GAIN = 6.0

Attention = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, float], Tensor]


@dataclass(frozen=True)
class Shape:
    """What the weights are made from. What the bag's model.* does not hold (depth, width) follows from what it does."""

    num_heads: int
    num_kv_heads: int
    head_dim: int
    v_head_dim: int
    dtype: torch.dtype
    layers: int = LAYERS

    @property
    def hidden(self) -> int:
        return self.num_heads * self.head_dim

    @property
    def feed_forward(self) -> int:
        return 2 * self.hidden


@dataclass(frozen=True)
class Batch:
    """The tokens of one forward pass, packed by request, and where their keys and values go."""

    input_ids: Tensor
    positions: Tensor
    out_cache_loc: Tensor
    req_pool_indices: Tensor
    seq_lens: Tensor
    query_lens: Tensor


@dataclass(frozen=True)
class _Layer:
    attention_gain: Tensor
    query_key_value: Tensor
    output: Tensor
    feed_forward_gain: Tensor
    gate_up: Tensor
    down: Tensor


class Decoder:
    """`forward` computes the hidden state of every token; `logits` what each of some rows predicts next."""

    def __init__(self, shape: Shape, *, seed: int, device: torch.device, max_positions: int) -> None:
        generator = torch.Generator().manual_seed(seed)

        def weight(inputs: int, outputs: int) -> Tensor:
            values = torch.randn(inputs, outputs, generator=generator) / math.sqrt(inputs)
            return values.to(device, shape.dtype)

        def gain() -> Tensor:
            return torch.ones(shape.hidden, device=device, dtype=shape.dtype)

        self.shape = shape
        self._widths = [
            shape.num_heads * shape.head_dim,
            shape.num_kv_heads * shape.head_dim,
            shape.num_kv_heads * shape.v_head_dim,
        ]
        self._embedding = weight(VOCABULARY, shape.hidden) * math.sqrt(VOCABULARY)
        self._layers = [
            _Layer(
                attention_gain=gain(),
                query_key_value=weight(shape.hidden, sum(self._widths)),
                output=weight(shape.num_heads * shape.v_head_dim, shape.hidden),
                feed_forward_gain=gain(),
                gate_up=weight(shape.hidden, 2 * shape.feed_forward),
                down=weight(shape.feed_forward, shape.hidden),
            )
            for _ in range(shape.layers)
        ]
        self._final_gain = gain()
        self._head = weight(shape.hidden, VOCABULARY) * HEAD_GAIN
        pairs = torch.arange(0, shape.head_dim, 2, dtype=torch.float64) / shape.head_dim
        angles = torch.arange(max_positions, dtype=torch.float64).unsqueeze(1) * ROTARY_BASE**-pairs
        self._cosine = angles.cos().to(device, shape.dtype)
        self._sine = angles.sin().to(device, shape.dtype)

    def forward(
        self, batch: Batch, cache: Sequence[tuple[Tensor, Tensor]], req_to_token: Tensor, attention: Attention
    ) -> Tensor:
        """Writes the batch's keys and values into `cache`, a (keys, values) pair a layer; returns [tokens, hidden]."""
        shape, count = self.shape, len(batch.input_ids)
        hidden: Tensor = self._embedding[batch.input_ids]
        cosine, sine = self._cosine[batch.positions], self._sine[batch.positions]
        scale = 1 / math.sqrt(shape.head_dim)
        for layer, (keys, values) in zip(self._layers, cache, strict=True):
            normed = rms_norm(hidden, layer.attention_gain)
            query, key, value = torch.split(linear(normed, layer.query_key_value), self._widths, dim=1)
            query = rotate(query.view(count, shape.num_heads, shape.head_dim), cosine, sine)
            keys[batch.out_cache_loc] = rotate(key.view(count, shape.num_kv_heads, shape.head_dim), cosine, sine)
            values[batch.out_cache_loc] = value.view(count, shape.num_kv_heads, shape.v_head_dim)
            seen = attention(
                query, keys, values, req_to_token, batch.req_pool_indices, batch.seq_lens, batch.query_lens, scale
            )
            hidden = hidden + linear(seen.reshape(count, -1), layer.output)
            gate, up = linear(rms_norm(hidden, layer.feed_forward_gain), layer.gate_up).chunk(2, dim=1)
            hidden = hidden + linear(silu(gate) * up, layer.down)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """What each row of hidden [n, hidden] predicts: [n, VOCABULARY]."""
        return linear(rms_norm(hidden, self._final_gain), self._head)
