"""What the operands of speculative.draft_extend_fill must be, the same for every implementation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from confbag.kernels.checks.operands import (
    INT32_MAX,
    INT32_MIN,
    Shape,
    require_contiguous,
    require_floating,
    require_int,
    require_tensor,
    require_writable,
)

Dtypes: TypeAlias = tuple[torch.dtype, ...]

INT32: Dtypes = (torch.int32,)
INT64: Dtypes = (torch.int64,)
INTEGERS: Dtypes = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
FLOAT32: Dtypes = (torch.float32,)
FLOATS: Dtypes = (torch.float32, torch.bfloat16, torch.float16, torch.float64)

TOKENS = ("input_ids", "positions", "out_cache_loc")
NARROW = ("seq_lens", "num_correct_drafts", "num_accept_tokens")
WIDE = ("req_pool_indices",)
"""Buffers whose sources are called `src_` and their name: of a row a token, of int32 rows, of int64 rows."""
GATHERED = ("global_num_tokens", "global_num_tokens_for_logprob")


class Operands(NamedTuple):
    """One call, in the contract's order."""

    input_ids: Tensor
    positions: Tensor
    out_cache_loc: Tensor
    src_input_ids: Tensor
    src_positions: Tensor
    src_out_cache_loc: Tensor
    seq_lens: Tensor
    req_pool_indices: Tensor
    num_correct_drafts: Tensor
    num_accept_tokens: Tensor
    select_index: Tensor
    temperatures: Tensor | None
    src_seq_lens: Tensor
    src_req_pool_indices: Tensor
    src_num_correct_drafts: Tensor
    src_num_accept_tokens: Tensor
    src_temperatures: Tensor | None
    hidden_states: Tensor | None
    src_hidden_states: Tensor | None
    global_num_tokens: Tensor | None
    global_num_tokens_for_logprob: Tensor | None
    raw_bs: int
    bs: int
    num_tokens_per_bs: int
    num_front_tokens: int
    seq_len_fill_value: int

    def written(self) -> Iterator[tuple[str, Tensor, Tensor | None]]:
        """Each buffer that the call writes: its name, the buffer, and its source where it has one."""
        for name in (*TOKENS, *NARROW, *WIDE):
            yield name, getattr(self, name), getattr(self, "src_" + name)
        for name in ("select_index", *GATHERED):
            if getattr(self, name) is not None:
                yield name, getattr(self, name), None
        if self.temperatures is not None:
            yield "temperatures", self.temperatures, self.src_temperatures
        if self.hidden_states is not None and self.src_hidden_states is not None:
            yield "hidden_states", self.hidden_states, self.src_hidden_states


def check(given: Operands) -> None:
    """Refuse what the contract does not allow, values and addresses apart."""
    require_tensor("input_ids", given.input_ids, INT64, (None,))
    require_tensor("src_input_ids", given.src_input_ids, INTEGERS, (None,))
    require_tensor("seq_lens", given.seq_lens, INT32, (None,))
    device, raw_bs = given.input_ids.device, given.raw_bs
    max_num_token, num_tokens = given.input_ids.shape[0], given.src_input_ids.shape[0]
    max_bs = given.seq_lens.shape[0]
    _check_numbers(given)
    for names, dtypes, size, length in (
        (TOKENS, INT64, max_num_token, num_tokens),
        (NARROW, INT32, max_bs, raw_bs),
        (WIDE, INT64, max_bs, raw_bs),
    ):
        for name in names:
            _check_operand(name, getattr(given, name), dtypes, (size,), device)
            _check_operand("src_" + name, getattr(given, "src_" + name), INTEGERS, (length,), device)
    _check_operand("select_index", given.select_index, INT64, (max_bs,), device)
    for name in GATHERED:
        if getattr(given, name) is not None:
            _check_operand(name, getattr(given, name), INT32, (None,), device)
    if given.temperatures is not None:
        _check_temperatures(given.temperatures, given.src_temperatures, max_bs, raw_bs, device)
    if given.src_hidden_states is not None:
        _check_hidden(given.hidden_states, given.src_hidden_states, max_num_token, num_tokens, device)
    for name, buffer, _ in given.written():
        require_writable(name, buffer)


def _check_operand(name: str, tensor: Tensor, dtypes: Dtypes, shape: Shape, device: torch.device) -> None:
    # One comparison of everything first: this runs for two dozen operands at every step.
    if (
        isinstance(tensor, Tensor)
        and tensor.shape == shape
        and tensor.dtype in dtypes
        and tensor.device == device
        and tensor.layout is torch.strided
        and tensor.is_contiguous()
    ):
        return
    require_tensor(name, tensor, dtypes, shape, device)
    require_contiguous(name, tensor)


def _check_numbers(given: Operands) -> None:
    num_tokens, max_num_token = given.src_input_ids.shape[0], given.input_ids.shape[0]
    raw_bs, bs, max_bs = given.raw_bs, given.bs, given.seq_lens.shape[0]
    num_tokens_per_bs, num_front_tokens = given.num_tokens_per_bs, given.num_front_tokens
    for name in ("raw_bs", "bs", "num_tokens_per_bs", "num_front_tokens", "seq_len_fill_value"):
        require_int(name, getattr(given, name))
    if not 0 <= raw_bs <= bs <= max_bs:
        raise ValueError(
            f"expected 0 <= raw_bs <= bs <= max_bs (rows of seq_lens), found raw_bs {raw_bs}, bs {bs}, max_bs {max_bs}"
        )
    if num_tokens > max_num_token:
        raise ValueError(
            f"src_input_ids: expected at most {max_num_token} tokens, the length of input_ids, found {num_tokens}"
        )
    if num_tokens_per_bs < 0 or num_front_tokens < 0:
        raise ValueError(
            f"expected num_tokens_per_bs and num_front_tokens >= 0, found {num_tokens_per_bs} and {num_front_tokens}"
        )
    if bs * num_tokens_per_bs > INT32_MAX or num_tokens_per_bs > INT32_MAX or num_front_tokens > INT32_MAX:
        raise ValueError(
            f"expected bs * num_tokens_per_bs and num_front_tokens in int32, found {bs} * {num_tokens_per_bs} "
            f"and {num_front_tokens}"
        )
    if not INT32_MIN <= given.seq_len_fill_value <= INT32_MAX:
        raise ValueError(
            f"seq_len_fill_value: expected an int32, which seq_lens holds, found {given.seq_len_fill_value}"
        )


def _check_temperatures(buffer: Tensor, source: Tensor | None, max_bs: int, raw_bs: int, device: torch.device) -> None:
    _check_operand("temperatures", buffer, FLOAT32, (max_bs, 1), device)
    if source is None:
        raise TypeError(
            "src_temperatures: expected a tensor, since temperatures is one, found None; pass both or neither"
        )
    one_dimension = isinstance(source, Tensor) and source.dim() == 1
    _check_operand("src_temperatures", source, FLOATS, (raw_bs,) if one_dimension else (raw_bs, 1), device)


def _check_hidden(
    buffer: Tensor | None, source: Tensor, max_num_token: int, num_tokens: int, device: torch.device
) -> None:
    if buffer is None:
        raise TypeError(
            "hidden_states: expected a tensor, since src_hidden_states is one, found None; pass both or neither"
        )
    require_floating("hidden_states", buffer)
    _check_operand("hidden_states", buffer, (buffer.dtype,), (max_num_token, None), device)
    _check_operand("src_hidden_states", source, (buffer.dtype,), (num_tokens, buffer.shape[1]), device)
