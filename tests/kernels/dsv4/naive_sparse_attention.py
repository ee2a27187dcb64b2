"""dsv4.sparse_attention by its formulas, one head of one token at a time in plain Python floats; and random calls.

Shares nothing with the package: the formulas are written out once more, from the description of the op.
"""

import math
import random

import torch

INT32 = torch.int32


def by_the_formulas(call):
    """out of one call, as float64 in the shape of q; rows that belong to no request are zero."""
    q = call["q"]
    out = torch.zeros(q.shape, dtype=torch.float64)
    for index, request, place, count in places(call):
        out[index] = _token(call, index, request, place, count)
    return out


def places(call):
    """Every query token that belongs to a request: its index into q, its request, its place in it and their number."""
    q = call["q"]
    if call["layout_q"] == "TND":
        starts = call["cu_seqlens_q"].tolist()
        for request in range(len(starts) - 1):
            count = starts[request + 1] - starts[request]
            for place in range(count):
                yield starts[request] + place, request, place, count
    else:
        for request in range(q.shape[0]):
            count = q.shape[1] if call.get("seqused_q") is None else int(call["seqused_q"][request])
            for place in range(count):
                yield (request, place), request, place, count


def _token(call, index, request, place, count):
    length = int(call["seqused_kv"][request])
    position = length - count + place
    rows = _original(call, index, request, position, length) + _compressed(call, index, request, position)
    out = []
    for head, query in enumerate(call["q"][index].tolist()):
        scores = [call["softmax_scale"] * sum(a * b for a, b in zip(query, row, strict=True)) for row in rows]
        sink = -math.inf if call.get("sinks") is None else float(call["sinks"][head])
        if not rows:
            out.append([0.0] * len(query))
            continue
        highest = max([sink, *scores])
        weights = [math.exp(score - highest) for score in scores]
        total = sum(weights) + math.exp(sink - highest)
        out.append([sum(w * row[d] for w, row in zip(weights, rows, strict=True)) / total for d in range(len(query))])
    return torch.tensor(out, dtype=torch.float64)


def _original(call, index, request, position, length):
    cache = call["ori_kv"]
    page = cache.shape[1]
    indices = call.get("ori_sparse_indices")
    rows = []
    if indices is not None and call.get("cmp_sparse_indices") is None:
        for entry in indices[index][0].tolist()[:length]:
            if entry < 0:
                break
            rows.append(cache[entry // page, entry % page, 0].tolist())
        return rows
    for x in range(length):
        if position - call["ori_win_left"] <= x <= position + call["ori_win_right"]:
            rows.append(cache[int(call["ori_block_table"][request, x // page]), x % page, 0].tolist())
    return rows


def _compressed(call, index, request, position):
    cache = call.get("cmp_kv")
    if cache is None or position < 0:
        return []
    page = cache.shape[1]
    visible = (position + 1) // call["cmp_ratio"]
    indices = call.get("cmp_sparse_indices")
    entries = list(range(visible)) if indices is None else indices[index][0].tolist()[:visible]
    return [cache[int(call["cmp_block_table"][request, x // page]), x % page, 0].tolist() for x in entries]


def random_call(seed):
    """Keyword arguments that the contract allows, decided by the seed. What may not be read is nan or out of range."""
    pick = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    dtype = pick.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16])
    layout, mode = pick.choice(["TND", "BSND"]), pick.choice(["SWA", "CFA", "SCFA"])
    requests, heads, size = pick.randint(1, 4), pick.randint(1, 3), pick.choice([1, 4, 8])
    lengths = [pick.choice([0, 1, pick.randint(1, 12), pick.randint(10, 40)]) for _ in range(requests)]
    counts = [pick.choice([0, 1, pick.randint(0, 5), length, length + pick.randint(0, 2)]) for length in lengths]
    counts[pick.randrange(requests)] += 1
    call = {
        "softmax_scale": pick.choice([0, 0.1, 0.5, 1.0]),
        "ori_win_left": pick.choice([0, 1, pick.randint(2, 10), 127, 2**32 - 1]),
        "ori_win_right": pick.choice([0, 0, pick.randint(1, 4)]),
        "layout_q": layout,
        "seqused_kv": torch.tensor(lengths, dtype=INT32),
        "metadata": torch.zeros(1024, dtype=INT32),
        "sinks": pick.choice([None, torch.randn(heads, generator=generator), torch.full((heads,), -1e4)]),
    }
    if layout == "TND":
        padding = pick.choice([0, 0, pick.randint(1, 3)])
        call["q"] = _normal(generator, dtype, sum(counts) + padding, heads, size)
        call["cu_seqlens_q"] = torch.tensor([sum(counts[:row]) for row in range(requests + 1)], dtype=INT32)
    else:
        widest = max(counts)
        call["q"] = _normal(generator, dtype, requests, widest, heads, size)
        if pick.random() < 0.5:
            call["seqused_q"] = torch.tensor(counts, dtype=INT32)
        else:
            counts = [widest] * requests
    _add_original(call, pick, generator, lengths, counts, dtype, size)
    if mode != "SWA":
        _add_compressed(call, pick, generator, lengths, dtype, size, sparse=mode == "SCFA")
    if layout == "TND" and mode != "SCFA" and pick.random() < 0.3:
        _add_slots(call, pick)
    return call


def _normal(generator, dtype, *shape):
    return torch.randn(shape, generator=generator).to(dtype)


def _add_original(call, pick, generator, lengths, counts, dtype, size):
    page = pick.choice([1, 3, 4, 16])
    cache, table = _paged(pick, generator, lengths, page, dtype, size)
    # Pages wholly left of every window are free already; so are those past the last token.
    for request, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        first = max(length - count - call["ori_win_left"], 0)
        table[request, : (first // page if count else None)] = pick.choice([-1, 10**6])
    call["ori_kv"], call["ori_block_table"] = cache, table


def _add_compressed(call, pick, generator, lengths, dtype, size, sparse):
    ratio = pick.choice([1, 2, 4, 128])
    call["cmp_ratio"] = ratio
    compressed = [length // ratio for length in lengths]
    call["cmp_kv"], call["cmp_block_table"] = _paged(
        pick, generator, compressed, pick.choice([1, 2, 5, 16]), dtype, size
    )
    if not sparse:
        return
    width = pick.choice([1, 3, 8, 50])
    indices = torch.full((*call["q"].shape[:-2], 1, width), -1, dtype=INT32)
    for index, request, place, count in places(call):
        visible = max(0, (int(call["seqused_kv"][request]) - count + place + 1) // ratio)
        chosen = pick.sample(range(visible), min(visible, width))
        chosen += pick.choices([-1, visible, 10**6], k=width - len(chosen))
        indices[index][0] = torch.tensor(chosen, dtype=INT32)
    call["cmp_sparse_indices"] = indices
    if call["layout_q"] == "TND" and pick.random() < 0.3:
        call["ori_sparse_indices"] = torch.zeros(call["q"].shape[0], 1, 4, dtype=INT32)


def _add_slots(call, pick):
    cache, width = call["ori_kv"], pick.choice([1, 4, 12])
    finite = [slot for slot, row in enumerate(cache.flatten(0, 2)) if not bool(row.isnan().any())]
    indices = torch.full((call["q"].shape[0], 1, width), -1, dtype=INT32)
    for row in indices:
        used = pick.randint(0, width) if finite else 0
        row[0, :used] = torch.tensor(pick.choices(finite or [0], k=used), dtype=INT32)
        if used + 1 < width:
            row[0, used + 1 :] = 10**6
    call["ori_sparse_indices"] = indices
    call["ori_block_table"].fill_(-1)


def _paged(pick, generator, lengths, page, dtype, size):
    """A cache whose requests' pages lie in any order, nan wherever nobody's token lies, and its block table."""
    needed = [-(-length // page) for length in lengths]
    pages = sum(needed) + pick.randint(1, 2)
    ids = pick.sample(range(pages), pages)
    cache = torch.full((pages, page, 1, size), math.nan, dtype=dtype)
    table = torch.full((len(lengths), max(needed) + pick.randint(0, 2) or 1), -1, dtype=INT32)
    for request, length in enumerate(lengths):
        own = [ids.pop() for _ in range(needed[request])]
        table[request, : len(own)] = torch.tensor(own, dtype=INT32)
        for position in range(length):
            cache[own[position // page], position % page, 0] = _normal(generator, dtype, size)
    return cache, table
