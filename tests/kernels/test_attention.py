"""attention in plain PyTorch: right, and on a CPU the same bits in any batch and phase."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from confbag.kernels.attention import torch_native
from confbag.kernels.attention.torch_native import attention

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]


class Pool:
    """A paged cache whose requests' tokens lie in slots of any order, and a query for each token."""

    def __init__(self, lengths, kv_heads=2, group=2, head_dim=16, v_head_dim=16, dtype=torch.float32, seed=0):
        random = torch.Generator().manual_seed(seed)
        self.lengths, self.scale = lengths, 0.3
        rows, longest = len(lengths) + 2, max(lengths) + 3
        slots = rows * longest + 5
        self.keys = torch.randn(slots, kv_heads, head_dim, generator=random).to(dtype)
        self.values = torch.randn(slots, kv_heads, v_head_dim, generator=random).to(dtype)
        self.table = torch.randperm(slots, generator=random)[: rows * longest].view(rows, longest).to(torch.int32)
        self.rows = torch.randperm(rows, generator=random)[: len(lengths)]
        size = (kv_heads * group, head_dim)
        self.queries = [torch.randn(length, *size, generator=random).to(dtype) for length in lengths]

    def attend(self, batch):
        """Outputs for a batch of (request, tokens in the cache, how many of them are queries), one tensor a request."""
        requests, lengths, counts = (torch.tensor(column) for column in zip(*batch, strict=True))
        query = torch.cat([self.queries[request][length - count : length] for request, length, count in batch])
        out = attention(
            query, self.keys, self.values, self.table, self.rows[requests], lengths, counts.to(torch.int32), self.scale
        )
        return out.split(counts.tolist())

    def by_the_formula(self, request, length, count):
        """In float64, written out for one head of one token at a time."""
        slots = self.table[self.rows[request], :length].long()
        keys, values = self.keys[slots].double(), self.values[slots].double()
        heads = self.queries[request].shape[1]
        out = torch.empty(count, heads, values.shape[2], dtype=torch.float64)
        for place in range(count):
            token = length - count + place
            for head in range(heads):
                kv_head = head // (heads // keys.shape[1])
                scores = [
                    float(self.queries[request][token, head].double() @ key) for key in keys[: token + 1, kv_head]
                ]
                weights = torch.tensor([math.exp(self.scale * (score - max(scores))) for score in scores])
                weights = weights.double() / weights.double().sum()
                out[place, head] = weights @ values[: token + 1, kv_head]
        return out


@pytest.mark.parametrize(
    ("kv_heads", "group", "head_dim", "v_head_dim"),
    [(2, 2, 16, 16), (1, 8, 16, 16), (4, 1, 16, 16), (1, 4, 24, 9), (2, 3, 7, 20), (1, 1, 1, 1)],
    ids=["grouped", "one kv head", "as many kv heads", "one wide latent", "odd sizes", "smallest"],
)
def test_it_is_causal_attention(kv_heads, group, head_dim, v_head_dim):
    pool = Pool([5, 1, 9], kv_heads, group, head_dim, v_head_dim)
    batch = [(0, 5, 5), (1, 1, 1), (2, 9, 4)]
    for item, found in zip(batch, pool.attend(batch), strict=True):
        torch.testing.assert_close(found.double(), pool.by_the_formula(*item), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_answers_in_the_dtype_of_the_query(dtype):
    pool = Pool([6], dtype=dtype)
    (found,) = pool.attend([(0, 6, 3)])
    assert found.dtype is dtype
    tolerance = {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(dtype, 1e-5)
    torch.testing.assert_close(found.double(), pool.by_the_formula(0, 6, 3), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_cache_in_fp8(dtype):
    pool = Pool([6])
    pool.keys, pool.values = pool.keys.to(dtype), pool.values.to(dtype)
    (found,) = pool.attend([(0, 6, 3)])
    torch.testing.assert_close(found.double(), pool.by_the_formula(0, 6, 3), atol=1e-5, rtol=1e-5)


pools = st.builds(
    Pool,
    lengths=st.lists(st.integers(1, 70), min_size=1, max_size=3),
    kv_heads=st.integers(1, 4),
    group=st.integers(1, 4),
    head_dim=st.integers(1, 70),
    v_head_dim=st.integers(1, 70),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**32),
)


@settings(max_examples=50)
@given(pools, st.data())
def test_a_request_has_the_same_bits_alone_and_in_any_batch_and_phase(pool, data):
    prefilled = pool.attend([(request, length, length) for request, length in enumerate(pool.lengths)])
    mixed = []
    for request, length in enumerate(pool.lengths):
        (alone,) = pool.attend([(request, length, length)])
        assert torch.equal(alone, prefilled[request])
        mixed.append((request, data.draw(st.integers(1, length)), 1))
    # Decoded in one batch with the others, and verified several at a time, in another order.
    for (request, length, _), decoded in zip(mixed, pool.attend(mixed), strict=True):
        assert torch.equal(decoded[0], prefilled[request][length - 1])
    verified = [(request, length, data.draw(st.integers(0, length))) for request, length, _ in reversed(mixed)]
    for (request, length, count), found in zip(verified, pool.attend(verified), strict=True):
        assert torch.equal(found, prefilled[request][length - count : length])


def test_long_requests_have_the_same_bits_too():
    pool = Pool([600, 257], head_dim=40)
    prefilled = pool.attend([(0, 600, 600), (1, 257, 257)])
    for count in (1, 2, 5):
        verified = pool.attend([(1, 256, count), (0, 599, count)])
        assert torch.equal(verified[0], prefilled[1][256 - count : 256])
        assert torch.equal(verified[1], prefilled[0][599 - count : 599])


@settings(max_examples=20)
@given(pools)
def test_other_devices_compute_a_request_at_once_and_mean_the_same(pool):
    for request, length in enumerate(pool.lengths):
        slots = pool.table[pool.rows[request], :length].long()
        count = (length + 1) // 2
        operands = pool.queries[request][-count:].double(), pool.keys[slots].double(), pool.values[slots].double()
        at_once = torch_native._all_at_once(*operands, pool.scale)
        one_by_one = torch_native._token_by_token(*operands, pool.scale)
        torch.testing.assert_close(at_once, one_by_one, atol=1e-9, rtol=1e-9)


def test_nothing_after_a_token_matters_to_it():
    pool = Pool([8])
    (before,) = pool.attend([(0, 8, 8)])
    slots = pool.table[pool.rows[0]].long()
    pool.keys[slots[5:]], pool.values[slots[5:]] = math.nan, math.inf
    (after,) = pool.attend([(0, 8, 8)])
    assert torch.equal(before[:5], after[:5])


def test_it_writes_no_operand():
    pool, untouched = Pool([8, 3]), Pool([8, 3])
    pool.attend([(0, 8, 8), (1, 3, 1)])
    for name in ("keys", "values", "table", "rows"):
        assert torch.equal(getattr(pool, name), getattr(untouched, name))


def test_a_batch_may_be_empty():
    pool = Pool([4])
    nothing = torch.empty(0, dtype=torch.int64)
    out = attention(pool.queries[0][:0], pool.keys, pool.values, pool.table, nothing, nothing, nothing, 1.0)
    assert out.shape == (0, 4, 16)


def operands(**changes):
    pool = Pool([4, 6])
    return {
        "query": torch.cat([pool.queries[0][-2:], pool.queries[1][-1:]]),
        "key_cache": pool.keys,
        "value_cache": pool.values,
        "req_to_token": pool.table,
        "req_pool_indices": torch.tensor([0, 1]),
        "seq_lens": torch.tensor([4, 6]),
        "query_lens": torch.tensor([2, 1]),
        "scale": 1.0,
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "exception", "message"),
    [
        ({"query": torch.ones(3, 4, 16).long()}, TypeError, "query: expected a floating dtype, found int64"),
        ({"req_to_token": torch.ones(4, 9).long()}, TypeError, "req_to_token: expected dtype int32, found int64"),
        ({"seq_lens": torch.ones(2)}, TypeError, "seq_lens: expected dtype int32 or int64"),
        ({"query": torch.ones(3, 4, 8)}, ValueError, r"key_cache: expected shape \[any, any, 8\]"),
        ({"query": torch.ones(3, 3, 16)}, ValueError, "expected a multiple of the cache's 2 heads, found 3"),
        ({"value_cache": torch.ones(7, 2, 16)}, ValueError, "value_cache: expected shape"),
        ({"query": torch.ones(4, 4, 16)}, ValueError, "query: expected 3 tokens, the sum of query_lens, found 4"),
        ({"query_lens": torch.tensor([2])}, ValueError, r"query_lens: expected shape \[2\], found \[1\]"),
        (
            {"query_lens": torch.tensor([5, -2])},
            ValueError,
            r"query_lens\[0\]: expected between 0 and seq_lens\[0\], 4",
        ),
        ({"query_lens": torch.tensor([4, -1])}, ValueError, r"query_lens\[1\]: .*, 6, found -1"),
        ({"req_pool_indices": torch.tensor([0, 4])}, IndexError, r"req_pool_indices\[1\]: .*\[0, 4\), found 4"),
        ({"req_pool_indices": torch.tensor([-1, 0])}, IndexError, r"req_pool_indices\[0\]: .* found -1"),
        ({"seq_lens": torch.tensor([4, 10])}, IndexError, r"seq_lens\[1\]: expected at most 9 tokens.* found 10"),
        ({"req_to_token": torch.full((4, 9), 999, dtype=torch.int32)}, IndexError, r"slots in \[0, 41\), found 999"),
        ({"req_to_token": torch.full((4, 9), -1, dtype=torch.int32)}, IndexError, r"req_to_token\[\d\]: .*found -1"),
    ],
)
def test_what_contradicts_the_contract_is_refused(changes, exception, message):
    assert attention(**operands()).shape == (3, 4, 16)
    with pytest.raises(exception, match=message):
        attention(**operands(**changes))
