"""What the operands of dsv4.compressor must be, the same for every implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from confbag.kernels.dsv4.compressor.rows import packed_rows, padded_rows
from confbag.kernels.dsv4.compressor.values import check_values
from confbag.kernels.operands import require_contiguous, require_tensor

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


def check(
    x: Tensor,
    wkv: Tensor,
    wgate: Tensor,
    state_cache: Tensor,
    ape: Tensor,
    norm_weight: Tensor,
    rope_sin: Tensor,
    rope_cos: Tensor,
    state_block_table: Tensor | None,
    cu_seqlens: Tensor | None,
    seqused: Tensor | None,
    start_pos: Tensor | None,
    rope_head_dim: int,
    cmp_ratio: int,
    coff: int,
    norm_eps: float,
    rotary_mode: int,
    cache_mode: int,
    state_cache_stride_dim0: int,
    values_too: Callable[[Tensor], bool],
    cycle: bool = False,
) -> Sizes:
    """Refuse what the contract does not allow, by values too if `values_too` says so of x; the sizes of what is right.

    cycle: cache_mode 2 is CYCLE, with a table of one block for each request.
    """
    _check_numbers(rope_head_dim, cmp_ratio, coff, norm_eps, rotary_mode, cache_mode, state_cache_stride_dim0)
    batch, sequence, tokens, hidden = _check_x(x, cu_seqlens)
    device = x.device
    require_tensor("norm_weight", norm_weight, FLOAT32, (None,), device)
    head_dim = norm_weight.shape[0]
    width = coff * head_dim
    if rope_head_dim > head_dim:
        raise ValueError(
            f"rope_head_dim: expected at most {head_dim}, the length of norm_weight, found {rope_head_dim}"
        )
    require_tensor("wkv", wkv, (x.dtype,), (width, hidden), device)
    require_tensor("wgate", wgate, (x.dtype,), (width, hidden), device)
    require_tensor("state_cache", state_cache, FLOAT32, (None, None, 2 * width), device)
    require_tensor("ape", ape, FLOAT32, (cmp_ratio, width), device)
    for name, tensor in (("norm_weight", norm_weight), ("wkv", wkv), ("state_cache", state_cache)):
        if tensor.numel() == 0:
            raise ValueError(f"{name}: expected a tensor that is not empty, found shape {list(tensor.shape)}")
    require_contiguous("state_cache", state_cache)
    block_num, block_size, _ = state_cache.shape
    if state_cache_stride_dim0 not in (0, block_size * 2 * width):
        raise ValueError(
            f"state_cache_stride_dim0: expected 0 or {block_size * 2 * width}, the elements of a block of state_cache, "
            f"found {state_cache_stride_dim0}"
        )

    per_request = padded_rows(sequence or 0, cmp_ratio)
    rows = packed_rows(tokens, batch, cmp_ratio) if sequence is None else batch * per_request
    for name, tensor in (("rope_sin", rope_sin), ("rope_cos", rope_cos)):
        if sequence is not None:
            require_tensor(name, tensor, FLOAT32, (batch, per_request, rope_head_dim), device)
        elif rows == 0 and tensor is not None and tensor.shape == (1, rope_head_dim):
            require_tensor(name, tensor, FLOAT32, (1, rope_head_dim), device)
        else:
            require_tensor(name, tensor, FLOAT32, (rows, rope_head_dim), device)

    ring = cycle and cache_mode == EXPLICIT
    require_tensor("state_block_table", state_block_table, INT32, (batch,) if ring else (batch, None), device)
    assert state_block_table is not None
    if not ring and batch and tokens:
        _check_width(state_block_table.shape[1], cmp_ratio, coff, cache_mode)
    for name, optional in (("seqused", seqused), ("start_pos", start_pos)):
        if optional is not None:
            require_tensor(name, optional, INT32, (batch,), device)
    sizes = Sizes(batch, tokens, sequence, head_dim, rows, block_num, block_size)
    if values_too(x):
        check_values(sizes, state_block_table, cu_seqlens, seqused, start_pos, cmp_ratio, coff, cache_mode)
    return sizes


def _check_x(x: Tensor, cu_seqlens: Tensor | None) -> tuple[int, int | None, int, int]:
    """batch, sequence, tokens and hidden size."""
    if x is None or x.dtype not in MODEL:
        require_tensor("x", x, MODEL, (None, None))
    if x.dim() == 3:
        if cu_seqlens is not None:
            raise ValueError(
                f"cu_seqlens: expected None with x of shape [B, S, H], found a tensor of shape {list(cu_seqlens.shape)}"
            )
        batch, sequence, hidden = x.shape
        return batch, sequence, batch * sequence, hidden
    if x.dim() != 2:
        raise ValueError(f"x: expected shape [T, H] or [B, S, H], found {list(x.shape)}")
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


def _check_numbers(
    rope_head_dim: int,
    cmp_ratio: int,
    coff: int,
    norm_eps: float,
    rotary_mode: int,
    cache_mode: int,
    state_cache_stride_dim0: int,
) -> None:
    for name, value, known in (
        ("cmp_ratio", cmp_ratio, RATIOS),
        ("coff", coff, (1, 2)),
        ("rotary_mode", rotary_mode, (HALVES, PAIRS)),
        ("cache_mode", cache_mode, (CONTINUOUS, EXPLICIT)),
    ):
        _require_int(name, value)
        if value not in known:
            raise ValueError(f"{name}: expected {_either(known)}, found {value}")
    _require_int("rope_head_dim", rope_head_dim)
    if rope_head_dim < 0 or rope_head_dim % 2:
        raise ValueError(f"rope_head_dim: expected an even number, not below 0, found {rope_head_dim}")
    _require_int("state_cache_stride_dim0", state_cache_stride_dim0)
    if isinstance(norm_eps, bool) or not isinstance(norm_eps, (float, int)):
        raise TypeError(f"norm_eps: expected a number, found {norm_eps!r}")


def _require_int(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected an integer, found {value!r}")


def _either(known: tuple[int, ...]) -> str:
    *most, last = map(str, known)
    return f"{', '.join(most)} or {last}"
