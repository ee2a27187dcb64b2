"""speculative.draft_extend_fill: one step's batch, copied into the fixed buffers that a captured graph reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import Requires
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT

if TYPE_CHECKING:
    from torch import Tensor


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
    """Copy a batch of `raw_bs` requests, padded to `bs`, into buffers for `max_bs` requests and `max_num_token` tokens.
    All in place.

    input_ids: buffer, int64 [max_num_token].
    positions: buffer, int64 [max_num_token].
    out_cache_loc: buffer, int64 [max_num_token].
    src_input_ids: integers of any width [num_tokens].
    src_positions: integers of any width [num_tokens].
    src_out_cache_loc: integers of any width [num_tokens].
    seq_lens: buffer, int32 [max_bs].
    req_pool_indices: buffer, int64 [max_bs].
    num_correct_drafts: buffer, int32 [max_bs].
    num_accept_tokens: buffer, int32 [max_bs].
    select_index: buffer, int64 [max_bs].
    temperatures: buffer, float32 [max_bs, 1], or None.
    src_seq_lens: integers of any width [raw_bs].
    src_req_pool_indices: integers of any width [raw_bs].
    src_num_correct_drafts: integers of any width [raw_bs].
    src_num_accept_tokens: integers of any width [raw_bs].
    src_temperatures: floating [raw_bs] or [raw_bs, 1], unused when temperatures is None.
    hidden_states: buffer, floating [max_num_token, hidden]; may be None when src_hidden_states is.
    src_hidden_states: [num_tokens, hidden] in the dtype of hidden_states, or None.
    global_num_tokens: buffer, int32 [k] or None, k >= 0.
    global_num_tokens_for_logprob: buffer, int32 [k] or None, k >= 0.
    raw_bs: requests of this step, at least 0.
    bs: requests that it is padded to; raw_bs <= bs <= max_bs.
    num_tokens_per_bs: tokens that each padded request has, not negative.
    num_front_tokens: tokens of a request before its drafts, not negative.
    seq_len_fill_value: of a padded row of seq_lens; an int32.

    All are contiguous, on one device, and no buffer overlaps another operand (a source may be the start of its own
    buffer). A buffer can be written in place where it is called: it requires no gradient there, and is no inference
    tensor outside inference mode. num_tokens <= max_num_token.

    Writes, i being a row:
    token buffers: [0, num_tokens) from the source, the rest zeroed to the end of the buffer (slot 0 is the dummy slot:
    a stale tail would write a padded row's keys and values over live ones).
    seq_lens: source for i < raw_bs, seq_len_fill_value in every other row, those past the batch too.
    req_pool_indices, num_correct_drafts: source for i < raw_bs, the rest untouched.
    num_accept_tokens: source for i < raw_bs, -1 for raw_bs <= i < bs, the rest untouched.
    select_index: i * num_tokens_per_bs + num_front_tokens + num_correct_drafts[i] for i < bs, with the new count for i
    < raw_bs and the one that was there for the padded rows; the rest untouched.
    temperatures, when not None: source for i < raw_bs, 1.0 for raw_bs <= i < bs, the rest untouched.
    hidden_states, when src_hidden_states is not None: rows [0, num_tokens) from the source, the rest untouched.
    global_num_tokens, global_num_tokens_for_logprob, each when not None: every element becomes bs * num_tokens_per_bs.

    Raises TypeError for another dtype or a missing operand; ValueError for another shape, layout, device or size.
    Values of the row sources that int32 cannot hold, and overlaps, are ValueErrors too: in the reference on CPU tensors
    always (not inside torch.compile), elsewhere and in the kernels under `exec.debug.bounds`. Nothing is written when
    it raises.
    Source: the Triton kernel of sglang 0.5.23 (fill_draft_extend_prepare_buffers); its native form leaves the token
    tail and the rows of seq_lens past the batch stale, ours does not.
    """


DRAFT_EXTEND_FILL = Op(
    "speculative.draft_extend_fill",
    draft_extend_fill,
    applies={"spec.algorithm": {"not": ["none"]}},
    reference_on=("npu",),
    cases="confbag.kernels.draft_extend.cases:cases",
)

DRAFT_EXTEND_FILL.implement(
    "reference",
    "confbag.kernels.draft_extend.reference:draft_extend_fill",
    requires=Requires(components=("torch",)),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    compile=True,
    description="slice copies and fills; never waits for the device",
)
DRAFT_EXTEND_FILL.implement(
    "triton",
    "confbag.kernels.draft_extend.triton:draft_extend_fill",
    priority=20,
    requires=Requires(device=("cuda", "hip", "xpu"), components=("torch", "triton>=3.0")),
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    compile=True,
    description="one launch for all buffers",
)
