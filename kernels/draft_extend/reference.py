"""speculative.draft_extend_fill in plain PyTorch: the meaning, and the first-class implementation on npu."""

from __future__ import annotations

import torch
from torch import Tensor

from confbag.kernels.checks.bounds import reference_checks_values
from confbag.kernels.draft_extend.operands import Operands, check
from confbag.kernels.draft_extend.values import check_values


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
    """See the contract. Never waits for a device, except to check values under `exec.debug.bounds`."""
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
    if reference_checks_values(input_ids):
        check_values(given)
    num_tokens = src_input_ids.shape[0]
    for buffer, source in ((input_ids, src_input_ids), (positions, src_positions), (out_cache_loc, src_out_cache_loc)):
        buffer[:num_tokens].copy_(source)
        buffer[num_tokens:].zero_()

    seq_lens[:raw_bs].copy_(src_seq_lens)
    seq_lens[raw_bs:].fill_(seq_len_fill_value)
    req_pool_indices[:raw_bs].copy_(src_req_pool_indices)
    num_correct_drafts[:raw_bs].copy_(src_num_correct_drafts)
    num_accept_tokens[:raw_bs].copy_(src_num_accept_tokens)
    num_accept_tokens[raw_bs:bs].fill_(-1)
    first_token = torch.arange(bs, device=select_index.device) * num_tokens_per_bs + num_front_tokens
    select_index[:bs].copy_(first_token + num_correct_drafts[:bs])

    if temperatures is not None and src_temperatures is not None:
        temperatures[:raw_bs].copy_(src_temperatures.detach().reshape(raw_bs, 1))
        temperatures[raw_bs:bs].fill_(1.0)
    if hidden_states is not None and src_hidden_states is not None:
        hidden_states[:num_tokens].copy_(src_hidden_states.detach())
    for gathered in (global_num_tokens, global_num_tokens_for_logprob):
        if gathered is not None:
            gathered.fill_(bs * num_tokens_per_bs)
