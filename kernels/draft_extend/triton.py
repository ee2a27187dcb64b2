"""speculative.draft_extend_fill as one Triton launch (cuda, hip, xpu).

A grid of three runs of programs: the first copies the hidden states, flat; the next the token buffers and their zeroed
tail; the last the rows and the gathered counts. Each reads and writes neighbouring elements, and no program waits for
another.
"""

from __future__ import annotations

import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

from confbag.kernels.checks.bounds import kernels_check_values
from confbag.kernels.draft_extend.operands import Operands, check
from confbag.kernels.draft_extend.values import check_values

HIDDEN_BLOCK = 4096
TOKEN_BLOCK = 512
ROW_BLOCK = 128

# One compiled kernel for every batch: neither a size that happens to be 1 or a multiple of 16, nor a source that
# happens to start on 16 bytes, compiles another in the middle of serving. Only the hidden states are worth it: their
# loads and stores are 16 bytes wide.
_UNSPECIALIZED = (
    "input_ids",
    "positions",
    "out_cache_loc",
    "src_input_ids",
    "src_positions",
    "src_out_cache_loc",
    "seq_lens",
    "req_pool_indices",
    "num_correct_drafts",
    "num_accept_tokens",
    "select_index",
    "temperatures",
    "src_seq_lens",
    "src_req_pool_indices",
    "src_num_correct_drafts",
    "src_num_accept_tokens",
    "src_temperatures",
    "global_num_tokens",
    "global_num_tokens_for_logprob",
    "num_tokens",
    "max_num_token",
    "max_bs",
    "num_global",
    "num_global_for_logprob",
    "hidden_programs",
    "token_programs",
    "raw_bs",
    "bs",
    "num_tokens_per_bs",
    "num_front_tokens",
    "seq_len_fill_value",
)


@triton.jit(do_not_specialize=_UNSPECIALIZED)  # type: ignore[untyped-decorator]
def _fill(  # type: ignore[no-untyped-def]
    input_ids,
    positions,
    out_cache_loc,
    src_input_ids,
    src_positions,
    src_out_cache_loc,
    seq_lens,
    req_pool_indices,
    num_correct_drafts,
    num_accept_tokens,
    select_index,
    temperatures,
    src_seq_lens,
    src_req_pool_indices,
    src_num_correct_drafts,
    src_num_accept_tokens,
    src_temperatures,
    hidden_states,
    src_hidden_states,
    global_num_tokens,
    global_num_tokens_for_logprob,
    num_hidden,
    num_tokens,
    max_num_token,
    max_bs,
    num_global,
    num_global_for_logprob,
    hidden_programs,
    token_programs,
    raw_bs,
    bs,
    num_tokens_per_bs,
    num_front_tokens,
    seq_len_fill_value,
    HIDDEN_BLOCK: tl.constexpr,
    TOKEN_BLOCK: tl.constexpr,
    ROW_BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    if program < hidden_programs:
        if src_hidden_states is not None:
            at = program.to(tl.int64) * HIDDEN_BLOCK + tl.arange(0, HIDDEN_BLOCK)
            inside = at < num_hidden
            tl.store(hidden_states + at, tl.load(src_hidden_states + at, mask=inside), mask=inside)
    elif program < hidden_programs + token_programs:
        at = (program - hidden_programs) * TOKEN_BLOCK + tl.arange(0, TOKEN_BLOCK)
        given = at < num_tokens
        inside = at < max_num_token
        token = tl.load(src_input_ids + at, mask=given, other=0).to(tl.int64)
        position = tl.load(src_positions + at, mask=given, other=0).to(tl.int64)
        location = tl.load(src_out_cache_loc + at, mask=given, other=0).to(tl.int64)
        tl.store(input_ids + at, token, mask=inside)
        tl.store(positions + at, position, mask=inside)
        tl.store(out_cache_loc + at, location, mask=inside)
    else:
        row = (program - hidden_programs - token_programs) * ROW_BLOCK + tl.arange(0, ROW_BLOCK)
        real = row < raw_bs
        batch = row < bs
        length = tl.load(src_seq_lens + row, mask=real, other=0).to(tl.int32)
        tl.store(seq_lens + row, tl.where(real, length, seq_len_fill_value), mask=row < max_bs)
        request = tl.load(src_req_pool_indices + row, mask=real, other=0).to(tl.int64)
        tl.store(req_pool_indices + row, request, mask=real)
        stale = tl.load(num_correct_drafts + row, mask=batch & (row >= raw_bs), other=0)
        correct = tl.load(src_num_correct_drafts + row, mask=real, other=0).to(tl.int32)
        tl.store(num_correct_drafts + row, correct, mask=real)
        accepted = tl.load(src_num_accept_tokens + row, mask=real, other=0).to(tl.int32)
        tl.store(num_accept_tokens + row, tl.where(real, accepted, -1), mask=batch)
        first_token = row.to(tl.int64) * num_tokens_per_bs + num_front_tokens
        tl.store(select_index + row, first_token + tl.where(real, correct, stale), mask=batch)
        if temperatures is not None:
            temperature = tl.load(src_temperatures + row, mask=real, other=1.0).to(tl.float32)
            tl.store(temperatures + row, temperature, mask=batch)
        total = bs * num_tokens_per_bs
        if global_num_tokens is not None:
            tl.store(global_num_tokens + row, total, mask=row < num_global)
        if global_num_tokens_for_logprob is not None:
            tl.store(global_num_tokens_for_logprob + row, total, mask=row < num_global_for_logprob)


def draft_extend_fill(
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
) -> None:
    """See the contract. Runs on the current device's current stream."""
    given = Operands(
        input_ids,
        positions,
        out_cache_loc,
        src_input_ids,
        src_positions,
        src_out_cache_loc,
        seq_lens,
        req_pool_indices,
        num_correct_drafts,
        num_accept_tokens,
        select_index,
        temperatures,
        src_seq_lens,
        src_req_pool_indices,
        src_num_correct_drafts,
        src_num_accept_tokens,
        src_temperatures,
        hidden_states,
        src_hidden_states,
        global_num_tokens,
        global_num_tokens_for_logprob,
        raw_bs,
        bs,
        num_tokens_per_bs,
        num_front_tokens,
        seq_len_fill_value,
    )
    check(given)
    if kernels_check_values(input_ids):
        check_values(given)
    max_num_token, max_bs = input_ids.shape[0], seq_lens.shape[0]
    num_global = 0 if global_num_tokens is None else global_num_tokens.shape[0]
    num_global_for_logprob = 0 if global_num_tokens_for_logprob is None else global_num_tokens_for_logprob.shape[0]
    num_hidden = 0 if src_hidden_states is None else src_hidden_states.numel()
    hidden_programs = triton.cdiv(num_hidden, HIDDEN_BLOCK)
    token_programs = triton.cdiv(max_num_token, TOKEN_BLOCK)
    row_programs = triton.cdiv(max(max_bs, num_global, num_global_for_logprob), ROW_BLOCK)
    programs = hidden_programs + token_programs + row_programs
    if programs == 0:
        return
    _fill[(programs,)](
        input_ids,
        positions,
        out_cache_loc,
        src_input_ids,
        src_positions,
        src_out_cache_loc,
        seq_lens,
        req_pool_indices,
        num_correct_drafts,
        num_accept_tokens,
        select_index,
        temperatures,
        src_seq_lens,
        src_req_pool_indices,
        src_num_correct_drafts,
        src_num_accept_tokens,
        None if temperatures is None else src_temperatures,
        None if src_hidden_states is None else hidden_states,
        src_hidden_states,
        global_num_tokens,
        global_num_tokens_for_logprob,
        num_hidden,
        src_input_ids.shape[0],
        max_num_token,
        max_bs,
        num_global,
        num_global_for_logprob,
        hidden_programs,
        token_programs,
        raw_bs,
        bs,
        num_tokens_per_bs,
        num_front_tokens,
        seq_len_fill_value,
        HIDDEN_BLOCK=HIDDEN_BLOCK,
        TOKEN_BLOCK=TOKEN_BLOCK,
        ROW_BLOCK=ROW_BLOCK,
    )
