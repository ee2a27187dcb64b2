"""attention: causal attention of packed queries over a paged KV cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends.op import Op

if TYPE_CHECKING:
    from torch import Tensor


def attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    query_lens: Tensor,
    scale: float,
) -> Tensor:
    """Each query token attends to the tokens of its own request up to and including itself.

    query: [tokens, num_heads, head_dim], packed: first the queries of request 0, then those of request 1, and so on.
    key_cache: [slots, num_kv_heads, head_dim]. value_cache: [slots, num_kv_heads, v_head_dim]. One slot holds one
    token; the queries' own keys and values are already in. num_heads is a multiple of num_kv_heads, whose heads serve
    equal runs of query heads.
    req_to_token: int32 [requests, max_context], the slot of each token of each request.
    req_pool_indices: int32 or int64 [n], the row of req_to_token of each request in the batch.
    seq_lens: int32 or int64 [n], tokens in the cache for each request, its queries included.
    query_lens: int32 or int64 [n], how many of those, the last ones, are queries; 0 is allowed. Their sum is `tokens`.
    scale: what the scores are multiplied by before the softmax.

    Returns [tokens, num_heads, v_head_dim] in the dtype of `query`, newly allocated. Writes no operand.
    Raises TypeError and ValueError for operands of other dtypes and shapes, or lengths that contradict each other;
    IndexError for a request, a length or a slot out of range.
    """
    raise NotImplementedError


ATTENTION = Op(
    "attention",
    attention,
    phases=("prefill", "decode", "draft"),
    reference="torch_native",
    settings={phase: (f"exec.attention.{phase}", "exec.attention.backend") for phase in ("prefill", "decode", "draft")},
    asks={
        "window": {"model.sliding_window": {"set": True}},
        "sinks": {"model.attention_sinks": True},
        # The multimodal column of the source is of MHA backends; with MLA the vision tower has an attention of its own.
        "multimodal": {"model.multimodal": True, "model.kind": "mha"},
        "encoder_decoder": {"model.encoder_decoder": True},
    },
)
# The rows are data: the catalogue of attention backends, ours (torch_native) among them.
