"""What the operands of speculative.draft_extend_fill must be, the same for every implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from confbag.kernels.draft_extend.values import check_int32, check_overlaps
from confbag.kernels.operands import INT32_MAX, INT32_MIN, Shape, require_contiguous, require_tensor

Dtypes: TypeAlias = tuple[torch.dtype, ...]

INT32: Dtypes = (torch.int32,)
INT64: Dtypes = (torch.int64,)
INTEGERS: Dtypes = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
FLOAT32: Dtypes = (torch.float32,)
FLOATS: Dtypes = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def check(
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    src_input_ids: Tensor,
    src_positions: Tensor,
    src_out_cache_loc: Tensor,
    seq_lens: Tensor,
    req_pool_indices: Tensor,
    num_correct_drafts: Tensor,
    num_accept_tokens: Tensor,
    select_index: Tensor,
    temperatures: Tensor | None,
    src_seq_lens: Tensor,
    src_req_pool_indices: Tensor,
    src_num_correct_drafts: Tensor,
    src_num_accept_tokens: Tensor,
    src_temperatures: Tensor | None,
    hidden_states: Tensor | None,
    src_hidden_states: Tensor | None,
    global_num_tokens: Tensor | None,
    global_num_tokens_for_logprob: Tensor | None,
    raw_bs: int,
    bs: int,
    num_tokens_per_bs: int,
    num_front_tokens: int,
    seq_len_fill_value: int,
    values_too: Callable[[Tensor], bool],
) -> None:
    """Refuse what the contract does not allow; by its values and addresses too, if `values_too` says so of a buffer."""
    require_tensor("input_ids", input_ids, INT64, (None,))
    require_tensor("src_input_ids", src_input_ids, INTEGERS, (None,))
    require_tensor("seq_lens", seq_lens, INT32, (None,))
    device = input_ids.device
    max_num_token, num_tokens, max_bs = input_ids.shape[0], src_input_ids.shape[0], seq_lens.shape[0]
    _check_numbers(
        num_tokens, max_num_token, max_bs, raw_bs, bs, num_tokens_per_bs, num_front_tokens, seq_len_fill_value
    )

    tokens = (
        ("input_ids", input_ids, src_input_ids),
        ("positions", positions, src_positions),
        ("out_cache_loc", out_cache_loc, src_out_cache_loc),
    )
    narrow = (
        ("seq_lens", seq_lens, src_seq_lens),
        ("num_correct_drafts", num_correct_drafts, src_num_correct_drafts),
        ("num_accept_tokens", num_accept_tokens, src_num_accept_tokens),
    )
    wide = (("req_pool_indices", req_pool_indices, src_req_pool_indices),)
    alone: list[tuple[str, Tensor, Dtypes, Shape]] = [("select_index", select_index, INT64, (max_bs,))]
    for name, buffer in (
        ("global_num_tokens", global_num_tokens),
        ("global_num_tokens_for_logprob", global_num_tokens_for_logprob),
    ):
        if buffer is not None:
            alone.append((name, buffer, INT32, (None,)))
    for pairs, dtypes, size, length in (
        (tokens, INT64, max_num_token, num_tokens),
        (narrow, INT32, max_bs, raw_bs),
        (wide, INT64, max_bs, raw_bs),
    ):
        for name, buffer, source in pairs:
            _check_operand(name, buffer, dtypes, (size,), device)
            _check_operand("src_" + name, source, INTEGERS, (length,), device)
    for name, buffer, dtypes, shape in alone:
        _check_operand(name, buffer, dtypes, shape, device)
    written: list[tuple[str, Tensor | None, Tensor | None]] = [
        *tokens,
        *narrow,
        *wide,
        *((name, buffer, None) for name, buffer, _, _ in alone),
    ]
    if temperatures is not None:
        _check_temperatures(temperatures, src_temperatures, max_bs, raw_bs, device)
        written.append(("temperatures", temperatures, src_temperatures))
    if src_hidden_states is not None:
        _check_hidden(hidden_states, src_hidden_states, max_num_token, num_tokens, device)
        written.append(("hidden_states", hidden_states, src_hidden_states))
    if values_too(input_ids):
        check_int32(narrow)
        check_overlaps(written)


def _check_operand(name: str, tensor: Tensor, dtypes: Dtypes, shape: Shape, device: torch.device) -> None:
    # One comparison of everything first: this runs for two dozen operands at every step.
    if (
        tensor is not None
        and tensor.shape == shape
        and tensor.dtype in dtypes
        and tensor.device == device
        and tensor.is_contiguous()
    ):
        return
    require_tensor(name, tensor, dtypes, shape, device)
    require_contiguous(name, tensor)


def _check_numbers(
    num_tokens: int,
    max_num_token: int,
    max_bs: int,
    raw_bs: int,
    bs: int,
    num_tokens_per_bs: int,
    num_front_tokens: int,
    seq_len_fill_value: int,
) -> None:
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
    if not INT32_MIN <= seq_len_fill_value <= INT32_MAX:
        raise ValueError(f"seq_len_fill_value: expected an int32, which seq_lens holds, found {seq_len_fill_value}")


def _check_temperatures(buffer: Tensor, source: Tensor | None, max_bs: int, raw_bs: int, device: torch.device) -> None:
    _check_operand("temperatures", buffer, FLOAT32, (max_bs, 1), device)
    if source is None:
        raise TypeError(
            "src_temperatures: expected a tensor, since temperatures is one, found None; pass both or neither"
        )
    _check_operand("src_temperatures", source, FLOATS, (raw_bs,) if source.dim() == 1 else (raw_bs, 1), device)


def _check_hidden(
    buffer: Tensor | None, source: Tensor, max_num_token: int, num_tokens: int, device: torch.device
) -> None:
    if buffer is None:
        raise TypeError(
            "hidden_states: expected a tensor, since src_hidden_states is one, found None; pass both or neither"
        )
    if not buffer.dtype.is_floating_point:
        raise TypeError(f"hidden_states: expected a floating dtype, found {str(buffer.dtype).removeprefix('torch.')}")
    _check_operand("hidden_states", buffer, (buffer.dtype,), (max_num_token, None), device)
    _check_operand("src_hidden_states", source, (buffer.dtype,), (num_tokens, buffer.shape[1]), device)
