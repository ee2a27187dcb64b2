"""attention: causal attention of packed queries over a paged KV cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confbag.backends.declare.op import Op

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
    window: int | None = None,
    sinks: Tensor | None = None,
    compressed_cache: Tensor | None = None,
    req_to_compressed: Tensor | None = None,
    compress_ratio: int = 0,
    compressed_indices: Tensor | None = None,
) -> Tensor:
    """Each query token attends to the tokens of its own request up to and including itself.

    query: [tokens, num_heads, head_dim], packed: first the queries of request 0, then those of request 1, and so on.
    key_cache: [slots, num_kv_heads, head_dim], one token a slot; the queries' own keys and values are already in.
        num_heads is a multiple of num_kv_heads, whose heads serve equal runs of query heads.
    value_cache: [slots, num_kv_heads, v_head_dim], the same.
    req_to_token: int32 [requests, max_context], the slot of each token of each request.
    req_pool_indices: int32 or int64 [n], the row of req_to_token of each request in the batch.
    seq_lens: int32 or int64 [n], tokens in the cache for each request, its queries included.
    query_lens: int32 or int64 [n], how many of those, the last ones, are queries; 0 is allowed. Their sum is `tokens`.
    scale: what the scores are multiplied by before the softmax.
    What only some models ask for, and only a provider with the feature takes:
    window: a query sees this many tokens, the last ones, its own among them; None is all of them. At least 1.
    sinks: float32 [num_heads], one more logit for each head, without a value; None is none.
    Of kind dsv4 alone, where one head of the cache is key and value at once (value_cache is key_cache):
    compressed_cache: [compressed slots, 1, head_dim], a row for each run of compress_ratio tokens. A query also sees
        those of the runs that end before or at its own token, besides the window and without regard to it; None is
        none.
    req_to_compressed: int32 [requests, max_compressed], the compressed slot of each run of each request.
    compress_ratio: tokens in a run, at least 1 with compressed_cache.
    compressed_indices: int32 [tokens, k], which runs a query sees of those: its first min(k, how many there are)
        entries, the rest of them -1; None is all.

    Returns [tokens, num_heads, v_head_dim] in the dtype of `query`, newly allocated. Writes no operand.
    Raises TypeError and ValueError for operands of other dtypes and shapes, lengths that contradict each other, or an
    operand that the provider does not take; IndexError for a request, a length or a slot out of range.
    """


ATTENTION = Op(
    "attention",
    attention,
    phases=("prefill", "decode", "draft"),
    # The second one for models of kind dsv4, which the first does not take.
    reference=("torch_native", "reference"),
    cases="confbag.kernels.attention.cases:cases",
    settings={phase: (f"exec.attention.{phase}", "exec.attention.backend") for phase in ("prefill", "decode", "draft")},
    asks={
        "window": {"model.sliding_window": {"set": True}},
        "sinks": {"model.attention_sinks": True},
        # The multimodal column of the source is of MHA backends; with MLA the vision tower has an attention of its own.
        "multimodal": {"model.multimodal": True, "model.kind": "mha"},
        "encoder_decoder": {"model.encoder_decoder": True},
    },
)
# The rows are data: the catalogue of attention backends, ours (torch_native, reference) among them.
