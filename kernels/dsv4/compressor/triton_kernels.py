"""The device code of dsv4.compressor in Triton; triton.py launches it."""

from __future__ import annotations

import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]

_UNSPECIALIZED = ("tokens", "batch", "sequence", "per_request", "columns", "state_rows", "block_size")


@triton.jit(do_not_specialize=("tokens",))  # type: ignore[untyped-decorator]
def project(  # type: ignore[no-untyped-def]
    x,
    wkv,
    wgate,
    new,
    tokens,
    hidden,
    width,
    TOKENS: tl.constexpr,
    CHANNELS: tl.constexpr,
    HIDDEN: tl.constexpr,
    WIDEN: tl.constexpr,
):
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    channel = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    at = tl.arange(0, HIDDEN)
    kv = tl.zeros((TOKENS, CHANNELS), tl.float32)
    score = tl.zeros((TOKENS, CHANNELS), tl.float32)
    for begin in range(0, hidden, HIDDEN):
        inside = begin + at < hidden
        row = tl.load(
            x + token[:, None] * hidden + (begin + at)[None, :],
            mask=(token < tokens)[:, None] & inside[None, :],
            other=0.0,
        )
        weight = channel.to(tl.int64)[None, :] * hidden + (begin + at)[:, None]
        real = inside[:, None] & (channel < width)[None, :]
        to_kv = tl.load(wkv + weight, mask=real, other=0.0)
        to_score = tl.load(wgate + weight, mask=real, other=0.0)
        if WIDEN:
            row, to_kv, to_score = row.to(tl.float32), to_kv.to(tl.float32), to_score.to(tl.float32)
        kv = tl.dot(row, to_kv, kv)
        score = tl.dot(row, to_score, score)
    to = new + token[:, None] * (2 * width) + channel[None, :]
    real = (token < tokens)[:, None] & (channel < width)[None, :]
    tl.store(to, kv, mask=real)
    tl.store(to + width, score, mask=real)


# Triton's interpreter multiplies the bit patterns of bfloat16.
INTERPRETED = not isinstance(project, triton.JITFunction)


@triton.jit  # type: ignore[untyped-decorator]
def _chunk_of(  # type: ignore[no-untyped-def]
    request, real, bounds, used, starts, sequence, PADDED: tl.constexpr
):
    """The first token in x, the first position and the number of tokens used of requests."""
    if PADDED:
        first = request * sequence
        capacity = request * 0 + sequence
    else:
        first = tl.load(bounds + request, mask=real, other=0)
        capacity = tl.load(bounds + request + 1, mask=real, other=0) - first
    start = request * 0
    if starts is not None:
        start = tl.load(starts + request, mask=real, other=0)
    if used is not None:
        capacity = tl.load(used + request, mask=real, other=0)
    return first, start, capacity


@triton.jit  # type: ignore[untyped-decorator]
def _place_of(  # type: ignore[no-untyped-def]
    table, request, position, start, asked, columns, state_rows, block_size, HISTORY: tl.constexpr, BLOCKS: tl.constexpr
):
    """The state row of a position, and whether there is one: what lies outside the table or the state has none."""
    column = position // block_size if BLOCKS else HISTORY + position - start
    asked = asked & (column >= 0) & (column < columns)
    row = tl.load(table + request.to(tl.int64) * columns + column, mask=asked, other=0).to(tl.int64)
    if BLOCKS:
        row = row * block_size + position % block_size
    return row, asked & (row >= 0) & (row < state_rows)


@triton.jit(do_not_specialize=_UNSPECIALIZED)  # type: ignore[untyped-decorator]
def compress(  # type: ignore[no-untyped-def]
    new,
    state,
    ape,
    norm_weight,
    rope_sin,
    rope_cos,
    table,
    bounds,
    used,
    starts,
    result,
    batch,
    sequence,
    per_request,
    columns,
    state_rows,
    block_size,
    norm_eps,
    HEAD_DIM: tl.constexpr,
    ROPE: tl.constexpr,
    RATIO: tl.constexpr,
    COFF: tl.constexpr,
    IN_PAIRS: tl.constexpr,
    BLOCKS: tl.constexpr,
    PADDED: tl.constexpr,
    BATCH: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    out = tl.program_id(0)
    everyone = tl.arange(0, BATCH)
    there = everyone < batch
    first, start, count = _chunk_of(everyone, there, bounds, used, starts, sequence, PADDED)
    rows = (start + count) // RATIO - start // RATIO
    if PADDED:
        owner = out // per_request
        ordinal = out % per_request
    else:
        ends = tl.cumsum(rows, 0)
        owner = tl.sum(tl.where(there & (ends <= out), 1, 0))
        ordinal = out - tl.sum(tl.where(everyone < owner, rows, 0))
    mine = everyone == owner
    first = tl.sum(tl.where(mine, first, 0))
    start = tl.sum(tl.where(mine, start, 0))
    produced = ordinal < tl.sum(tl.where(mine, rows, 0))
    group = start // RATIO + ordinal

    channel = tl.arange(0, CHANNELS)
    real = channel < HEAD_DIM
    rotated = real & (channel >= HEAD_DIM - ROPE)
    turn = channel - (HEAD_DIM - ROPE)
    if IN_PAIRS:
        lower = turn % 2 == 0
        partner = tl.where(lower, channel + 1, channel - 1)
    else:
        lower = turn < ROPE // 2
        partner = tl.where(lower, channel + ROPE // 2, channel - ROPE // 2)

    WIDTH: tl.constexpr = COFF * HEAD_DIM
    top = tl.full((CHANNELS,), -float("inf"), tl.float32)
    mass = tl.zeros((CHANNELS,), tl.float32)
    kept = tl.zeros((CHANNELS,), tl.float32)
    # The partner's softmax once more: a channel is turned by one that another thread holds.
    other_top = tl.full((CHANNELS,), -float("inf"), tl.float32)
    other_mass = tl.zeros((CHANNELS,), tl.float32)
    other_kept = tl.zeros((CHANNELS,), tl.float32)
    for candidate in range(COFF * RATIO):
        position = (group - (COFF - 1)) * RATIO + candidate
        role = tl.where(candidate < (COFF - 1) * RATIO, 0, (COFF - 1) * HEAD_DIM)
        live = produced & (position >= 0)
        here = live & (position >= start)
        row, stored = _place_of(
            table,
            owner,
            position,
            start,
            live & (position < start),
            columns,
            state_rows,
            block_size,
            COFF * RATIO,
            BLOCKS,
        )
        token = (first + position - start).to(tl.int64)
        bias = ape + (candidate % RATIO) * WIDTH + role
        fresh, old = new + token * (2 * WIDTH) + role, state + row * (2 * WIDTH) + role
        kv, score = _candidate(fresh, old, bias, channel, here, stored, real, WIDTH)
        top, mass, kept = _weigh(top, mass, kept, kv, score)
        if ROPE > 0:
            kv, score = _candidate(fresh, old, bias, partner, here, stored, rotated, WIDTH)
            other_top, other_mass, other_kept = _weigh(other_top, other_mass, other_kept, kv, score)
    compressed = kept / tl.where(mass == 0.0, 1.0, mass)
    norm = tl.where(produced, tl.sqrt(tl.sum(compressed * compressed) / HEAD_DIM + norm_eps), 1.0)
    compressed = tl.load(norm_weight + channel, mask=real, other=0.0) * compressed / norm
    if ROPE > 0:
        other = (
            tl.load(norm_weight + partner, mask=rotated, other=0.0)
            * other_kept
            / tl.where(other_mass == 0.0, 1.0, other_mass)
            / norm
        )
        at = out.to(tl.int64) * ROPE + turn
        sin = tl.load(rope_sin + at, mask=rotated, other=0.0)
        cos = tl.load(rope_cos + at, mask=rotated, other=0.0)
        turned = compressed * cos + tl.where(lower, -other, other) * sin
        compressed = tl.where(rotated, turned, compressed)
    compressed = tl.where(produced, compressed, 0.0)
    tl.store(result + out.to(tl.int64) * HEAD_DIM + channel, compressed.to(result.dtype.element_ty), mask=real)


@triton.jit  # type: ignore[untyped-decorator]
def _candidate(  # type: ignore[no-untyped-def]
    fresh, old, bias, channel, here, stored, real, WIDTH: tl.constexpr
):
    """kv and score of one position: of this chunk, of the state, or of nobody."""
    # A scalar condition as a bound of the channels: Triton's interpreter widens a mask that a scalar is combined with.
    now, then = real & (channel < tl.where(here, WIDTH, 0)), real & (channel < tl.where(stored, WIDTH, 0))
    kv = tl.load(fresh + channel, mask=now, other=0.0) + tl.load(old + channel, mask=then, other=0.0)
    score = tl.load(fresh + WIDTH + channel, mask=now, other=0.0) + tl.load(bias + channel, mask=now, other=0.0)
    before = tl.load(old + WIDTH + channel, mask=then, other=-float("inf"))
    return kv, tl.where(now, score, before)


@triton.jit
def _weigh(top, mass, kept, kv, score):  # type: ignore[no-untyped-def]
    """One more candidate of a softmax that runs along; -inf before the first finite score weighs nothing."""
    highest = tl.maximum(top, score)
    base = tl.where(highest == -float("inf"), 0.0, highest)
    fade, weight = tl.exp(top - base), tl.exp(score - base)
    return highest, mass * fade + weight, kept * fade + weight * kv


@triton.jit(do_not_specialize=_UNSPECIALIZED)  # type: ignore[untyped-decorator]
def keep(  # type: ignore[no-untyped-def]
    new,
    state,
    ape,
    table,
    bounds,
    used,
    starts,
    last,
    batch,
    sequence,
    columns,
    state_rows,
    block_size,
    WIDTH: tl.constexpr,
    RATIO: tl.constexpr,
    COFF: tl.constexpr,
    BLOCKS: tl.constexpr,
    PADDED: tl.constexpr,
    CLAIM: tl.constexpr,
    BATCH: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    token = tl.program_id(0)
    if PADDED:
        request = token // sequence
    else:
        everyone = tl.arange(0, BATCH)
        ends = tl.load(bounds + 1 + everyone, mask=everyone < batch, other=0)
        request = tl.sum(tl.where((everyone < batch) & (ends <= token), 1, 0))
    first, start, count = _chunk_of(request, request < batch, bounds, used, starts, sequence, PADDED)
    position = start + token - first
    kept = (request < batch) & (position < start + count)
    if not BLOCKS:
        kept = kept & (position >= ((start + count) // RATIO - (COFF - 1)) * RATIO)
    row, kept = _place_of(table, request, position, start, kept, columns, state_rows, block_size, COFF * RATIO, BLOCKS)
    if BLOCKS:
        kept = kept & (row >= block_size)
    if CLAIM:
        tl.atomic_max(last + row, token, mask=kept)
    else:
        kept = kept & (tl.load(last + row, mask=kept, other=-1) == token)
        channel = tl.arange(0, CHANNELS)
        real = channel < tl.where(kept, WIDTH, 0)
        fresh, to = new + token.to(tl.int64) * (2 * WIDTH) + channel, state + row * (2 * WIDTH) + channel
        score = tl.load(fresh + WIDTH, mask=real, other=0.0)
        score += tl.load(ape + (position % RATIO) * WIDTH + channel, mask=real, other=0.0)
        tl.store(to, tl.load(fresh, mask=real, other=0.0), mask=real)
        tl.store(to + WIDTH, score, mask=real)
