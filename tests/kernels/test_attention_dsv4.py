"""attention of kind dsv4: a window, sinks and compressed tokens, over slots in any order."""

import math

import pytest
import torch

from confbag import load
from confbag.backends import Platform, make_plan
from confbag.kernels.attention import torch_native
from confbag.kernels.attention.reference import attention

INT32 = torch.int32


class Cache:
    """Requests of some lengths whose tokens lie in slots of any order, and compressed ones of `ratio` tokens."""

    def __init__(self, lengths, ratio=2, heads=3, size=8, seed=0):
        random = torch.Generator().manual_seed(seed)
        self.lengths, self.ratio = lengths, ratio
        rows, longest = len(lengths) + 2, max(lengths) + 2
        slots = rows * longest
        self.rows = torch.randperm(rows, generator=random)[: len(lengths)]
        self.kv = torch.randn(slots, 1, size, generator=random)
        self.table = torch.randperm(slots, generator=random).view(rows, longest).to(INT32)
        self.compressed = torch.randn(slots, 1, size, generator=random)
        self.compressed_table = torch.randperm(slots, generator=random).view(rows, longest).to(INT32)
        self.queries = [torch.randn(length, heads, size, generator=random) for length in lengths]
        self.sinks = torch.randn(heads, generator=random)

    def attend(self, batch, **features):
        requests, lengths, counts = (torch.tensor(column) for column in zip(*batch, strict=True))
        query = torch.cat([self.queries[request][length - count : length] for request, length, count in batch])
        out = attention(query, self.kv, self.kv, self.table, self.rows[requests], lengths, counts, 0.4, **features)
        return out.split(counts.tolist())

    def with_compressed(self, **more):
        return {
            "compressed_cache": self.compressed,
            "req_to_compressed": self.compressed_table,
            "compress_ratio": self.ratio,
            **more,
        }

    def by_the_formula(self, request, position, head, window=None, sinks=None, entries=()):
        row = self.rows[request]
        first = 0 if window is None else max(0, position - window + 1)
        seen = [self.kv[slot, 0].double() for slot in self.table[row, first : position + 1].tolist()]
        seen += [self.compressed[int(self.compressed_table[row, entry]), 0].double() for entry in entries]
        query = self.queries[request][position, head].double()
        weights = [math.exp(0.4 * float(query @ key)) for key in seen]
        total = sum(weights) + (0 if sinks is None else math.exp(float(sinks[head])))
        return sum(weight * key for weight, key in zip(weights, seen, strict=True)) / total


@pytest.mark.parametrize("window", [None, 1, 3, 100])
@pytest.mark.parametrize("mode", ["window", "all compressed", "some compressed"])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_it_is_windowed_attention_with_sinks_and_compressed_tokens(window, mode, with_sinks):
    cache = Cache([9, 1, 6])
    batch = [(0, 9, 4), (1, 1, 1), (2, 5, 0), (2, 6, 2)]
    sinks = cache.sinks if with_sinks else None
    features = {"window": window, "sinks": sinks}
    tokens = [(r, length - count + place) for r, length, count in batch for place in range(count)]
    entries = [list(range((position + 1) // 2)) if mode != "window" else [] for _, position in tokens]
    if mode == "some compressed":
        entries = [entry[::-1][:2] for entry in entries]
        indices = torch.tensor([entry + [-1] * (2 - len(entry)) for entry in entries], dtype=INT32)
        features["compressed_indices"] = indices
    if mode != "window":
        features = cache.with_compressed(**features)
    found = torch.cat(cache.attend(batch, **features))
    for out, (request, position), chosen in zip(found, tokens, entries, strict=True):
        for head in range(3):
            wanted = cache.by_the_formula(request, position, head, window, sinks, chosen)
            torch.testing.assert_close(out[head].double(), wanted, atol=1e-5, rtol=1e-5)


def test_without_features_it_is_what_torch_native_says():
    cache = Cache([9, 4])
    requests, lengths, counts = torch.tensor([0, 1]), torch.tensor([9, 4]), torch.tensor([9, 2])
    query = torch.cat([cache.queries[0], cache.queries[1][2:]])
    operands = (query, cache.kv, cache.kv, cache.table, cache.rows[requests], lengths, counts, 0.4)
    torch.testing.assert_close(attention(*operands), torch_native.attention(*operands), atol=1e-5, rtol=1e-5)


def test_prefilled_decoded_and_verified_a_token_has_the_same_bits():
    cache = Cache([12, 7], ratio=3)
    features = cache.with_compressed(window=4, sinks=cache.sinks)
    (prefilled,) = cache.attend([(0, 12, 12)], **features)
    other, verified = cache.attend([(1, 7, 5), (0, 12, 6)], **features)
    assert torch.equal(prefilled[6:], verified)
    for position in range(12):
        _, decoded = cache.attend([(1, 3, 1), (0, position + 1, 1)], **features)
        assert torch.equal(prefilled[position], decoded[0])
    assert len(other) == 5


def test_no_query_gives_no_row():
    cache = Cache([3])
    assert cache.attend([(0, 3, 0)])[0].shape == (0, 3, 8)


def operands(**changed):
    cache = Cache([5])
    given = {
        "query": cache.queries[0][4:],
        "key_cache": cache.kv,
        "value_cache": cache.kv,
        "req_to_token": cache.table,
        "req_pool_indices": cache.rows,
        "seq_lens": torch.tensor([5]),
        "query_lens": torch.tensor([1]),
        "scale": 0.4,
    }
    if changed.pop("compressed", False):
        given.update(cache.with_compressed())
    return {**given, **changed}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"value_cache": torch.zeros(21, 1, 8)}, ValueError, "value_cache: expected key_cache itself"),
        ({"key_cache": torch.zeros(21, 3, 8)}, ValueError, "value_cache|key_cache"),
        ({"window": 0}, ValueError, "window: expected at least 1 token, the query's own, found 0"),
        ({"sinks": torch.zeros(2)}, ValueError, r"sinks: expected shape \[3\], found \[2\]"),
        ({"sinks": torch.zeros(3).half()}, TypeError, "sinks: expected dtype float32"),
        (
            {"req_to_compressed": torch.zeros(3, 2, dtype=INT32)},
            ValueError,
            "req_to_compressed: expected None without compressed_cache",
        ),
        (
            {"compressed_indices": torch.zeros(1, 2, dtype=INT32)},
            ValueError,
            "compressed_indices: expected None without compressed_cache",
        ),
        ({"compressed": True, "compress_ratio": 0}, ValueError, "compress_ratio: expected at least 1"),
        ({"compressed": True, "req_to_compressed": None}, TypeError, "req_to_compressed: expected a tensor"),
        (
            {"compressed": True, "compressed_cache": torch.zeros(9, 1, 4)},
            ValueError,
            "compressed_cache: expected shape",
        ),
        (
            {"compressed": True, "compressed_indices": torch.zeros(2, 2, dtype=INT32)},
            ValueError,
            r"compressed_indices: expected shape \[1, any\], found \[2, 2\]",
        ),
        ({"seq_lens": torch.tensor([99])}, IndexError, "seq_lens"),
        ({"query_lens": torch.tensor([2])}, ValueError, "query: expected 2 tokens"),
        ({"req_pool_indices": torch.tensor([7])}, IndexError, "req_pool_indices"),
    ],
)
def test_what_the_contract_does_not_allow_is_refused(changed, error, message):
    attention(**operands())
    attention(**operands(compressed=True))
    with pytest.raises(error, match=message):
        attention(**operands(**changed))


@pytest.mark.parametrize(
    ("feature", "value"),
    [
        ("window", 4),
        ("sinks", torch.zeros(3)),
        ("compressed_cache", torch.zeros(9, 1, 8)),
        ("req_to_compressed", torch.zeros(3, 2, dtype=INT32)),
        ("compress_ratio", 4),
        ("compressed_indices", torch.zeros(1, 2, dtype=INT32)),
    ],
)
def test_torch_native_refuses_what_it_does_not_do(feature, value):
    with pytest.raises(ValueError, match=f"{feature}: expected none, which is all that torch_native does, found"):
        torch_native.attention(**operands(**{feature: value}))


@pytest.mark.parametrize(
    ("device", "arch", "variant"),
    [("cpu", "x86_64", "cpu"), ("xpu", "pvc", "accelerator"), ("cuda", "sm75", "accelerator")],
)
def test_the_plan_takes_it_where_the_device_has_no_backend_of_this_kind(device, arch, variant):
    platform = Platform(device, arch, packages={"torch": "2.14.0", "triton": "3.6.0"})
    settings = {"model.kind": "dsv4", "model.sliding_window": 128, "model.attention_sinks": True}
    speculation = {"spec.algorithm": "EAGLE", "spec.topk": 1}
    plan = make_plan(load(env={}, overrides={**settings, **speculation}), platform)
    for phase in ("prefill", "decode", "draft"):
        binding = plan[f"attention@{phase}"]
        assert (binding.provider, binding.variant) == ("reference", variant)
    assert plan.bag["exec.attention.decode"] == "reference"
    assert plan.bag["memory.page_size"] == 128
    assert bool(plan.warnings) is (device != "cpu")


def test_only_references_may_run_a_model_of_this_kind_too():
    settings = {"model.kind": "dsv4", "exec.kernels.reference_only": True}
    for platform in (Platform("cpu", "x86_64"), Platform("npu", "ascend910_93")):
        assert make_plan(load(env={}, overrides=settings), platform)["attention@decode"].provider == "reference"
    assert (
        make_plan(load(env={}, overrides={"exec.kernels.reference_only": True}), Platform("cpu", "x86_64"))[
            "attention@decode"
        ].provider
        == "torch_native"
    )


def test_it_is_bound_by_that_plan():
    plan = make_plan(load(env={}, overrides={"model.kind": "dsv4", "device.kind": "cpu"}))
    assert plan.bind(ops=["attention"]).attention_decode is attention
