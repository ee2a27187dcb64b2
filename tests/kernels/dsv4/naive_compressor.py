"""dsv4.compressor once more, from its formulas alone: Python loops over float64, nothing shared with the reference."""

from __future__ import annotations

import itertools
import math

import numpy as np


def location(call, request, position):
    """The flat state row of a position of a request."""
    table = call["state_block_table"]
    size = call["state_cache"].shape[1]
    if call["cache_mode"] == 1:
        return int(table[request][position // size]) * size + position % size
    return int(table[request][call["coff"] * call["cmp_ratio"] + position - start_of(call, request)])


def start_of(call, request):
    return 0 if call["start_pos"] is None else int(call["start_pos"][request])


def requests_of(call):
    """(first token, capacity) of every request, with x flattened to tokens."""
    x = call["x"]
    if x.ndim == 3:
        return [(request * x.shape[1], x.shape[1]) for request in range(x.shape[0])]
    bounds = [int(value) for value in call["cu_seqlens"]]
    return [(begin, end - begin) for begin, end in itertools.pairwise(bounds)]


def naive_compressor(call):
    """The result (nan where nobody produces), and the state afterwards. call: every argument, as float64 arrays."""
    ratio, coff = call["cmp_ratio"], call["coff"]
    x = call["x"]
    tokens = x.reshape(-1, x.shape[-1])
    head_dim = len(call["norm_weight"])
    width = coff * head_dim
    old = call["state_cache"].reshape(-1, 2 * width)
    after = old.copy()
    requests = requests_of(call)
    padded = x.ndim == 3
    per_request = math.ceil(x.shape[1] / ratio) if padded else None
    rows = len(requests) * per_request if padded else min(len(tokens), len(tokens) // ratio + len(requests))
    result = np.full((rows, head_dim), np.nan)
    sin, cos = (call[name].reshape(rows, call["rope_head_dim"]) for name in ("rope_sin", "rope_cos"))
    produced = 0
    for request, (base, capacity) in enumerate(requests):
        start = start_of(call, request)
        used = capacity if call["seqused"] is None else int(call["seqused"][request])
        end = start + used

        def row(position, request=request, base=base, start=start):
            if position < start:
                return old[location(call, request, position)]
            token = tokens[base + position - start]
            kv = call["wkv"] @ token
            return np.concatenate([kv, call["wgate"] @ token + call["ape"][position % ratio]])

        for ordinal, group in enumerate(range(start // ratio, end // ratio)):
            candidates = []
            if coff == 2:
                for position in range((group - 1) * ratio, group * ratio):
                    if position < 0:
                        candidates.append((np.zeros(head_dim), np.full(head_dim, -np.inf)))
                    else:
                        whole = row(position)
                        candidates.append((whole[:head_dim], whole[width : width + head_dim]))
            for position in range(group * ratio, group * ratio + ratio):
                whole = row(position)
                candidates.append((whole[width - head_dim : width], whole[2 * width - head_dim :]))
            out = request * per_request + ordinal if padded else produced
            result[out] = one_row(call, candidates, sin[out], cos[out])
            produced += 1
        for position in range(start, end):
            if call["cache_mode"] == 1:
                block = int(call["state_block_table"][request][position // call["state_cache"].shape[1]])
                keep = block != 0
            else:
                keep = position >= max(start, (end // ratio) * ratio - (coff - 1) * ratio)
            if keep:
                after[location(call, request, position)] = row(position)
    shape = (len(requests), per_request, head_dim) if padded else (rows, head_dim)
    return result.reshape(shape), after.reshape(call["state_cache"].shape)


def one_row(call, candidates, sin, cos):
    head_dim, rope = len(call["norm_weight"]), call["rope_head_dim"]
    compressed = np.zeros(head_dim)
    for channel in range(head_dim):
        scores = [score[channel] for _, score in candidates]
        top = max(scores)
        weights = [math.exp(score - top) for score in scores]
        kept = (weight * kv[channel] for weight, (kv, _) in zip(weights, candidates, strict=True))
        compressed[channel] = sum(kept) / sum(weights)
    compressed = call["norm_weight"] * compressed / math.sqrt(np.mean(compressed**2) + call["norm_eps"])
    y = compressed[head_dim - rope :].copy()
    for channel in range(rope):
        if call["rotary_mode"] == 2:
            partner = -y[channel + 1] if channel % 2 == 0 else y[channel - 1]
        else:
            half = rope // 2
            partner = -y[channel + half] if channel < half else y[channel - half]
        compressed[head_dim - rope + channel] = y[channel] * cos[channel] + partner * sin[channel]
    return compressed
