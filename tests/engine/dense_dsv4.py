"""The mini engine's dsv4 decoder over a whole sequence at once, by its formulas: no pages, no state, no metadata.

In float64, but for what the engine holds in the model's dtype: the normed hidden states, queries, rows of the caches
and the attended values, which are rounded as it rounds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

BASE = 10_000.0
EPSILON = 1e-6


class Walk:
    """Watches an engine: after each step, every token of its pass against the same token computed densely.

    worst: the largest difference so far, in standard deviations of the dense state. checked: tokens, by kind of step.
    """

    def __init__(self, engine: Any) -> None:
        self.worst = 0.0
        self.checked: Counter[str] = Counter()
        self._decoder = engine.decoder
        self._tokens: dict[int, list[int]] = {}
        self._last: tuple[Any, ...] | None = None
        forward = engine._forward

        def watched(phase: str, batch: Any, growth: Any) -> Tensor:
            hidden: Tensor = forward(phase, batch, growth)
            self._last = phase, batch.input_ids.tolist(), len(batch.req_pool_indices), list(growth), hidden.cpu()
            return hidden

        engine._forward = watched

    def check(self, kind: str) -> None:
        """Compare the pass of the step that was just made."""
        assert self._last is not None
        phase, tokens, requests, growth, hidden = self._last
        assert phase == {"verify": "draft"}.get(kind, kind)
        first = 0
        for number, (row, held, wanted) in enumerate(growth):
            count = wanted - held
            if phase == "draft":
                first = number * (len(tokens) // requests)
            sequence = self._tokens.get(row, [])[:held] + tokens[first : first + count]
            self._tokens[row] = sequence
            expected = dense(self._decoder, sequence)
            apart = (hidden[first : first + count].double() - expected[held:]).abs().max() / expected.std()
            self.worst = max(self.worst, float(apart))
            self.checked[kind] += count
            first += count
        self._last = None


def dense(decoder: Any, tokens: Sequence[int]) -> Tensor:
    """float64 [tokens, hidden]: the state of every token after the last layer."""
    shape, count = decoder.shape, len(tokens)
    position = torch.arange(count)

    def rounded(values: Tensor) -> Tensor:
        return values.to(shape.dtype).double()

    def turned(rows: Tensor, at: Tensor, direction: int = 1) -> Tensor:
        """Neighbouring channels as complex numbers, turned by the position's angles."""
        pairs = shape.rotary // 2
        angle = at.double()[:, None] * BASE ** -(torch.arange(pairs).double() / pairs) * direction
        moved = torch.view_as_complex(rows[..., -shape.rotary :].reshape(*rows.shape[:-1], pairs, 2).contiguous())
        turn = torch.polar(torch.ones_like(angle), angle).view(count_of(at), *[1] * (rows.dim() - 2), pairs)
        return torch.cat([rows[..., : -shape.rotary], torch.view_as_real(moved * turn).flatten(-2)], -1)

    hidden = weight(decoder.embedding)[torch.tensor(list(tokens))]
    for layer, ratio in zip(decoder.layers, shape.ratios, strict=True):
        normed = rounded(norm(hidden))
        query = norm((normed @ weight(layer.query_in) @ weight(layer.query_out)).view(count, shape.num_heads, -1))
        query = rounded(turned(query, position))
        rows = rounded(turned(norm(normed @ weight(layer.key_value)), position))
        seen = (position <= position[:, None]) & (position > position[:, None] - shape.window)
        if ratio:
            groups = torch.arange(count // ratio)
            pooled = rounded(turned(pool(layer.compressor, normed, groups), groups * ratio))
            rows = torch.cat([rows, pooled])
            seen = torch.cat([seen, groups < (position[:, None] + 1) // ratio], 1)
        scores = torch.einsum("thd,xd->thx", query, rows) * shape.head_dim**-0.5
        scores = scores.masked_fill(~seen[:, None], -torch.inf)
        sinks = weight(layer.sinks).expand(count, -1)[..., None]
        shares = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        attended = turned(rounded(torch.einsum("thx,xd->thd", shares, rows)), position, -1)
        hidden = hidden + attended.flatten(1) @ weight(layer.output_in) @ weight(layer.output_out)
        gate, up = (norm(hidden) @ weight(layer.gate_up)).chunk(2, 1)
        hidden = hidden + (torch.nn.functional.silu(gate) * up) @ weight(layer.down)
    return hidden


def pool(weights: Any, normed: Tensor, groups: Tensor) -> Tensor:
    """[groups, D]: each group's tokens, and with an overlap the ones before them, weighed channel by channel."""
    ratio, size = weights.ratio, len(weights.norm)
    key, score = normed @ weight(weights.wkv).T, normed @ weight(weights.wgate).T
    score = score + weight(weights.ape)[torch.arange(len(normed)) % ratio]
    made = []
    for group in groups.tolist():
        own = slice(group * ratio, (group + 1) * ratio)
        keys, weighs = [key[own, -size:]], [score[own, -size:]]
        if weights.coff == 2 and group:
            before = slice((group - 1) * ratio, group * ratio)
            keys.append(key[before, :size])
            weighs.append(score[before, :size])
        made.append((torch.cat(weighs).softmax(0) * torch.cat(keys)).sum(0))
    return norm(torch.stack(made)) if made else normed.new_empty(0, size)


def norm(rows: Tensor) -> Tensor:
    """Over the root of the mean square; every gain of the model is 1."""
    return rows / (rows.square().mean(-1, keepdim=True) + EPSILON).sqrt()


def weight(tensor: Tensor) -> Tensor:
    """The values of a weight, wherever it lies."""
    return tensor.cpu().double()


def count_of(tensor: Tensor) -> int:
    return tensor.shape[0]
