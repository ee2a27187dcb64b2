"""kvcache.last_loc: its meaning, and every implementation against it (Triton through its interpreter)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from confbag.kernels.checks.agreement import difference
from confbag.kernels.last_loc import reference, triton, triton_int32_safe
from confbag.kernels.last_loc.cases import Shape, cases

IMPLEMENTATIONS = {"reference": reference, "triton": triton, "triton_int32_safe": triton_int32_safe}
KERNELS = {name: module for name, module in IMPLEMENTATIONS.items() if name != "reference"}


@pytest.fixture(params=IMPLEMENTATIONS)
def last_loc(request):
    return IMPLEMENTATIONS[request.param].last_loc


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param].last_loc


@pytest.fixture
def poisoned_memory():
    """New tensors are filled with poison instead of whatever was there."""
    torch.use_deterministic_algorithms(True)
    assert torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.use_deterministic_algorithms(False)


def ints(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


def table(requests=4, max_context=10):
    return (100 + 10 * torch.arange(requests)[:, None] + torch.arange(max_context)).to(torch.int32)


@pytest.mark.parametrize("request_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("prefix_dtype", [torch.int32, torch.int64])
def test_worked_example(last_loc, request_dtype, prefix_dtype):
    found = last_loc(table(), ints(2, 0, 3, 1, dtype=request_dtype), ints(3, 0, 10, 1, dtype=prefix_dtype))
    assert found.tolist() == [122, -1, 139, 110]
    assert found.dtype is prefix_dtype


CASES = list(cases("cpu", 200))


@pytest.mark.parametrize("case", CASES, ids=[str(number) for number in range(len(CASES))])
def test_kernels_agree_with_the_reference(case, kernel, poisoned_memory):
    assert difference(case, reference.last_loc, kernel) is None


@settings(max_examples=100)
@given(
    st.builds(
        Shape,
        count=st.integers(0, 520),
        requests=st.integers(1, 9),
        max_context=st.integers(1, 70),
        extra_columns=st.integers(0, 3),
        request_dtype=st.sampled_from([torch.int32, torch.int64]),
        prefix_dtype=st.sampled_from([torch.int32, torch.int64]),
        prefixes=st.sampled_from(["any", "empty", "negative", "one", "full"]),
        shift=st.integers(0, 3),
        seed=st.integers(0, 2**32),
    )
)
def test_every_implementation_looks_the_slot_up(shape):
    for module in IMPLEMENTATIONS.values():
        req_to_token, req_pool_indices, prefix_lens = shape.arguments("cpu")
        wanted = [
            int(req_to_token[request, prefix - 1]) if prefix > 0 else -1
            for request, prefix in zip(req_pool_indices.tolist(), prefix_lens.tolist(), strict=True)
        ]
        found = module.last_loc(req_to_token, req_pool_indices, prefix_lens)
        assert found.tolist() == wanted
        assert found.dtype is prefix_lens.dtype
        untouched = shape.arguments("cpu")
        for one, other in zip((req_to_token, req_pool_indices, prefix_lens), untouched, strict=True):
            assert torch.equal(one, other)


def test_extreme_slots_keep_their_value(last_loc):
    extremes = torch.tensor([[2**31 - 1, -(2**31)]], dtype=torch.int32)
    assert last_loc(extremes, ints(0, 0), ints(1, 2)).tolist() == [2**31 - 1, -(2**31)]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int16, torch.float32])
def test_a_table_of_another_dtype_is_refused(last_loc, dtype):
    with pytest.raises(TypeError, match=rf"req_to_token: expected dtype int32, found {dtype}".replace("torch.", "")):
        last_loc(table().to(dtype), ints(0), ints(1))


@pytest.mark.parametrize("name", ["req_pool_indices", "prefix_lens"])
@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.bool])
def test_indices_of_another_dtype_are_refused(last_loc, name, dtype):
    operands = {"req_pool_indices": ints(0), "prefix_lens": ints(1)}
    operands[name] = operands[name].to(dtype)
    with pytest.raises(TypeError, match=f"{name}: expected dtype int32 or int64, found"):
        last_loc(table(), *operands.values())


def test_a_missing_operand_is_refused(last_loc):
    with pytest.raises(TypeError, match="prefix_lens: expected a tensor of int32 or int64, found None"):
        last_loc(table(), ints(0), None)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ((table()[0], ints(0), ints(1)), r"req_to_token: expected 2 dimension\(s\), found shape \[10\]"),
        ((table(), ints(0)[None], ints(1)), r"req_pool_indices: expected 1 dimension\(s\)"),
        ((table(), ints(0, 1), ints(1)), r"prefix_lens: expected shape \[2\], found \[1\]"),
        ((table(), ints(0), ints(1, 2)), r"prefix_lens: expected shape \[1\], found \[2\]"),
        ((table(), ints(0), torch.ones(1, dtype=torch.int64, device="meta")), "prefix_lens: expected a tensor on cpu"),
    ],
)
def test_other_shapes_and_devices_are_refused(last_loc, operands, message):
    with pytest.raises(ValueError, match=message):
        last_loc(*operands)


def test_kernels_refuse_layouts_that_the_reference_reads(kernel):
    columns_first = table().t().contiguous().t()
    spread = torch.tensor([2, 9, 0, 9, 3, 9, 1, 9])[::2]
    lengths = torch.tensor([3, 9, 0, 9, 10, 9, 1, 9])[::2]
    assert reference.last_loc(columns_first, spread, lengths).tolist() == [122, -1, 139, 110]
    with pytest.raises(ValueError, match=r"req_to_token: expected unit column stride, found strides \[1, 4\]"):
        kernel(columns_first, spread, lengths)
    with pytest.raises(ValueError, match=r"req_pool_indices: expected a contiguous tensor, found strides \[2\]"):
        kernel(table(), spread, lengths.contiguous())
    with pytest.raises(ValueError, match=r"prefix_lens: expected a contiguous tensor, found strides \[2\]"):
        kernel(table(), spread.contiguous(), lengths)


def test_rows_may_be_further_apart_than_they_are_long(last_loc):
    assert last_loc(table(4, 40)[:, :10], ints(2), ints(3)).tolist() == [122]


@pytest.mark.parametrize(
    ("requests", "prefixes", "message"),
    [
        ((1, 4), (1, 1), r"req_pool_indices\[1\]: expected a request in \[0, 4\), found 4"),
        ((-1,), (1,), r"req_pool_indices\[0\]: expected a request in \[0, 4\), found -1"),
        ((7,), (0,), r"req_pool_indices\[0\]: expected a request in \[0, 4\), found 7"),
        ((0, 1, 2), (1, 2, 11), r"prefix_lens\[2\]: expected at most 10 tokens.*found 11"),
        ((3000000000,), (1,), "found 3000000000"),
    ],
)
def test_out_of_range_is_an_index_error(last_loc, bounds_checked, requests, prefixes, message):
    with pytest.raises(IndexError, match=message):
        last_loc(table(), ints(*requests), ints(*prefixes))


def test_no_request_can_be_right_in_an_empty_table(last_loc, bounds_checked):
    with pytest.raises(IndexError, match=r"expected a request in \[0, 0\), found 0"):
        last_loc(table(0), ints(0), ints(0))
    with pytest.raises(IndexError, match="expected at most 0 tokens"):
        last_loc(table(1, 0), ints(0), ints(1))


def test_the_reference_always_checks_on_the_cpu():
    with pytest.raises(IndexError, match="req_pool_indices"):
        reference.last_loc(table(), ints(4), ints(1))
    with pytest.raises(IndexError, match="prefix_lens"):
        reference.last_loc(table(), ints(3), ints(11))


@pytest.mark.parametrize(("request_", "prefix"), [(-1, 1), (4, 1), (2**40, 1), (3, 11), (0, 2**40), (0, -(2**63))])
def test_kernels_read_nothing_out_of_range(kernel, request_, prefix):
    assert kernel(table(), ints(request_, 2), ints(prefix, 3)).tolist() == [-1, 122]


@pytest.fixture(scope="module")
def wide_table(tmp_path_factory):
    """2200 rows a million elements apart, beyond 2**31 elements, in a file that is nearly all hole."""
    path = tmp_path_factory.mktemp("wide") / "table"
    elements = torch.from_file(str(path), shared=True, size=2_200_000_000, dtype=torch.int32)
    yield elements.as_strided((2200, 10), (1_000_000, 1))
    path.unlink()


@pytest.mark.parametrize("request_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("prefix_dtype", [torch.int32, torch.int64])
def test_addresses_beyond_int32_do_not_overflow(last_loc, wide_table, request_dtype, prefix_dtype):
    wide_table[2199, 9] = 41
    wide_table[0, 0] = 42
    found = last_loc(wide_table, ints(2199, 0, dtype=request_dtype), ints(10, 1, dtype=prefix_dtype))
    assert found.tolist() == [41, 42]


def test_torch_compile_traces_the_reference_whole():
    torch.compiler.reset()
    compiled = torch.compile(reference.last_loc, fullgraph=True, backend="eager")
    assert compiled(table(), ints(2, 0, 3, 1), ints(3, 0, 10, 1)).tolist() == [122, -1, 139, 110]
    for request, prefix in ((4, 1), (-1, 1), (0, 11)):
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(table(), ints(request, 0, 0, 0), ints(prefix, 0, 0, 0))
    torch.compiler.reset()
