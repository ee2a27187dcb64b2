"""dsv4.sparse_attention: the reference against its formulas, the edges, and what is refused before any native call."""

import importlib.util
import inspect
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from confbag import load
from confbag.backends import Platform, make_plan
from confbag.kernels.checks.agreement import difference
from confbag.kernels.dsv4.sparse_attention import reference, torch_npu, torch_npu_custom, triton
from confbag.kernels.dsv4.sparse_attention.cases import BOUNDARIES, Shape, cases
from confbag.kernels.dsv4.sparse_attention.contract import SPARSE_ATTENTION
from confbag.kernels.dsv4.sparse_attention.reference import sparse_attention
from confbag.testing import check_implementation

_spec = importlib.util.spec_from_file_location(
    "naive_sparse_attention", Path(__file__).with_name("naive_sparse_attention.py")
)
_naive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_naive)
by_the_formulas, places, random_call = _naive.by_the_formulas, _naive.places, _naive.random_call

INT32 = torch.int32
BINDINGS = {"torch_npu": torch_npu, "torch_npu_custom": torch_npu_custom}
EVERY = {"reference": reference, "triton": triton, **BINDINGS}
TOLERANCE = {torch.bfloat16: 2e-2, torch.float16: 4e-3, torch.float32: 1e-5, torch.float64: 1e-12}


def ints(*values):
    return torch.tensor(values, dtype=INT32)


@pytest.fixture
def as_on_a_device(monkeypatch):
    """The reference masks what is not seen, as it does off the CPU."""
    monkeypatch.setattr(reference, "_one_by_one", lambda q: False)


@pytest.fixture
def bounds_checked(monkeypatch):
    monkeypatch.setattr("confbag.kernels.checks.bounds._switched_on", True)


def small(**changed):
    """A call of two requests, 6 and 3 tokens in the cache, of which 2 and 1 are queries; pages of 4."""
    generator = torch.Generator().manual_seed(7)
    call = {
        "q": torch.randn(3, 2, 4, generator=generator),
        "ori_kv": torch.randn(4, 4, 1, 4, generator=generator),
        "ori_block_table": torch.tensor([[2, 0], [3, -1]], dtype=INT32),
        "cu_seqlens_q": ints(0, 2, 3),
        "seqused_kv": ints(6, 3),
        "sinks": torch.tensor([0.3, -0.2]),
        "metadata": torch.zeros(1024, dtype=INT32),
        "softmax_scale": 0.5,
        "ori_win_left": 3,
        "ori_win_right": 0,
        "layout_q": "TND",
    }
    return {**call, **changed}


def compressed(**changed):
    """The same with compressed tokens of two, in pages of 2."""
    generator = torch.Generator().manual_seed(8)
    cache = torch.randn(3, 2, 1, 4, generator=generator)
    table = torch.tensor([[1, 2], [0, -1]], dtype=INT32)
    return small(**{"cmp_kv": cache, "cmp_block_table": table, "cmp_ratio": 2, **changed})


def bsnd(**changed):
    call = small(layout_q="BSND", cu_seqlens_q=None, q=torch.randn(2, 2, 2, 4))
    return {**call, **changed}


def agree(call, sparse_attention=sparse_attention):
    found, lse = sparse_attention(**call)
    assert found.dtype is call["q"].dtype
    assert (lse.dtype, lse.shape) == (torch.float32, (0,))
    tolerance = TOLERANCE[found.dtype]
    torch.testing.assert_close(found.double(), by_the_formulas(call), atol=tolerance, rtol=tolerance)
    return found


# The meaning


@pytest.mark.parametrize(
    ("sink", "with_compressed", "expected"), [(0.0, False, 0.659167), (0.0, True, 1.134303), (-1e4, False, 0.823959)]
)
def test_the_example_that_a_hand_can_check(sink, with_compressed, expected):
    rows = torch.tensor([math.log(2), 0, math.log(3), math.nan]).view(1, 4, 1, 1)
    call = {
        "ori_kv": rows,
        "ori_block_table": torch.zeros(1, 1, dtype=INT32),
        "cu_seqlens_q": ints(0, 1),
        "seqused_kv": ints(3),
        "sinks": torch.tensor([sink]),
        "metadata": torch.zeros(1024, dtype=INT32),
        "softmax_scale": 1.0,
        "ori_win_left": 1,
        "layout_q": "TND",
    }
    if with_compressed:
        call.update(
            cmp_kv=torch.tensor([math.log(5), math.nan, math.nan, math.nan]).view(1, 4, 1, 1),
            cmp_block_table=torch.zeros(1, 1, dtype=INT32),
            cmp_ratio=2,
        )
    found, _ = sparse_attention(torch.ones(1, 1, 1), **call)
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(400))
def test_it_is_what_the_formulas_say(seed):
    agree(random_call(seed))


@pytest.mark.parametrize("seed", range(400, 520))
def test_masking_what_is_not_seen_says_the_same(seed, as_on_a_device, monkeypatch):
    monkeypatch.setattr(reference, "ADDRESSED", 3)
    monkeypatch.setattr(reference, "GATHERED", 150)
    agree(random_call(seed))


@pytest.mark.parametrize("seed", [seed for seed in range(520, 548) if random_call(seed)["q"].dtype != torch.float64])
def test_the_triton_kernel_says_the_same(seed):
    agree(random_call(seed), triton.sparse_attention)


def test_the_triton_kernel_in_blocks_of_heads_rows_and_tokens(monkeypatch):
    monkeypatch.setattr(triton, "ADDRESSED", 2)
    case = Shape(((90, 3), (37, 2)), win_left=70, ratio=4, compressed_page=16)
    found, _ = triton.sparse_attention(*case.operands("cpu"))
    wanted, _ = sparse_attention(*case.operands("cpu"))
    torch.testing.assert_close(found, wanted, atol=2e-2, rtol=2e-2)


def test_the_triton_kernel_takes_no_float64():
    call = small(q=torch.randn(3, 2, 4).double(), ori_kv=torch.randn(4, 4, 1, 4).double())
    with pytest.raises(TypeError, match="q: expected dtype bfloat16 or float16 or float32, found float64"):
        triton.sparse_attention(**call)


def test_random_calls_cover_every_mode():
    calls = [random_call(seed) for seed in range(400)]
    modes = {(c["layout_q"], "cmp_kv" in c, "cmp_sparse_indices" in c, "ori_sparse_indices" in c) for c in calls}
    assert len(modes) == 9  # two layouts times SWA, CFA, SCFA; TND with slots in each of the three
    assert {c["q"].dtype for c in calls} == set(TOLERANCE)
    assert any(c["ori_win_left"] == 2**32 - 1 for c in calls)


def test_the_parameters_are_the_native_schema_s():
    parsed = torch._C.parse_schema(SPARSE_ATTENTION.implementations[3].requires.native_ops[0].schema)
    parameters = inspect.signature(sparse_attention).parameters.values()
    assert [p.name for p in parameters] == [argument.name for argument in parsed.arguments]
    for parameter, argument in list(zip(parameters, parsed.arguments, strict=True))[1:]:
        assert parameter.default == argument.default_value
    for row in SPARSE_ATTENTION.implementations:
        check_implementation(SPARSE_ATTENTION, row)


@pytest.mark.parametrize(
    ("module", "seed"), [*((reference, seed) for seed in range(0, 400, 7)), *((triton, seed) for seed in (1, 5, 9, 30))]
)
def test_a_token_has_the_same_bits_alone_and_in_any_batch(module, seed):
    """Each query token alone (decode) and with its request's others (prefill, verify) beside other requests."""
    call = random_call(seed)
    together, _ = module.sparse_attention(**call)
    for index, request, place, count in list(places(call))[:12]:
        alone = dict(call, layout_q="TND", cu_seqlens_q=ints(0, 1), seqused_q=None)
        alone["q"] = call["q"][index][None].clone()
        for name in ("seqused_kv", "ori_block_table", "cmp_block_table"):
            if call.get(name) is not None:
                alone[name] = call[name][request : request + 1].clone()
        for name in ("ori_sparse_indices", "cmp_sparse_indices"):
            if call.get(name) is not None:
                alone[name] = call[name][index][None].clone()
        position = int(call["seqused_kv"][request]) - count + place
        # A single query is the last token of its sequence; with slots, which reach anywhere, only if it was before.
        slots = call.get("ori_sparse_indices") is not None and call.get("cmp_sparse_indices") is None
        if position < 0 or call["ori_win_right"] or (slots and place + 1 < count):
            continue
        alone["seqused_kv"] = ints(position + 1)
        for name in ("ori_block_table", "cmp_block_table"):
            # A table of another width than the batch's.
            if alone.get(name) is not None:
                alone[name] = torch.cat([alone[name], alone[name].new_full((1, 9), -1)], 1)
        found, _ = module.sparse_attention(**alone)
        assert torch.equal(found[0], together[index])


FAKE = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from confbag.kernels.attention.reference import attention
from confbag.kernels.dsv4.sparse_attention.cases import BOUNDARIES
from confbag.kernels.dsv4.sparse_attention.reference import sparse_attention

_setup_privateuseone_for_python_backend(rename="npu")
with FakeTensorMode(allow_non_fake_inputs=False):
    def of(*shape, dtype=torch.int32):
        return torch.empty(shape, dtype=dtype, device="npu:0")
    kv = of(9, 16, 1, 4, dtype=torch.float32)
    q = of(6, 2, 4, dtype=torch.float32)
    lengths = dict(cu_seqlens_q=of(4), seqused_kv=of(3), sinks=of(2, dtype=torch.float32), metadata=of(1024))
    window = dict(ori_kv=kv, ori_block_table=of(3, 5), ori_win_left=7, **lengths)
    compressed = dict(cmp_kv=kv, cmp_block_table=of(3, 2), cmp_ratio=4, **window)
    for more in (window, compressed, dict(cmp_sparse_indices=of(6, 1, 8), **compressed),
                 dict(ori_sparse_indices=of(6, 1, 8), **window)):
        found, lse = sparse_attention(q, layout_q="TND", **more)
        print(found.device, tuple(found.shape), tuple(lse.shape))
    del window["cu_seqlens_q"]
    print(tuple(sparse_attention(q.view(3, 2, 2, 4), seqused_q=of(3), **window)[0].shape))
    flat = kv.view(-1, 1, 4)
    print(attention(q, flat, flat, of(4, 40), of(3), of(3), of(3), 1.0, 7, None, flat, of(4, 9), 4).device)
"""


def test_nothing_waits_for_a_device():
    """A fake tensor has no values: reading one, or a shape that follows from one, is an error."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", FAKE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*["npu:0 (6, 2, 4) (0,)"] * 4, "(3, 2, 2, 4)", "npu:0"]


def test_it_writes_no_operand():
    call, untouched = compressed(), compressed()
    sparse_attention(**call)
    for name, value in untouched.items():
        assert torch.equal(call[name], value) if isinstance(value, torch.Tensor) else call[name] == value


# The edges


@pytest.fixture(params=["one by one", "masked"])
def either_way(request, monkeypatch):
    if request.param == "masked":
        monkeypatch.setattr(reference, "_one_by_one", lambda q: False)


def test_a_query_that_sees_nothing_is_zero(either_way):
    for sinks in (torch.tensor([0.3, 9.0]), None):
        found = agree(small(seqused_kv=ints(0, 3), sinks=sinks))
        assert not found[:2].any()
        assert found[2].all()


def test_queries_before_the_first_token_see_what_lies_to_the_right(either_way):
    call = compressed(seqused_kv=ints(1, 1))
    found = agree(call)
    assert not found[0].any()  # p = -1
    assert agree({**call, "ori_win_right": 1})[0].all()
    # and no compressed token, whatever the ratio
    one = agree({**call, "ori_win_right": 1, "cmp_ratio": 1})[0]
    assert torch.equal(one, agree({**call, "ori_win_right": 1})[0])


def test_a_request_may_have_no_queries(either_way):
    agree(small(cu_seqlens_q=ints(0, 3, 3)))
    agree(small(cu_seqlens_q=ints(0, 0, 3), seqused_kv=ints(0, 3)))


def test_rows_of_nobody_are_zero(either_way):
    found = agree(small(q=torch.randn(5, 2, 4)))
    assert not found[3:].any()
    found = agree(bsnd(seqused_q=ints(2, 1)))
    assert not found[1, 1].any()


def test_metadata_changes_nothing():
    one, _ = sparse_attention(**small())
    other, _ = sparse_attention(**small(metadata=torch.full((1024,), 7, dtype=INT32)))
    assert torch.equal(one, other)


def test_a_negative_entry_is_skipped_and_under_the_switch_an_error(either_way, monkeypatch):
    indices = torch.tensor([[[-1, 1]], [[0, 2]], [[0, 99]]], dtype=INT32)
    call = compressed(cmp_sparse_indices=indices, ori_win_left=0)
    found, _ = sparse_attention(**call)
    without = torch.tensor([[[1, -1]], [[0, 2]], [[0, 99]]], dtype=INT32)
    # Token 0 stands at position 4 and sees two compressed tokens: entry 0 is skipped, entry 1 is taken.
    only, _ = sparse_attention(**compressed(cmp_sparse_indices=without[:, :, :1].contiguous(), ori_win_left=0))
    assert torch.equal(found[0], only[0])
    monkeypatch.setattr("confbag.kernels.checks.bounds._switched_on", True)
    with pytest.raises(ValueError, match=r"cmp_sparse_indices\[0, 0\]: expected one of the 2 compressed.*found -1"):
        sparse_attention(**call)


def test_an_entry_beyond_what_is_visible_is_an_error():
    indices = torch.tensor([[[0, 2]], [[0, 2]], [[0, -1]]], dtype=INT32)
    with pytest.raises(ValueError, match=r"cmp_sparse_indices\[0, 1\]: expected one of the 2 compressed.*found 2"):
        sparse_attention(**compressed(cmp_sparse_indices=indices))


def test_entries_may_come_in_any_order(either_way):
    forwards = compressed(cmp_sparse_indices=torch.tensor([[[0, 1]], [[0, 1]], [[0, -1]]], dtype=INT32))
    backwards = {**forwards, "cmp_sparse_indices": torch.tensor([[[1, 0]], [[1, 0]], [[0, -1]]], dtype=INT32)}
    torch.testing.assert_close(agree(forwards), agree(backwards))


def test_slots_end_at_the_first_negative_one(either_way):
    slots = torch.tensor([[[3, 0, -1, 99]], [[-1, 3, 0, 3]], [[5, 5, 5, 99]]], dtype=INT32)
    # neither window nor causality nor block table count; at most seqused_kv entries do (3 for the last request)
    found = agree(small(ori_sparse_indices=slots, ori_block_table=torch.full((2, 1), -1, dtype=INT32)))
    assert not found[1].any()


def test_scfa_ignores_slots(either_way):
    indices = torch.tensor([[[0, 1]], [[0, 1]], [[0, -1]]], dtype=INT32)
    slots = torch.full((3, 1, 2), 10**6, dtype=INT32)
    plain, _ = sparse_attention(**compressed(cmp_sparse_indices=indices))
    with_slots, _ = sparse_attention(**compressed(cmp_sparse_indices=indices, ori_sparse_indices=slots))
    assert torch.equal(plain, with_slots)


def test_entries_of_the_tables_that_are_not_needed_are_not_read(either_way):
    table = torch.tensor([[-1, 0, 77], [3, -5, 10**9]], dtype=INT32)  # the window of request 0 begins in its page 1
    cache = small()["ori_kv"].clone()
    cache[[1, 2]] = math.nan
    agree(small(ori_block_table=table, ori_win_left=0, ori_kv=cache))


def test_a_window_larger_than_the_sequence_is_clamped(either_way):
    whole = agree(small(ori_win_left=5))
    for window in (127, 2**32 - 1):
        torch.testing.assert_close(whole, agree(small(ori_win_left=window)))
    agree(small(ori_win_left=2**32 - 1, ori_win_right=2**32 - 1))


def test_content_that_is_seen_twice_counts_twice(either_way):
    row = torch.tensor([[1.0, 2.0]])
    call = {
        "q": torch.zeros(1, 1, 2),
        "ori_kv": row.view(1, 1, 1, 2),
        "cmp_kv": 3 * row.view(1, 1, 1, 2),
        "ori_block_table": ints(0)[None],
        "cmp_block_table": ints(0)[None],
        "cu_seqlens_q": ints(0, 1),
        "seqused_kv": ints(1),
        "metadata": torch.zeros(1024, dtype=INT32),
        "cmp_ratio": 1,
        "ori_win_left": 0,
        "layout_q": "TND",
    }
    assert sparse_attention(**call)[0].flatten().tolist() == [2, 4]


def test_the_default_scale_weighs_every_row_alike():
    call = small(seqused_kv=ints(2, 2), sinks=torch.zeros(2), ori_win_left=1)
    del call["softmax_scale"]
    rows = call["ori_kv"][2, :2, 0]
    torch.testing.assert_close(sparse_attention(**call)[0][1], (rows.sum(0) / 3).expand(2, -1))


def test_a_sink_is_a_full_logit_and_not_only_a_floor():
    low, high = small(sinks=torch.tensor([-1e4, 30.0])), small(sinks=None)
    found = agree(low)
    torch.testing.assert_close(found[:, 0], agree(high)[:, 0])
    assert float(found[:, 1].abs().max()) < 1e-9


def test_a_compressed_cache_without_pages_is_allowed_where_none_is_needed(either_way):
    empty = torch.empty(0, 2, 1, 4)
    call = compressed(seqused_kv=ints(1, 1), cu_seqlens_q=ints(0, 1, 2), cmp_kv=empty)
    agree(call)
    with pytest.raises(
        ValueError, match=r"cmp_block_table: expected at least one page a request, found shape \[2, 0\]"
    ):
        sparse_attention(**{**call, "cmp_block_table": torch.empty(2, 0, dtype=INT32)})
    with pytest.raises(IndexError, match=r"cmp_block_table\[0, 0\]: expected a page in \[0, 0\), found 1"):
        sparse_attention(**{**call, "seqused_kv": ints(2, 1)})


# What is refused


def meta(tensor):
    return tensor.to("meta")


WRONG = {
    "q of integers": (small(q=torch.ones(3, 2, 4, dtype=torch.int64)), TypeError, "q: expected dtype .*found int64"),
    "no q": (small(q=None), TypeError, "q: expected a tensor"),
    "q of another rank": (small(q=torch.randn(3, 4)), ValueError, r"q: expected 3 dimension\(s\)"),
    "TND given as BSND": (bsnd(q=torch.randn(3, 2, 4)), ValueError, r"q: expected 4 dimension\(s\)"),
    "strided q": (small(q=torch.randn(3, 4, 2).mT), ValueError, "q: expected a contiguous tensor"),
    "no query token": (small(q=torch.randn(0, 2, 4)), ValueError, r"q: expected at least one .*\[0, 2, 4\]"),
    "strided ori_kv": (
        small(ori_kv=torch.randn(4, 4, 1, 8)[..., ::2]),
        ValueError,
        "ori_kv: expected a contiguous tensor",
    ),
    "strided cmp_kv": (
        compressed(cmp_kv=torch.randn(3, 2, 1, 8)[..., ::2]),
        ValueError,
        "cmp_kv: expected a contiguous tensor",
    ),
    "no ori_kv": (small(ori_kv=None), TypeError, "ori_kv: expected a tensor of float32, found None"),
    "ori_kv of another dtype": (
        small(ori_kv=torch.randn(4, 4, 1, 4).half()),
        TypeError,
        "ori_kv: expected dtype float32, found float16",
    ),
    "cmp_kv of another dtype": (
        compressed(cmp_kv=torch.randn(3, 2, 1, 4).bfloat16()),
        TypeError,
        "cmp_kv: expected dtype float32, found bfloat16",
    ),
    "ori_kv of another head size": (
        small(ori_kv=torch.randn(4, 4, 1, 8)),
        ValueError,
        r"ori_kv: expected shape .* 4\]",
    ),
    "two heads": (small(ori_kv=torch.randn(4, 4, 2, 4)), ValueError, r"ori_kv: expected shape \[any, any, 1, 4\]"),
    "no page": (small(ori_kv=torch.randn(0, 4, 1, 4)), ValueError, "ori_kv: expected at least one page"),
    "pages of nothing": (small(ori_kv=torch.randn(4, 0, 1, 4)), ValueError, "ori_kv: expected pages of at least"),
    "no ori_block_table": (small(ori_block_table=None), TypeError, "ori_block_table: expected a tensor of int32"),
    "another rank of table": (small(ori_block_table=ints(2, 3)), ValueError, r"ori_block_table: expected 2 dim"),
    "int64 table": (
        small(ori_block_table=torch.zeros(2, 2, dtype=torch.int64)),
        TypeError,
        "ori_block_table: expected dtype int32, found int64",
    ),
    "a table of padded rows": (
        small(ori_block_table=torch.zeros(5, 2, dtype=INT32)),
        ValueError,
        r"ori_block_table: expected shape \[2, any\], found \[5, 2\]",
    ),
    "an empty table": (small(ori_block_table=torch.zeros(2, 0, dtype=INT32)), ValueError, "at least one page a req"),
    "no cmp_block_table": (compressed(cmp_block_table=None), TypeError, "cmp_block_table: expected a tensor of int32"),
    "no cu_seqlens_q": (small(cu_seqlens_q=None), TypeError, "cu_seqlens_q: expected a tensor of int32, found None"),
    "cu_seqlens_q with BSND": (bsnd(cu_seqlens_q=ints(0, 1, 2)), ValueError, "cu_seqlens_q: expected None with layout"),
    "no request": (
        small(cu_seqlens_q=ints(0), seqused_kv=ints()),
        ValueError,
        r"cu_seqlens_q: expected shape \[B \+ 1\]",
    ),
    "seqused_q with TND": (small(seqused_q=ints(2, 1)), ValueError, "seqused_q: expected None with layout_q TND"),
    "seqused_q of another length": (bsnd(seqused_q=ints(2)), ValueError, r"seqused_q: expected shape \[2\]"),
    "no seqused_kv": (small(seqused_kv=None), TypeError, "seqused_kv: expected a tensor of int32, found None"),
    "padded seqused_kv": (
        small(seqused_kv=ints(6, 3, 1)),
        ValueError,
        r"seqused_kv: expected shape \[2\], found \[3\]",
    ),
    "int64 lengths": (small(seqused_kv=ints(6, 3).long()), TypeError, "seqused_kv: expected dtype int32, found int64"),
    "int64 unused lengths": (small(cu_seqlens_ori_kv=ints(0).long()), TypeError, "cu_seqlens_ori_kv: expected dtype"),
    "int64 unused lengths too": (small(cu_seqlens_cmp_kv=ints(0).long()), TypeError, "cu_seqlens_cmp_kv: expected"),
    "sinks of another dtype": (small(sinks=torch.zeros(2).half()), TypeError, "sinks: expected dtype float32"),
    "sinks of another length": (small(sinks=torch.zeros(3)), ValueError, r"sinks: expected shape \[2\], found \[3\]"),
    "no metadata": (small(metadata=None), TypeError, "metadata: expected a tensor of int32, found None"),
    "metadata of another length": (small(metadata=torch.zeros(1023, dtype=INT32)), ValueError, r"metadata: .*\[1023\]"),
    "metadata of another dtype": (small(metadata=torch.zeros(1024)), TypeError, "metadata: expected dtype int32"),
    "compressed indices without cmp_kv": (
        small(cmp_sparse_indices=torch.zeros(3, 1, 4, dtype=INT32)),
        ValueError,
        "cmp_sparse_indices: expected None without cmp_kv",
    ),
    "indices of another shape": (
        compressed(cmp_sparse_indices=torch.zeros(2, 1, 4, dtype=INT32)),
        ValueError,
        r"cmp_sparse_indices: expected shape \[3, 1, any\], found \[2, 1, 4\]",
    ),
    "int64 indices": (
        compressed(cmp_sparse_indices=torch.zeros(3, 1, 4, dtype=torch.int64)),
        TypeError,
        "cmp_sparse_indices: expected dtype int32",
    ),
    "no entries": (
        compressed(cmp_sparse_indices=torch.zeros(3, 1, 0, dtype=INT32)),
        ValueError,
        "cmp_sparse_indices: expected at least one entry",
    ),
    "slots with BSND": (
        bsnd(ori_sparse_indices=torch.zeros(2, 2, 1, 4, dtype=INT32)),
        ValueError,
        "ori_sparse_indices: expected None with layout_q BSND",
    ),
    "no slots": (
        small(ori_sparse_indices=torch.zeros(3, 1, 0, dtype=INT32)),
        ValueError,
        "ori_sparse_indices: expected at least one entry",
    ),
    "a negative window": (small(ori_win_left=-1), ValueError, r"ori_win_left: expected an integer from 0 .*found -1"),
    "a negative right window": (small(ori_win_right=-1), ValueError, "ori_win_right: expected an integer from 0"),
    "a window beyond uint32": (small(ori_win_left=2**32), ValueError, "ori_win_left: expected an integer from 0 to"),
    "a window of no integer": (small(ori_win_left=1.5), TypeError, "ori_win_left: expected an integer, found 1.5"),
    "a negative scale": (small(softmax_scale=-1.0), ValueError, "softmax_scale: expected a finite number"),
    "a scale of nan": (small(softmax_scale=math.nan), ValueError, "softmax_scale: expected a finite number"),
    "a scale of text": (small(softmax_scale="1"), TypeError, "softmax_scale: expected a number, found '1'"),
    "no ratio": (compressed(cmp_ratio=0), ValueError, "cmp_ratio: expected at least 1, since cmp_kv is given, found 0"),
    "a negative ratio": (small(cmp_ratio=-1), ValueError, "cmp_ratio: expected an integer from 0"),
    "another mask of the window": (small(ori_mask_mode=3), ValueError, "ori_mask_mode: expected 4"),
    "another mask of the compressed": (small(cmp_mask_mode=4), ValueError, "cmp_mask_mode: expected 3"),
    "another layout": (small(layout_q="BNSD"), ValueError, "layout_q: expected TND or BSND, found 'BNSD'"),
    "another layout of the cache": (small(layout_kv="BSND"), ValueError, "layout_kv: expected PA_ND, found 'BSND'"),
    "lse": (small(return_softmax_lse=True), ValueError, "return_softmax_lse: expected False, found True"),
}
for _name in ("ori_kv", "ori_block_table", "cu_seqlens_q", "seqused_kv", "sinks", "metadata"):
    WRONG[f"{_name} on another device"] = (
        small(**{_name: meta(small()[_name])}),
        ValueError,
        f"{_name}: expected a tensor on cpu, .*found one on meta",
    )
for _name in ("cmp_kv", "cmp_block_table"):
    WRONG[f"{_name} on another device"] = (
        compressed(**{_name: meta(compressed()[_name])}),
        ValueError,
        f"{_name}: expected a tensor on cpu",
    )


@pytest.mark.parametrize("provider", EVERY)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_the_contract_does_not_allow_is_refused(provider, wrong):
    call, error, message = WRONG[wrong]
    with pytest.raises(error, match=message):
        EVERY[provider].sparse_attention(**call)


@pytest.mark.parametrize("provider", EVERY)
def test_the_window_must_be_passed(provider):
    call = small()
    del call["ori_win_left"]
    with pytest.raises(ValueError, match="ori_win_left: expected the window, found none"):
        EVERY[provider].sparse_attention(**call)
    sparse_attention(**call, ori_win_left=128)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (small(cu_seqlens_q=ints(1, 2, 3)), ValueError, r"cu_seqlens_q\[0\]: expected 0, found 1"),
        (small(cu_seqlens_q=ints(0, 3, 2)), ValueError, r"cu_seqlens_q\[2\]: expected at least the 3 .* found 2"),
        (small(cu_seqlens_q=ints(0, 2, 4)), ValueError, r"cu_seqlens_q\[2\]: expected at most the 3 tokens .* found 4"),
        (small(seqused_kv=ints(6, -1)), ValueError, r"seqused_kv\[1\]: expected at least 0, found -1"),
        (bsnd(seqused_q=ints(2, 3)), ValueError, r"seqused_q\[1\]: expected between 0 and 2, the rows of q, found 3"),
        (small(seqused_kv=ints(9, 3)), IndexError, r"ori_block_table\[0\]: expected an entry 2, .*found 2 entries"),
        (small(seqused_kv=ints(6, 5)), IndexError, r"ori_block_table\[1, 1\]: expected a page in \[0, 4\), found -1"),
        (
            small(ori_sparse_indices=torch.tensor([[[1]], [[16]], [[0]]], dtype=INT32)),
            IndexError,
            r"ori_sparse_indices\[1, 0\]: expected a slot below 16, found 16",
        ),
        (compressed(cmp_ratio=1), IndexError, r"cmp_block_table\[0\]: expected an entry 2, .*found 2 entries"),
        (
            compressed(cmp_block_table=torch.tensor([[1, 3], [0, -1]], dtype=INT32)),
            IndexError,
            r"cmp_block_table\[0, 1\]: expected a page in \[0, 3\), found 3",
        ),
    ],
)
def test_values_out_of_range_are_refused_on_the_cpu(call, error, message):
    with pytest.raises(error, match=message):
        sparse_attention(**call)


def native(**changed):
    """A call in the sizes of the native ops."""
    operands = Shape(((40, 2),), ratio=4, topk=512).operands("cpu")._asdict()
    return {**operands, **changed}


def test_out_of_range_is_passed_over_where_values_are_not_checked(as_on_a_device, monkeypatch):
    monkeypatch.setattr(reference, "reference_checks_values", lambda q: False)
    cut = agree(small(seqused_kv=ints(6, 3), ori_win_left=0))
    call = small(ori_block_table=torch.tensor([[2, 0], [99, -1]], dtype=INT32), ori_win_left=0)
    found, _ = sparse_attention(**call)
    assert torch.equal(found[:2], cut[:2])
    assert not found[2].any()


@pytest.mark.parametrize("provider", BINDINGS)
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"q": torch.randn(2, 64, 512)}, TypeError, "ori_kv: expected dtype float32, found bfloat16"),
        ({"sinks": None}, TypeError, "sinks: expected a tensor of float32, found None"),
        ({"ori_block_table": torch.zeros(1, 4, dtype=INT32)[:, ::2]}, ValueError, "ori_block_table: expected a contig"),
    ],
)
def test_what_both_native_ops_do_not_take_is_refused(provider, changed, error, message):
    with pytest.raises(error, match=message):
        BINDINGS[provider].sparse_attention(**native(**changed))


def test_native_ops_take_no_float32():
    call = native()
    for name in ("q", "ori_kv", "cmp_kv"):
        call[name] = call[name].float()
    for binding in BINDINGS.values():
        with pytest.raises(TypeError, match="q: expected dtype bfloat16 or float16, found float32"):
            binding.sparse_attention(**call)


def caches(page, heads=64, size=512, compressed_page=16):
    kv, compressed_kv = torch.zeros(9, page, 1, size).bfloat16(), torch.zeros(9, compressed_page, 1, size).bfloat16()
    q = torch.zeros(2, heads, size).bfloat16()
    return {"q": q, "ori_kv": kv, "cmp_kv": compressed_kv, "sinks": torch.zeros(heads)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (caches(16, heads=32), "q: expected 64 heads, found 32"),
        (caches(16, size=128), "q: expected a head size of 512, found 128"),
        (caches(8), "ori_kv: expected pages of a multiple of 16 up to 1024, found 8"),
        (caches(1040), "ori_kv: expected pages of a multiple of 16 up to 1024, found 1040"),
        (caches(16, compressed_page=1), "cmp_kv: expected pages of a multiple of 16 up to 1024, found 1"),
        ({"cmp_ratio": 2}, "cmp_ratio: expected 4 or 128, found 2"),
        (
            {"cmp_sparse_indices": torch.zeros(2, 1, 128, dtype=INT32)},
            "cmp_sparse_indices: expected 512 or 1024 entries a token, found 128",
        ),
        (
            {"ori_sparse_indices": torch.zeros(2, 1, 100, dtype=INT32)},
            "ori_sparse_indices: expected a multiple of 128 entries a token, up to 2048, found 100",
        ),
        ({"ori_sparse_indices": torch.zeros(2, 1, 2176, dtype=INT32)}, "ori_sparse_indices: .* found 2176"),
    ],
)
def test_the_fixed_shapes_of_the_npu_op(changed, message):
    with pytest.raises(ValueError, match=message):
        torch_npu.sparse_attention(**native(**changed))


def test_bindings_check_values_under_the_switch(bounds_checked):
    for binding in BINDINGS.values():
        with pytest.raises(ValueError, match=r"seqused_kv\[0\]: expected at least 0, found -4"):
            binding.sparse_attention(**native(seqused_kv=ints(-4)))


# The bindings, on ops of the real schemas with kernels that record

RECORDED = """
import sys, torch
from confbag.backends.bind.native import verify
from confbag.backends.declare.requires import NativeOp
from confbag.kernels.checks.agreement import difference
from confbag.kernels.dsv4.sparse_attention import reference, torch_npu, torch_npu_custom, triton
from confbag.kernels.dsv4.sparse_attention.cases import BOUNDARIES, cases
from confbag.kernels.dsv4.sparse_attention.contract import CUSTOM_SCHEMA, NPU_SCHEMA

calls, libraries = [], []
def recording(schema, binding):
    name = schema.partition("(")[0]
    try:
        binding.sparse_attention(*next(cases("cpu", 0)).arguments())
    except AttributeError as error:
        print("missing:", error)
    library = torch.library.Library(name.partition("::")[0], "FRAGMENT")
    libraries.append(library)
    library.define(schema.partition("::")[2])
    defaults = {a.name: a.default_value for a in torch._C.parse_schema(schema).arguments if a.has_default_value()}
    def kernel(q, **arguments):
        # The dispatcher leaves out what equals the schema's default.
        calls.append(defaults | arguments)
        return reference.sparse_attention(q, **calls[-1])
    for key in ("CPU", "PrivateUse1"):
        library.impl(name.partition("::")[2], kernel, key)
    print(verify(torch, NativeOp(schema), "npu", None))
    for case in cases("cpu", 3):
        said = difference(case, reference.sparse_attention, binding.sparse_attention)
        assert said is None, said
    operands = BOUNDARIES["SCFA"].operands("cpu")
    del calls[:]
    out, lse = binding.sparse_attention(*operands)
    (seen,) = calls
    print(out.shape == operands.q.shape, lse.numel(), seen["ori_win_left"], len(seen))

recording(NPU_SCHEMA, torch_npu)
recording(CUSTOM_SCHEMA, torch_npu_custom)
older = NPU_SCHEMA.replace("ori_win_left=128", "ori_win_left=127")
print(verify(torch, NativeOp(older), "npu", "sgl-kernel-npu"))
"""


def test_bindings_pass_every_argument_by_its_name(monkeypatch):
    """The window too where it is the default of one schema or the other: seen before the dispatcher drops defaults."""
    names = list(inspect.signature(sparse_attention).parameters)
    for binding, namespace, op in (
        (torch_npu, torch.ops.npu, "sparse_attn_sharedkv"),
        (torch_npu_custom, torch.ops.custom, "npu_sparse_attn_sharedkv"),
    ):
        seen = []
        monkeypatch.setattr(
            namespace, op, lambda seen=seen, **arguments: seen.append(arguments) or (1, 2), raising=False
        )
        for window in (127, 128, 132):
            assert binding.sparse_attention(**native(ori_win_left=window)) == (1, 2)
            assert list(seen[-1]) == names
            assert seen[-1]["ori_win_left"] == window


def test_bindings_on_ops_of_the_real_schemas():
    done = subprocess.run([sys.executable, "-W", "error", "-c", RECORDED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("missing:")
    assert lines[1:3] == ["None", "True 0 127 22"]
    assert lines[3].startswith("missing:")
    assert lines[4:6] == ["None", "True 0 127 22"]
    assert lines[6].startswith("op-schema: npu::sparse_attn_sharedkv")


# The plan


def plan_on(arch="ascend910_93", **settings):
    packages = {"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.8.0", "custom-ops": "1.0"}
    ops = settings.pop("native_ops", None)
    platform = Platform("npu", arch, packages={**packages, **settings.pop("packages", {})}, native_ops=ops)
    model = {"model.kind": "dsv4", "model.num_heads": 64, "model.num_kv_heads": 1, "model.head_dim": 512}
    plan = make_plan(load(env={}, overrides={**model, "model.dtype": "bfloat16", **settings}), platform)
    binding = plan["dsv4.sparse_attention@decode"]
    return binding.provider, {rejection.provider: rejection for rejection in binding.rejected[::-1]}


@pytest.mark.parametrize("arch", ["ascend910b", "ascend910_93"])
def test_the_plan_takes_the_npu_op(arch):
    assert plan_on(arch)[0] == "torch_npu"


def test_without_it_the_custom_one_and_then_the_reference():
    old = {"sgl-kernel-npu": "2026.5.1"}
    provider, rejected = plan_on(packages=old)
    assert provider == "torch_npu_custom"
    found = rejected["torch_npu"]
    assert (found.code, found.required, found.actual) == (
        "package-version",
        "sgl-kernel-npu>=2026.8.0",
        "sgl-kernel-npu 2026.5.1",
    )
    provider, rejected = plan_on(native_ops=("npu::compressor(Tensor x) -> Tensor",))
    assert provider == "reference"
    assert {rejected[name].code for name in BINDINGS} == {"op-missing"}


@pytest.mark.parametrize(
    ("settings", "code", "field"),
    [
        ({"parallel.tp_size": 2}, "topology", "model.heads_per_rank"),
        ({"model.num_heads": 128}, "topology", "model.heads_per_rank"),
        ({"model.head_dim": 128}, "head-size", "model.head_dim"),
        ({"model.num_kv_heads": 2}, "feature", "model.num_kv_heads"),
        ({"model.dtype": "float32"}, "dtype", "model.dtype"),
        ({"memory.kv_cache_dtype": "fp8_e4m3"}, "dtype", "memory.kv_cache"),
        ({"memory.page_size": 24}, "page-size", "memory.page_size"),
        ({"memory.page_size": 2048}, "page-size", "memory.page_size"),
    ],
)
def test_the_fixed_shapes_are_requirements(settings, code, field):
    provider, rejected = plan_on(**settings)
    assert provider != "torch_npu"
    found = rejected["torch_npu"]
    assert (found.code, found.field) == (code, field)


def test_on_gpus_the_plan_takes_the_triton_kernel():
    platform = Platform("cuda", "sm90", packages={"torch": "2.14.0", "triton": "3.6.0"})
    plan = make_plan(load(env={}, overrides={"model.kind": "dsv4", "model.dtype": "bfloat16"}), platform)
    assert plan["dsv4.sparse_attention@prefill"].provider == "triton"


def test_more_ranks_are_no_matter_with_more_heads():
    assert plan_on(**{"model.num_heads": 128, "parallel.tp_size": 2})[0] == "torch_npu"


def test_on_ascend950_the_op_is_missing():
    _, rejected = plan_on("ascend950", native_ops=("npu::other(Tensor x) -> Tensor",))
    assert rejected["torch_npu"].code == "op-missing"
    assert rejected["torch_npu"].field == "npu::sparse_attn_sharedkv"


@pytest.mark.parametrize("name", BOUNDARIES)
def test_native_cases_are_within_the_contract(name):
    case = next(case for case in cases("cpu", 0) if case.name == name)
    assert difference(case, reference.sparse_attention, reference.sparse_attention) is None
