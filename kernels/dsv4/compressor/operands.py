"""What the operands of dsv4.compressor must be, the same for every implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor

from confbag.kernels.checks.operands import (
    described,
    require_contiguous,
    require_int,
    require_number,
    require_tensor,
    require_writable,
)
from confbag.kernels.dsv4.compressor.rows import packed_rows, padded_rows

RATIOS: Final = (2, 4, 8, 16, 32, 64, 128)
HALVES, PAIRS = 1, 2
CONTINUOUS, EXPLICIT = 1, 2
MODEL: Final = (torch.bfloat16, torch.float16)
FLOAT32: Final = (torch.float32,)
INT32: Final = (torch.int32,)


@dataclass(frozen=True)
class Sizes:
    """What the shapes of one call say. sequence: S of BSH, None for TH. rows: of the result, all requests together."""

    batch: int
    tokens: int
    sequence: int | None
    head_dim: int
    rows: int
    block_num: int
    block_size: int

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of cmp_kv."""
        if self.sequence is None:
            return (self.rows, self.head_dim)
        return (self.batch, self.rows // max(self.batch, 1), self.head_dim)

    @property
    def empty(self) -> bool:
        """Whether there is no token, so that nothing is produced or written."""
        return self.tokens == 0


class Operands(NamedTuple):
    """One call, in the contract's order."""

    x: Tensor
    wkv: Tensor
    wgate: Tensor
    state_cache: Tensor
    ape: Tensor
    norm_weight: Tensor
    rope_sin: Tensor
    rope_cos: Tensor
    state_block_table: Tensor | None
    cu_seqlens: Tensor | None
    seqused: Tensor | None
    start_pos: Tensor | None
    rope_head_dim: int
    cmp_ratio: int
    coff: int
    norm_eps: float
    rotary_mode: int
    cache_mode: int
    state_cache_stride_dim0: int


def check(given: Operands, cycle: bool = False) -> Sizes:
    """Refuse what the contract does not allow, values apart; the sizes of what is right.

    cycle: cache_mode 2 is CYCLE, with a table of one block for each request.
    """
    _check_numbers(given)
    batch, sequence, tokens, hidden = _check_x(given.x, given.cu_seqlens)
    device = given.x.device
    require_tensor("norm_weight", given.norm_weight, FLOAT32, (None,), device)
    head_dim = given.norm_weight.shape[0]
    width = given.coff * head_dim
    if given.rope_head_dim > head_dim:
        raise ValueError(
            f"rope_head_dim: expected at most {head_dim}, the length of norm_weight, found {given.rope_head_dim}"
        )
    require_tensor("wkv", given.wkv, (given.x.dtype,), (width, hidden), device)
    require_tensor("wgate", given.wgate, (given.x.dtype,), (width, hidden), device)
    require_tensor("state_cache", given.state_cache, FLOAT32, (None, None, 2 * width), device)
    require_tensor("ape", given.ape, FLOAT32, (given.cmp_ratio, width), device)
    for name, tensor in (("norm_weight", given.norm_weight), ("wkv", given.wkv), ("state_cache", given.state_cache)):
        if tensor.numel() == 0:
            raise ValueError(f"{name}: expected a tensor that is not empty, found shape {list(tensor.shape)}")
    require_contiguous("state_cache", given.state_cache)
    require_writable("state_cache", given.state_cache)
    block_num, block_size, _ = given.state_cache.shape
    if given.state_cache_stride_dim0 not in (0, block_size * 2 * width):
        raise ValueError(
            f"state_cache_stride_dim0: expected 0 or {block_size * 2 * width}, the elements of a block of state_cache, "
            f"found {given.state_cache_stride_dim0}"
        )

    per_request = padded_rows(sequence or 0, given.cmp_ratio)
    rows = packed_rows(tokens, batch, given.cmp_ratio) if sequence is None else batch * per_request
    for name, tensor in (("rope_sin", given.rope_sin), ("rope_cos", given.rope_cos)):
        if sequence is not None:
            require_tensor(name, tensor, FLOAT32, (batch, per_request, given.rope_head_dim), device)
        elif rows == 0 and isinstance(tensor, Tensor) and tensor.shape == (1, given.rope_head_dim):
            require_tensor(name, tensor, FLOAT32, (1, given.rope_head_dim), device)
        else:
            require_tensor(name, tensor, FLOAT32, (rows, given.rope_head_dim), device)

    ring = cycle and given.cache_mode == EXPLICIT
    require_tensor("state_block_table", given.state_block_table, INT32, (batch,) if ring else (batch, None), device)
    assert given.state_block_table is not None
    if not ring and batch and tokens:
        _check_width(given.state_block_table.shape[1], given.cmp_ratio, given.coff, given.cache_mode)
    for name, optional in (("seqused", given.seqused), ("start_pos", given.start_pos)):
        if optional is not None:
            require_tensor(name, optional, INT32, (batch,), device)
    return Sizes(batch, tokens, sequence, head_dim, rows, block_num, block_size)


def _check_x(x: Tensor, cu_seqlens: Tensor | None) -> tuple[int, int | None, int, int]:
    """batch, sequence, tokens and hidden size."""
    dimensions = x.dim() if isinstance(x, Tensor) else 2
    require_tensor("x", x, MODEL, (None,) * dimensions)
    if dimensions not in (2, 3):
        raise ValueError(f"x: expected shape [T, H] or [B, S, H], found {list(x.shape)}")
    if dimensions == 3:
        if cu_seqlens is not None:
            raise ValueError(f"cu_seqlens: expected None with x of shape [B, S, H], found {described(cu_seqlens)}")
        batch, sequence, hidden = x.shape
        return batch, sequence, batch * sequence, hidden
    if cu_seqlens is None:
        raise ValueError("cu_seqlens: expected a tensor of int32, which x of shape [T, H] needs, found None")
    require_tensor("cu_seqlens", cu_seqlens, INT32, (None,), x.device)
    tokens, hidden = x.shape
    batch = cu_seqlens.shape[0] - 1
    if batch < 0 or (batch == 0 and tokens):
        least = 2 if tokens else 1
        raise ValueError(
            f"cu_seqlens: expected at least {least} element(s) for the {tokens} tokens of x, found {batch + 1}"
        )
    return batch, None, tokens, hidden


def _check_width(width: int, cmp_ratio: int, coff: int, cache_mode: int) -> None:
    least = coff * cmp_ratio + 1 if cache_mode == EXPLICIT else 1
    if width < least:
        said = " (coff * cmp_ratio + 1)" if cache_mode == EXPLICIT else ""
        raise ValueError(f"state_block_table: expected at least {least} column(s){said}, found {width}")


def _check_numbers(given: Operands) -> None:
    for name, known in (
        ("cmp_ratio", RATIOS),
        ("coff", (1, 2)),
        ("rotary_mode", (HALVES, PAIRS)),
        ("cache_mode", (CONTINUOUS, EXPLICIT)),
    ):
        value = getattr(given, name)
        require_int(name, value)
        if value not in known:
            raise ValueError(f"{name}: expected {_either(known)}, found {value}")
    require_int("rope_head_dim", given.rope_head_dim)
    if given.rope_head_dim < 0 or given.rope_head_dim % 2:
        raise ValueError(f"rope_head_dim: expected an even number, not below 0, found {given.rope_head_dim}")
    require_int("state_cache_stride_dim0", given.state_cache_stride_dim0)
    require_number("norm_eps", given.norm_eps)


def _either(known: tuple[int, ...]) -> str:
    *most, last = map(str, known)
    return f"{', '.join(most)} or {last}"
