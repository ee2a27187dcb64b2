"""Query starts and KV lengths of one forward pass, computed on the CPU from what the scheduler knows there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import torch
from torch import Tensor

from confbag.kernels.checks.operands import INT32_MAX, require_tensor

Source: TypeAlias = "Sequence[int] | Tensor"
"""Numbers that are on the host: a list, or a CPU tensor of int32 or int64."""


class Mode(str, Enum):
    """What a forward pass does. draft_extend: the draft model over the tokens that the target just verified."""

    PREFILL = "prefill"
    DECODE = "decode"
    TARGET_VERIFY = "target_verify"
    DRAFT_EXTEND = "draft_extend"
    IDLE = "idle"

    @property
    def blocks(self) -> bool:
        """Whether every request has the same number of query tokens, a block of a draft."""
        return self in (Mode.TARGET_VERIFY, Mode.DRAFT_EXTEND)


@dataclass(frozen=True, slots=True)
class Batch:
    """One forward pass as the scheduler knows it: numbers on the host, never a tensor of the device.

    mode: what the pass does.
    seq_lens: KV tokens of each request as the engine counts them, see the other fields; empty when idle.
    query_lens: of prefill, the new tokens of each request.
    tokens: of target_verify and draft_extend, the query tokens of every request.
    expanded: of target_verify, seq_lens hold the drafted tokens already; else `tokens` are added.
    step: of decode by a draft model, its speculative step; step + 1 is added.
    """

    mode: Mode
    seq_lens: Source = ()
    query_lens: Source | None = None
    tokens: int = 1
    expanded: bool = False
    step: int | None = None


def on_host(name: str, source: Source, growth: int = 0) -> Tensor:
    """The numbers and `growth` more as int32 [n] on the CPU, a tensor of its own.

    ValueError for a tensor of a device, since reading it would wait, for negative numbers, and for sums past int32.
    """
    if isinstance(source, Tensor):
        if source.device.type != "cpu":
            raise ValueError(
                f"{name}: expected numbers on the CPU, found a tensor on {source.device}; pass what the scheduler "
                "keeps on the host, for reading this one would wait for the device"
            )
        require_tensor(name, source, (torch.int32, torch.int64), (None,))
        found = source
    else:
        found = _listed(name, source)
    if found.numel():
        least, most = (int(bound) for bound in found.aminmax())
        if least < 0 or most + growth > INT32_MAX:
            row = next(row for row, value in enumerate(found.tolist()) if not 0 <= value <= INT32_MAX - growth)
            more = f" before this pass adds {growth}" if growth else ""
            raise ValueError(f"{name}[{row}]: expected from 0 to {INT32_MAX - growth}{more}, found {int(found[row])}")
    return (found + growth).int() if growth else found.to(torch.int32, copy=True)


def query_starts(batch: Batch, requests: int) -> Tensor | None:
    """int32 [requests + 1], the first query token of each request and their number last; None when idle."""
    if batch.mode is Mode.IDLE:
        return None
    if batch.mode is Mode.PREFILL:
        if batch.query_lens is None:
            raise TypeError("query_lens: expected the new tokens of each request, found None")
        lengths = on_host("query_lens", batch.query_lens)
        if lengths.shape[0] != requests:
            raise ValueError(
                f"query_lens: expected [{requests}], one for each of seq_lens, found {list(lengths.shape)}"
            )
        starts = torch.zeros(requests + 1, dtype=torch.int64)
        torch.cumsum(lengths, 0, out=starts[1:])
        # The last sum is the largest. int32 would wrap.
        if int(starts[-1]) > INT32_MAX:
            raise ValueError(f"query_lens: expected at most {INT32_MAX} tokens in all, found {int(starts[-1])}")
        return starts.int()
    return block_starts(requests, block(batch))


def block(batch: Batch) -> int:
    """Query tokens of every request where all have as many."""
    if not batch.mode.blocks:
        return 1
    if type(batch.tokens) is not int:
        raise TypeError(f"tokens: expected an int, found {batch.tokens!r}")
    if batch.tokens < 1:
        raise ValueError(f"tokens: expected at least 1 query token for each request, found {batch.tokens}")
    return batch.tokens


def block_starts(requests: int, tokens: int) -> Tensor:
    """int32 [requests + 1]: 0, tokens, 2 * tokens ...; [0] for no requests."""
    if requests * tokens > INT32_MAX:
        raise ValueError(
            f"cu_seqlens_q[{requests}]: expected at most {INT32_MAX}, found {requests} requests of {tokens} tokens"
        )
    return torch.arange(0, requests * tokens + 1, tokens, dtype=torch.int32)


def kv_lengths(batch: Batch) -> Tensor:
    """int32 [requests]: the KV tokens that each request attends to, its queries included."""
    lengths = on_host("seq_lens", batch.seq_lens, growth(batch))
    if batch.mode is Mode.IDLE and lengths.numel():
        raise ValueError(f"seq_lens: expected none in an idle pass, found {list(lengths.shape)}")
    return lengths


def growth(batch: Batch) -> int:
    """Tokens that this pass adds to every request and that its seq_lens do not hold yet."""
    if batch.mode is Mode.TARGET_VERIFY and not batch.expanded:
        return block(batch)
    if batch.mode is Mode.DECODE and batch.step is not None:
        if type(batch.step) is not int:
            raise TypeError(f"step: expected an int or None, found {batch.step!r}")
        if batch.step < 0:
            raise ValueError(f"step: expected a speculative step from 0, found {batch.step}")
        return batch.step + 1
    return 0


def _listed(name: str, source: Sequence[int]) -> Tensor:
    try:
        found = torch.tensor(list(source))
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{name}: expected whole numbers up to {INT32_MAX}, found {source!r}") from error
    if found.dim() != 1:
        raise ValueError(f"{name}: expected 1 dimension(s), found shape {list(found.shape)}")
    if found.numel() == 0:
        return found.long()
    if found.dtype is not torch.int64:
        raise TypeError(f"{name}: expected whole numbers, found {source!r}")
    return found
