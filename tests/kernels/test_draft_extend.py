"""speculative.draft_extend_fill: its meaning, what it refuses, and Triton (interpreted) against it."""

import inspect
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from confbag.kernels.checks.agreement import difference
from confbag.kernels.draft_extend import reference, triton
from confbag.kernels.draft_extend.cases import BOUNDARIES, Shape, cases, random_shape
from confbag.kernels.draft_extend.contract import draft_extend_fill as contract

IMPLEMENTATIONS = {"reference": reference, "triton": triton}
NAMES = tuple(inspect.signature(contract).parameters)
BUFFERS = (*NAMES[:3], *NAMES[6:12], "hidden_states", "global_num_tokens", "global_num_tokens_for_logprob")
SOURCES = tuple(name for name in NAMES if name.startswith("src_"))


@pytest.fixture(params=IMPLEMENTATIONS)
def fill(request):
    """The implementation, called with a mapping of arguments in the contract's order."""
    implementation = IMPLEMENTATIONS[request.param].draft_extend_fill
    return lambda arguments: implementation(*arguments.values())


def arguments_of(shape=BOUNDARIES["plain"], **changes):
    return {**dict(zip(NAMES, shape.arguments("cpu"), strict=True)), **changes}


def int32(*values):
    return torch.tensor(values, dtype=torch.int32)


def worked_example(**changes):
    example = {
        "input_ids": torch.full((12,), 99),
        "positions": torch.full((12,), 99),
        "out_cache_loc": torch.full((12,), 99),
        "src_input_ids": torch.tensor([11, 12, 13, 21, 22, 23]),
        "src_positions": torch.tensor([4, 5, 6, 8, 9, 10]),
        "src_out_cache_loc": torch.tensor([104, 105, 106, 208, 209, 210]),
        "seq_lens": int32(77, 77, 77, 77),
        "req_pool_indices": torch.full((4,), 55),
        "num_correct_drafts": int32(9, 8, 2, 1),
        "num_accept_tokens": int32(66, 66, 66, 66),
        "select_index": torch.full((4,), 88),
        "temperatures": torch.full((4, 1), 0.5),
        "src_seq_lens": torch.tensor([7, 11]),
        "src_req_pool_indices": torch.tensor([3, 6]),
        "src_num_correct_drafts": torch.tensor([0, 2]),
        "src_num_accept_tokens": torch.tensor([1, 3]),
        "src_temperatures": torch.tensor([0.75, 0.25]),
        "hidden_states": torch.full((12, 2), -5.0),
        "src_hidden_states": torch.arange(12.0).view(6, 2),
        "global_num_tokens": int32(0, 0),
        "global_num_tokens_for_logprob": int32(0, 0),
        "raw_bs": 2,
        "bs": 3,
        "num_tokens_per_bs": 3,
        "num_front_tokens": 0,
        "seq_len_fill_value": 1,
    }
    assert tuple(example) == NAMES
    return {**example, **changes}


def test_worked_example(fill):
    example = worked_example()
    assert fill(example) is None
    after = {name: example[name].flatten().tolist() for name in BUFFERS}
    assert after == {
        "input_ids": [11, 12, 13, 21, 22, 23, 0, 0, 0, 0, 0, 0],
        "positions": [4, 5, 6, 8, 9, 10, 0, 0, 0, 0, 0, 0],
        "out_cache_loc": [104, 105, 106, 208, 209, 210, 0, 0, 0, 0, 0, 0],
        "seq_lens": [7, 11, 1, 1],
        "req_pool_indices": [3, 6, 55, 55],
        "num_correct_drafts": [0, 2, 2, 1],
        "num_accept_tokens": [1, 3, -1, 66],
        "select_index": [0, 5, 8, 88],
        "temperatures": [0.75, 0.25, 1.0, 0.5],
        "hidden_states": [float(value) for value in range(12)] + [-5.0] * 12,
        "global_num_tokens": [9, 9],
        "global_num_tokens_for_logprob": [9, 9],
    }


def test_the_select_index_of_a_padded_row_uses_the_count_that_was_there(fill):
    example = worked_example(num_front_tokens=4)
    fill(example)
    assert example["select_index"].tolist() == [4, 9, 12, 88]
    example["src_num_correct_drafts"] = torch.tensor([1])
    example |= {name: example[name][:1] for name in ("src_seq_lens", "src_req_pool_indices", "src_num_accept_tokens")}
    example |= {"src_temperatures": torch.tensor([0.5]), "raw_bs": 1}
    fill(example)
    # Row 1 keeps the 2 of the step before.
    assert example["select_index"].tolist() == [5, 9, 12, 88]


CASES = list(cases("cpu", 200))


@pytest.mark.parametrize("case", CASES, ids=[str(number) for number in range(len(CASES))])
def test_triton_agrees_with_the_reference(case):
    assert difference(case, reference.draft_extend_fill, triton.draft_extend_fill) is None


def by_the_rules(before):
    """What the contract says is in every buffer afterwards, element by element."""
    after = {name: before[name].clone() for name in BUFFERS if before[name] is not None}
    raw_bs, bs, per_request = before["raw_bs"], before["bs"], before["num_tokens_per_bs"]
    num_tokens = len(before["src_input_ids"])
    for name in ("input_ids", "positions", "out_cache_loc"):
        for token in range(len(after[name])):
            after[name][token] = before[f"src_{name}"][token] if token < num_tokens else 0
    for row in range(len(after["seq_lens"])):
        real, batch = row < raw_bs, row < bs
        after["seq_lens"][row] = before["src_seq_lens"][row] if real else before["seq_len_fill_value"]
        if real:
            after["req_pool_indices"][row] = before["src_req_pool_indices"][row]
            after["num_correct_drafts"][row] = before["src_num_correct_drafts"][row]
        if batch:
            after["num_accept_tokens"][row] = before["src_num_accept_tokens"][row] if real else -1
            first = row * per_request + before["num_front_tokens"]
            after["select_index"][row] = first + int(after["num_correct_drafts"][row])
            if "temperatures" in after:
                after["temperatures"][row] = before["src_temperatures"].flatten()[row] if real else 1.0
    if before["src_hidden_states"] is not None:
        for token in range(num_tokens):
            after["hidden_states"][token] = before["src_hidden_states"][token]
    for name in ("global_num_tokens", "global_num_tokens_for_logprob"):
        for place in range(len(after.get(name, ()))):
            after[name][place] = bs * per_request
    return after


@settings(max_examples=60)
@given(st.integers(0, 2**32).map(random_shape))
def test_the_reference_follows_the_rules(shape):
    smaller = replace(shape, max_num_token=shape.num_tokens + shape.max_num_token % 7)
    assert_follows_the_rules(smaller)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_the_reference_follows_the_rules_at_boundaries(name):
    assert_follows_the_rules(BOUNDARIES[name])


def assert_follows_the_rules(shape):
    wanted = by_the_rules(arguments_of(shape))
    found = arguments_of(shape)
    reference.draft_extend_fill(*found.values())
    for name, buffer in wanted.items():
        assert torch.equal(buffer.view(torch.uint8), found[name].contiguous().view(torch.uint8)), name
    untouched = arguments_of(shape)
    for name in SOURCES:
        assert found[name] is untouched[name] is None or same(found[name], untouched[name]), name


def same(one, other):
    return torch.equal(one.flatten().view(torch.uint8), other.flatten().view(torch.uint8))


@settings(max_examples=60)
@given(st.integers(0, 2**32).map(random_shape))
def test_triton_follows_the_reference_anywhere(shape):
    assert difference(shape.case("cpu"), reference.draft_extend_fill, triton.draft_extend_fill) is None


def test_a_long_batch_leaves_nothing_for_a_short_one(fill):
    """Were the tail or seq_lens as the first left them, padded rows of the second would write over live slots."""
    arguments = arguments_of(Shape(raw_bs=6, bs=6, num_tokens=18, hidden=None))
    fill(arguments)
    short = arguments_of(Shape(raw_bs=1, bs=2, num_tokens=3, hidden=None, seed=1))
    fill({name: arguments[name] if name in BUFFERS else value for name, value in short.items()})
    assert not arguments["out_cache_loc"][3:].any()
    assert arguments["seq_lens"][1:].tolist() == [1] * 5


# What is refused: (what changes, the exception, its words). Nothing may have been written by then.
REFUSED = {
    "more tokens than the buffer holds": (
        lambda a: {name: torch.ones(25, dtype=torch.int64) for name in SOURCES[:3]},
        ValueError,
        "src_input_ids: expected at most 24 tokens, the length of input_ids, found 25",
    ),
    "token sources of two lengths": (
        lambda a: {"src_positions": torch.ones(8, dtype=torch.int64)},
        ValueError,
        r"src_positions: expected shape \[9\], found \[8\]",
    ),
    "a row source longer than raw_bs": (
        lambda a: {"src_seq_lens": torch.ones(4, dtype=torch.int64)},
        ValueError,
        r"src_seq_lens: expected shape \[3\], found \[4\]",
    ),
    "a row source of one": (
        lambda a: {"src_num_accept_tokens": torch.ones(1, dtype=torch.int64)},
        ValueError,
        r"src_num_accept_tokens: expected shape \[3\], found \[1\]",
    ),
    "temperatures longer than raw_bs": (
        lambda a: {"src_temperatures": torch.ones(4, 1)},
        ValueError,
        r"src_temperatures: expected shape \[3, 1\], found \[4, 1\]",
    ),
    "hidden states of another width": (
        lambda a: {"src_hidden_states": a["src_hidden_states"][:, :8].contiguous()},
        ValueError,
        r"src_hidden_states: expected shape \[9, 16\], found \[9, 8\]",
    ),
    "hidden states of another length": (
        lambda a: {"src_hidden_states": a["src_hidden_states"][:8]},
        ValueError,
        r"src_hidden_states: expected shape \[9, 16\], found \[8, 16\]",
    ),
    "hidden states of another dtype": (
        lambda a: {"src_hidden_states": a["src_hidden_states"].float()},
        TypeError,
        "src_hidden_states: expected dtype bfloat16, found float32",
    ),
    "hidden states of integers": (
        lambda a: {name: a[name].long() for name in ("hidden_states", "src_hidden_states")},
        TypeError,
        "hidden_states: expected a floating dtype, found int64",
    ),
    "a source of hidden states without a buffer": (
        lambda a: {"hidden_states": None},
        TypeError,
        "hidden_states: expected a tensor, since src_hidden_states is one, found None",
    ),
    "temperatures without a source": (
        lambda a: {"src_temperatures": None},
        TypeError,
        "src_temperatures: expected a tensor, since temperatures is one, found None",
    ),
    "flat temperatures": (
        lambda a: {"temperatures": torch.ones(6)},
        ValueError,
        r"temperatures: expected 2 dimension\(s\), found shape \[6\]",
    ),
    "raw_bs above bs": (lambda a: {"bs": 2}, ValueError, "found raw_bs 3, bs 2, max_bs 6"),
    "bs above max_bs": (lambda a: {"bs": 7}, ValueError, "found raw_bs 3, bs 7, max_bs 6"),
    "raw_bs below 0": (lambda a: {"raw_bs": -1}, ValueError, "found raw_bs -1, bs 4, max_bs 6"),
    "tokens for each request below 0": (
        lambda a: {"num_tokens_per_bs": -1},
        ValueError,
        "expected num_tokens_per_bs and num_front_tokens >= 0, found -1 and 0",
    ),
    "front tokens below 0": (lambda a: {"num_front_tokens": -2}, ValueError, "found 3 and -2"),
    "a total beyond int32": (lambda a: {"num_tokens_per_bs": 2**29}, ValueError, "in int32, found 4 [*] 536870912"),
    "a fill beyond int32": (lambda a: {"seq_len_fill_value": 2**31}, ValueError, "expected an int32.*found 2147483648"),
    "rows of two lengths": (
        lambda a: {"select_index": torch.ones(5, dtype=torch.int64)},
        ValueError,
        r"select_index: expected shape \[6\], found \[5\]",
    ),
    "token buffers of two lengths": (
        lambda a: {"out_cache_loc": torch.ones(23, dtype=torch.int64)},
        ValueError,
        r"out_cache_loc: expected shape \[24\], found \[23\]",
    ),
    "gathered buffers of two dimensions": (
        lambda a: {"global_num_tokens": torch.ones(2, 2, dtype=torch.int32)},
        ValueError,
        "global_num_tokens: expected 1 dimension",
    ),
    "a source on another device": (
        lambda a: {"src_positions": torch.ones(9, dtype=torch.int64, device="meta")},
        ValueError,
        "src_positions: expected a tensor on cpu, where the other operands are, found one on meta",
    ),
    "a floating source": (
        lambda a: {"src_seq_lens": torch.ones(3)},
        TypeError,
        "src_seq_lens: expected dtype int64 or int32 or int16 or int8 or uint8, found float32",
    ),
    "temperatures of integers": (
        lambda a: {"src_temperatures": torch.ones(3, 1, dtype=torch.int64)},
        TypeError,
        "src_temperatures: expected dtype float32 or",
    ),
}
for _name in BUFFERS[:9]:
    REFUSED[f"no {_name}"] = (
        (lambda a, name=_name: {name: None}),
        TypeError if _name != "temperatures" else None,
        f"{_name}: expected a tensor of",
    )
    REFUSED[f"{_name} in float64"] = (
        (lambda a, name=_name: {name: a[name].double()}),
        TypeError,
        f"{_name}: expected dtype .*, found float64",
    )
for _name in (*BUFFERS, *SOURCES):
    REFUSED[f"{_name} with gaps"] = (
        (lambda a, name=_name: {name: spread(a[name])}),
        ValueError,
        f"{_name}: expected a contiguous tensor, found strides",
    )
del REFUSED["no temperatures"]


def spread(tensor):
    return torch.stack([tensor, tensor], -1)[..., 0]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_is_written(fill, name):
    change, exception, message = REFUSED[name]
    arguments = arguments_of()
    arguments |= change(arguments)
    before = {name: value.clone() for name, value in arguments.items() if isinstance(value, Tensor)}
    with pytest.raises(exception, match=message):
        fill(arguments)
    for operand, value in before.items():
        assert value.is_meta or same(value, arguments[operand].contiguous()), operand


@pytest.mark.parametrize("name", ["seq_lens", "num_correct_drafts", "num_accept_tokens"])
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_a_count_that_would_wrap_is_refused(fill, bounds_checked, name, value):
    arguments = arguments_of()
    arguments[f"src_{name}"][1] = value
    before = arguments[name].clone()
    with pytest.raises(ValueError, match=rf"src_{name}\[1\]: expected a value that fits in int32.*found {value}"):
        fill(arguments)
    assert torch.equal(before, arguments[name])


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31)])
def test_the_last_count_that_fits_is_kept(fill, bounds_checked, value):
    arguments = arguments_of()
    arguments["src_seq_lens"][1] = value
    arguments["src_req_pool_indices"][1] = 2**40
    fill(arguments)
    assert arguments["seq_lens"][1] == value
    assert arguments["req_pool_indices"][1] == 2**40


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src_positions", lambda a: a["input_ids"][2:11]),
        ("src_positions", lambda a: a["positions"][1:10]),
        ("src_input_ids", lambda a: a["positions"][15:]),
        ("positions", lambda a: a["input_ids"]),
        ("src_seq_lens", lambda a: a["select_index"][:3]),
        ("global_num_tokens", lambda a: a["seq_lens"]),
        ("src_hidden_states", lambda a: a["hidden_states"][1:10]),
        ("src_num_correct_drafts", lambda a: a["num_accept_tokens"][3:]),
    ],
)
def test_shared_memory_is_refused(fill, bounds_checked, one, other):
    arguments = arguments_of()
    arguments[one] = other(arguments)
    with pytest.raises(ValueError, match=f"{one.removeprefix('src_')}.* share memory"):
        fill(arguments)


def test_a_source_may_be_the_start_of_its_own_buffer_and_sources_may_be_one(fill, bounds_checked):
    shared = arguments_of()
    shared["input_ids"].copy_(torch.arange(24))
    shared |= {"src_input_ids": shared["input_ids"][:9], "src_num_accept_tokens": shared["src_seq_lens"]}
    fill(shared)
    assert shared["input_ids"].tolist() == [*range(9), *[0] * 15]
    assert shared["num_accept_tokens"][:3].tolist() == shared["seq_lens"][:3].tolist()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_sources_of_any_width(fill, dtype):
    example = worked_example()
    example |= {
        name: example[name].to(torch.uint8).to(dtype)
        for name in SOURCES
        if not name.endswith(("hidden_states", "temperatures"))
    }
    example["src_out_cache_loc"] = torch.tensor([104, 105, 106, 107, 108, 109], dtype=dtype)
    fill(example)
    assert example["input_ids"].tolist() == [11, 12, 13, 21, 22, 23, 0, 0, 0, 0, 0, 0]
    assert example["out_cache_loc"].tolist() == [104, 105, 106, 107, 108, 109, 0, 0, 0, 0, 0, 0]
    assert example["seq_lens"].tolist() == [7, 11, 1, 1]
    assert example["select_index"].tolist() == [0, 5, 8, 88]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_temperatures_of_any_width(fill, dtype):
    example = worked_example(src_temperatures=torch.tensor([[0.75], [0.25]], dtype=dtype))
    fill(example)
    assert example["temperatures"].flatten().tolist() == [0.75, 0.25, 1.0, 0.5]


def test_what_is_absent_decides(fill):
    """The buffer decides for temperatures and the gathered counts, the source for the hidden states."""
    example = worked_example(temperatures=None, src_hidden_states=None, global_num_tokens=None)
    fill(example)
    assert example["src_temperatures"].tolist() == [0.75, 0.25]
    assert (example["hidden_states"] == -5).all()
    assert example["global_num_tokens_for_logprob"].tolist() == [9, 9]
    example = worked_example(hidden_states=None, src_hidden_states=None)
    fill(example)
    assert example["seq_lens"].tolist() == [7, 11, 1, 1]


def test_torch_compile_traces_the_reference_whole():
    torch.compiler.reset()
    compiled = torch.compile(reference.draft_extend_fill, fullgraph=True, backend="eager")
    example, wanted = worked_example(), worked_example()
    compiled(*example.values())
    reference.draft_extend_fill(*wanted.values())
    assert all(same(example[name], wanted[name]) for name in BUFFERS)
    torch.compiler.reset()


def test_the_reference_makes_no_copy_to_the_host():
    """On a device each of these would wait for it, which a captured graph cannot."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            called.add(str(function))
            return function(*args, **(kwargs or {}))

    called = set()
    arguments = {
        name: value.to("meta") if isinstance(value, Tensor) else value for name, value in worked_example().items()
    }
    with Calls():
        reference.draft_extend_fill(*arguments.values())
    assert "aten.copy_.default" in called
    assert not {
        name for name in called if any(word in name for word in ("local_scalar", "nonzero", "item", "_to_copy"))
    }
