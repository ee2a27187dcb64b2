"""What shows only in the values of dsv4.sparse_attention's operands; reading it waits for the device."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from confbag.kernels.dsv4.sparse_attention.operands import TND, Operands
from confbag.kernels.dsv4.sparse_attention.seen import Seen, Tokens, compressed, entries_used, original, tokens


def check_values(given: Operands, strict: bool) -> None:
    """Refuse lengths that contradict each other, and what is needed but out of range.

    strict: refuse a negative entry among those of cmp_sparse_indices that count, too.
    """
    assert given.seqused_kv is not None
    _check_lengths(given)
    every = tokens(given)
    _check_seen("ori", given, every, original(given, every))
    if given.cmp_kv is None:
        return
    if given.cmp_sparse_indices is not None:
        entries, used = entries_used(given, every)
        visible = (every.position + 1).clamp(min=0) // given.cmp_ratio
        wrong = used & ((entries >= visible[:, None]) | ((entries < 0) & strict))
        if bool(wrong.any()):
            token, place = _first(wrong)
            expected = f"one of the {int(visible[token])} compressed tokens before it, or -1 after all of them"
            raise ValueError(
                f"cmp_sparse_indices[{token}, {place}]: expected {expected}, found {int(entries[token, place])}"
            )
    _check_seen("cmp", given, every, compressed(given, every))


def _check_lengths(given: Operands) -> None:
    assert given.seqused_kv is not None
    _check_range("seqused_kv", given.seqused_kv, None)
    if given.seqused_q is not None:
        _check_range("seqused_q", given.seqused_q, given.q.shape[1])
    if given.layout_q == TND:
        assert given.cu_seqlens_q is not None
        starts = given.cu_seqlens_q.tolist()
        if starts[0] != 0:
            raise ValueError(f"cu_seqlens_q[0]: expected 0, found {starts[0]}")
        for row, (start, stop) in enumerate(pairwise(starts), 1):
            if stop < start:
                raise ValueError(f"cu_seqlens_q[{row}]: expected at least the {start} before it, found {stop}")
        if starts[-1] > given.q.shape[0]:
            raise ValueError(
                f"cu_seqlens_q[{len(starts) - 1}]: expected at most the {given.q.shape[0]} tokens of q, "
                f"found {starts[-1]}"
            )


def _check_range(name: str, lengths: Tensor, highest: int | None) -> None:
    wrong = lengths < 0 if highest is None else (lengths < 0) | (lengths > highest)
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0])
        expected = "at least 0" if highest is None else f"between 0 and {highest}, the rows of q"
        raise ValueError(f"{name}[{row}]: expected {expected}, found {int(lengths[row])}")


def _check_seen(which: str, given: Operands, every: Tokens, found: Seen) -> None:
    if not bool(found.outside.any()):
        return
    token, place = _first(found.outside)
    cache = given.ori_kv if which == "ori" else given.cmp_kv
    table = given.ori_block_table if which == "ori" else given.cmp_block_table
    assert cache is not None
    assert table is not None
    if which == "ori" and given.ori_sparse_indices is not None and given.cmp_sparse_indices is None:
        slot, slots = int(given.ori_sparse_indices[token, 0, place]), cache.shape[0] * cache.shape[1]
        raise IndexError(f"ori_sparse_indices[{token}, {place}]: expected a slot below {slots}, found {slot}")
    request = int(every.request[token])
    position = _position(which, given, every, token, place)
    column = position // cache.shape[1]
    if column >= table.shape[1]:
        raise IndexError(
            f"{which}_block_table[{request}]: expected an entry {column}, which token {token} of q needs, "
            f"found {table.shape[1]} entries"
        )
    raise IndexError(
        f"{which}_block_table[{request}, {column}]: expected a page in [0, {cache.shape[0]}), "
        f"found {int(table[request, column])}"
    )


def _position(which: str, given: Operands, every: Tokens, token: int, place: int) -> int:
    if which == "ori":
        return max(int(every.position[token]) - given.ori_win_left, 0) + place
    if given.cmp_sparse_indices is None:
        return place
    return int(given.cmp_sparse_indices.flatten(0, -2)[token, place])


def _first(wrong: Tensor) -> tuple[int, int]:
    token, place = torch.nonzero(wrong)[0].tolist()
    return token, place
