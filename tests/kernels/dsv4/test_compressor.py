"""dsv4.compressor: its meaning, its edges, and what it refuses before it writes."""

import importlib.util
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from confbag.kernels.checks.agreement import difference
from confbag.kernels.dsv4.compressor import reference
from confbag.kernels.dsv4.compressor.cases import BOUNDARIES, ORDER, Shape, cases, native_cases, random_shape
from confbag.kernels.dsv4.compressor.rows import (
    packed_rows,
    padded_rows,
    produced_rows,
    rope_positions,
)

_spec = importlib.util.spec_from_file_location("naive_compressor", Path(__file__).with_name("naive_compressor.py"))
naive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(naive)

CONTINUOUS, EXPLICIT = 1, 2


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def in_float64(arguments):
    def convert(value):
        if not isinstance(value, torch.Tensor):
            return value
        return (value.double() if value.is_floating_point() else value).numpy().copy()

    return {name: convert(value) for name, value in arguments.items()}


def run(arguments):
    """The result and the state afterwards, the arguments themselves left alone."""
    copied = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in arguments.items()}
    return reference.compressor(**copied), copied["state_cache"]


def close(found, wanted, dtype):
    """Within one rounding of the result's dtype."""
    half_a_step = 2**-8 if dtype is torch.bfloat16 else 2**-11
    limit = np.abs(wanted) * (half_a_step * 1.05) + 1e-5 + (0 if dtype is torch.bfloat16 else 1e-4)
    assert (np.abs(found - wanted) <= limit).all(), np.abs(found - wanted).max()


def against_naive(shape):
    arguments = shape.named("cpu")
    wanted, state_wanted = naive.naive_compressor(in_float64(arguments))
    found, state = run(arguments)
    assert found.dtype is shape.dtype
    assert tuple(found.shape) == wanted.shape
    unproduced = np.isnan(wanted)
    produced = np.nonzero(~unproduced.reshape(shape.rows, -1)[:, 0])[0].tolist() if shape.rows else []
    assert produced == shape.produced()
    found = found.double().numpy()
    assert (found[unproduced] == 0).all()
    close(found[~unproduced], wanted[~unproduced], shape.dtype)
    assert np.allclose(state.double().numpy(), state_wanted, rtol=1e-5, atol=1e-5)
    written = (state_wanted != in_float64(arguments)["state_cache"]).any(-1)
    assert torch.equal(state[~torch.from_numpy(written)], arguments["state_cache"][~torch.from_numpy(written)])


@pytest.mark.parametrize("name", BOUNDARIES)
def test_the_boundaries_equal_the_formulas(name):
    against_naive(BOUNDARIES[name])


@pytest.mark.parametrize("seed", range(240))
def test_random_calls_equal_the_formulas(seed):
    against_naive(random_shape(seed))


def test_the_random_calls_cover_what_there_is():
    shapes = [random_shape(seed) for seed in range(240)]
    for field, values in {
        "cmp_ratio": {2, 4, 8, 16, 32, 64, 128},
        "coff": {1, 2},
        "rotary_mode": {1, 2},
        "cache_mode": {1, 2},
        "padded": {True, False},
        "dtype": {torch.bfloat16, torch.float16},
    }.items():
        assert {getattr(shape, field) for shape in shapes} == values
    assert sum(len(shape.produced()) > 0 for shape in shapes) > 120


def hand_made(**changed):
    """kv rows (3,0),(1,4); score rows (0, ln3),(0,0): x holds both, the gate's weights pick one element each."""
    log3 = math.log(3)
    arguments = {
        "x": torch.tensor([[3.0, 0.0], [1.0, 4.0]], dtype=torch.float16),
        "wkv": torch.eye(2, dtype=torch.float16),
        "wgate": torch.zeros(2, 2, dtype=torch.float16),
        "state_cache": torch.zeros(2, 2, 4),
        "ape": torch.tensor([[0.0, log3], [0.0, 0.0]]),
        "norm_weight": torch.ones(2),
        "rope_sin": torch.zeros(2, 0),
        "rope_cos": torch.ones(2, 0),
        "state_block_table": torch.zeros(1, 6, dtype=torch.int32),
        "cu_seqlens": ints(0, 2),
        "rope_head_dim": 0,
        "cmp_ratio": 2,
        "norm_eps": 0.0,
        "cache_mode": EXPLICIT,
    }
    return {**arguments, **changed}


def test_the_hand_checked_example():
    found, state = run(hand_made())
    assert found.shape == (2, 2)
    assert found[0].tolist() == pytest.approx([1.26491, 0.63246], abs=1e-3)
    assert found[1].tolist() == [0, 0]
    assert not state.any(), "coff 1 keeps only an unfinished tail, and there is none"


def test_group_count_and_rope_position_of_the_hand_checked_example():
    assert produced_rows(3, 1, 4) == 1
    assert rope_positions([3], [1], 4, 1) == [0]


def test_position_rows_of_a_decode_step():
    assert rope_positions([3, 4, 7, 0], [1, 1, 1, 0], 4, packed_rows(4, 4, 4)) == [0, 4, 0, 0]


def test_position_rows_of_prefill_and_verify():
    assert rope_positions([3, 8], [7, 5], 4, packed_rows(12, 2, 4)) == [0, 4, 8, 0, 0]
    # Verify: the draft token at 7 closes the group of 4; 7 + 1 - 4.
    assert rope_positions([6], [3], 4, 1) == [4]
    with pytest.raises(ValueError, match="rows: expected at least 2, which this chunk produces, found 1"):
        rope_positions([0], [8], 4, 1)


def test_counts_of_rows_are_of_tensors_too():
    assert produced_rows(ints(3, 4, 7, 0), ints(1, 1, 1, 0), 4).tolist() == [1, 0, 1, 0]
    assert packed_rows(3, 3, 4) == 3
    assert packed_rows(9, 2, 4) == 4
    assert padded_rows(9, 4) == 3
    assert padded_rows(0, 4) == 0


def whole_then_pieces(shape, pieces):
    """One request's rows and state from one call, and from calls over the pieces of it with one state."""
    whole = shape.named("cpu")
    table, history = whole["state_block_table"], shape.coff * shape.cmp_ratio
    state = whole["state_cache"].clone()
    rows, start = [], 0
    for length in pieces:
        piece = replace(shape, capacity=(length,), starts=(start,)).named("cpu")
        if shape.cache_mode == EXPLICIT:
            width = history + length
            positions = torch.arange(start - history, start + length)
            # A ring of 8 or of 128 rows, as a pool has it; what is before position 0 is the dummy.
            dummy = state.shape[0] * state.shape[1] - 1
            places = torch.where(positions < 0, dummy, positions % history)
            piece["state_block_table"] = places.to(torch.int32)[None, :width]
        else:
            piece["state_block_table"] = table
        count = produced_rows(start, length, shape.cmp_ratio)
        first = start // shape.cmp_ratio
        size = packed_rows(length, 1, shape.cmp_ratio)
        for name in ("rope_sin", "rope_cos"):
            padded = torch.zeros(size, shape.rope_head_dim)
            padded[:count] = whole[name][first : first + count]
            piece[name] = padded
        for name in ("wkv", "wgate", "ape", "norm_weight"):
            piece[name] = whole[name]
        piece["x"] = whole["x"][start : start + length]
        piece["state_cache"] = state
        rows.append(reference.compressor(**piece)[:count])
        start += length
    return run(whole)[0], torch.cat(rows)


@pytest.mark.parametrize("cache_mode", [CONTINUOUS, EXPLICIT])
@pytest.mark.parametrize(("cmp_ratio", "coff"), [(4, 1), (4, 2), (8, 2), (16, 1)])
@pytest.mark.parametrize("pieces", [[1] * 37, [5, 1, 1, 9, 3, 18], [20, 17], [3, 3, 3, 28]])
def test_pieces_with_state_equal_the_whole(cache_mode, cmp_ratio, coff, pieces):
    shape = Shape(capacity=(37,), starts=(0,), cmp_ratio=cmp_ratio, coff=coff, cache_mode=cache_mode)
    whole, pieced = whole_then_pieces(shape, pieces)
    assert torch.equal(whole[: len(pieced)], pieced)
    assert len(pieced) == 37 // cmp_ratio


def test_reads_come_before_writes_where_a_ring_gives_new_rows_the_places_of_old_ones():
    shape = Shape(capacity=(6,), starts=(6,), coff=2, cmp_ratio=4, block_size=8)
    arguments = shape.named("cpu")
    history, end = 8, 14
    ring = torch.arange(6 - history, end) % 8
    arguments["state_block_table"] = ring.to(torch.int32)[None]
    wanted, state_wanted = naive.naive_compressor(in_float64(arguments))
    found, state = run(arguments)
    close(found.double().numpy()[:1], wanted[:1], shape.dtype)
    assert np.allclose(state.double().numpy(), state_wanted, rtol=1e-5, atol=1e-5)


def test_the_later_of_two_positions_with_one_row_stays():
    shape = Shape(capacity=(11,), starts=(0,), cache_mode=CONTINUOUS, block_size=4)
    arguments = shape.named("cpu")
    arguments["state_block_table"] = ints(1, 1, 1)[None]
    _, state_wanted = naive.naive_compressor(in_float64(arguments))
    _, state = run(arguments)
    assert np.allclose(state.double().numpy(), state_wanted, rtol=1e-5, atol=1e-5)


def test_what_a_token_gives_does_not_depend_on_the_batch():
    shape = Shape(capacity=(13, 1, 30, 5), starts=(3, 2, 0, 7), coff=2, hidden=96, head_dim=32, rope_head_dim=8)
    arguments = shape.named("cpu")
    together, _ = run(arguments)
    first, row = 0, 0
    for request, (capacity, start) in enumerate(zip(shape.capacity, shape.starts, strict=True)):
        count = produced_rows(start, capacity, 4)
        size = packed_rows(capacity, 1, 4)
        alone = {
            **arguments,
            "x": arguments["x"][first : first + capacity],
            "state_block_table": arguments["state_block_table"][request : request + 1],
            "cu_seqlens": ints(0, capacity),
            "start_pos": ints(start),
        }
        for name in ("rope_sin", "rope_cos"):
            alone[name] = torch.zeros(size, 8)
            alone[name][:count] = arguments[name][row : row + count]
        assert torch.equal(run(alone)[0][:count], together[row : row + count])
        first, row = first + capacity, row + count


# Edges


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (Shape(capacity=(), starts=()), (0, 6)),
        (Shape(capacity=(0, 0), starts=(3, 0)), (0, 6)),
        (Shape(capacity=(0, 0), starts=(3, 0), padded=True), (2, 0, 6)),
        (Shape(capacity=(), starts=(), padded=True), (0, 0, 6)),
    ],
)
def test_without_tokens_the_result_is_empty_and_the_state_untouched(shape, size):
    arguments = shape.named("cpu")
    found, state = run(arguments)
    assert found.shape == size
    assert torch.equal(state, arguments["state_cache"])


def test_an_empty_verify_may_bring_one_row_of_rope():
    arguments = Shape(capacity=(0,), starts=(5,)).named("cpu")
    assert run({**arguments, "rope_sin": torch.zeros(1, 4), "rope_cos": torch.ones(1, 4)})[0].shape == (0, 6)


def test_cu_seqlens_of_one_element_is_a_batch_of_nobody():
    arguments = Shape(capacity=(), starts=()).named("cpu")
    assert run({**arguments, "cu_seqlens": ints(0)})[0].shape == (0, 6)


def test_a_padding_row_produces_and_writes_nothing_and_its_table_is_ignored():
    shape = Shape(capacity=(4, 1, 4), starts=(0, 3, 4), used=(4, 0, 4))
    arguments = shape.named("cpu")
    found, state = run(arguments)
    arguments["state_block_table"][1] = -1
    again, state_again = run(arguments)
    assert torch.equal(found, again)
    assert torch.equal(state, state_again)
    assert found[2:].eq(0).all()
    assert found[:2].ne(0).any(1).all()


def test_tokens_behind_those_used_are_ignored():
    shape = Shape(capacity=(9, 9), starts=(1, 2), used=(4, 7), coff=2)
    arguments = shape.named("cpu")
    found, state = run(arguments)
    arguments["x"][4:9] = math.inf
    arguments["x"][16:] = math.nan
    again, state_again = run(arguments)
    assert torch.equal(found, again)
    assert torch.equal(state, state_again)


def test_the_first_group_without_a_previous_one_is_finite():
    found, _ = run(Shape(capacity=(4,), starts=(0,), coff=2).named("cpu"))
    assert found.isfinite().all()


def test_a_cleared_state_row_counts_for_nothing():
    shape = Shape(capacity=(2,), starts=(2,), coff=1, block_size=16)
    arguments = shape.named("cpu")
    places = arguments["state_block_table"][0]
    state = arguments["state_cache"].view(-1, 12)
    state[places[2].long(), :6], state[places[2].long(), 6:] = 0, -math.inf
    found, _ = run(arguments)
    assert found.isfinite().all()
    wanted, _ = naive.naive_compressor(in_float64(arguments))
    close(found.double().numpy()[:1], wanted[:1], shape.dtype)


def test_block_0_is_read_and_never_written():
    shape = Shape(capacity=(4,), starts=(2,), cache_mode=CONTINUOUS, block_size=2)
    arguments = shape.named("cpu")
    arguments["state_block_table"] = ints(1, 0, 2)[None]
    found, state = run(arguments)
    changed = (state != arguments["state_cache"]).any(-1).any(-1)
    assert changed.tolist() == [False, False, True, False]
    arguments["state_block_table"] = ints(0, 3, 2)[None]
    arguments["state_cache"][0] += 1
    assert not torch.equal(run(arguments)[0], found)


def test_location_0_is_a_row_like_any_other_in_the_explicit_mode():
    shape = Shape(capacity=(1,), starts=(0,))
    arguments = shape.named("cpu")
    arguments["state_block_table"] = torch.zeros(1, 5, dtype=torch.int32)
    _, state = run(arguments)
    assert (state != arguments["state_cache"]).any(-1).flatten().nonzero().flatten().tolist() == [0]


@pytest.mark.parametrize(("coff", "kept"), [(1, [8, 9]), (2, [4, 5, 6, 7, 8, 9])])
def test_the_explicit_mode_keeps_the_tail_and_with_coff_2_the_last_group(coff, kept):
    shape = Shape(capacity=(8,), starts=(2,), coff=coff, block_size=32)
    arguments = shape.named("cpu")
    history = 4 * coff
    arguments["state_block_table"] = torch.arange(2 - history + 20, 2 - history + 20 + history + 8).to(torch.int32)[
        None
    ]
    _, state = run(arguments)
    written = (state != arguments["state_cache"]).any(-1).flatten().nonzero().flatten()
    assert (written - 20).tolist() == kept


def test_the_continuous_mode_keeps_every_position():
    arguments = Shape(capacity=(8,), starts=(2,), cache_mode=CONTINUOUS, block_size=16).named("cpu")
    _, state = run(arguments)
    assert (state != arguments["state_cache"]).any(-1).flatten().nonzero().flatten().tolist() == list(range(18, 26))


def test_the_rope_row_of_bsh_is_the_padded_index():
    shape = Shape(padded=True, capacity=(4, 4), starts=(0, 0), used=(3, 4), rope_head_dim=6)
    arguments = shape.named("cpu")
    found, _ = run(arguments)
    arguments["rope_cos"][0], arguments["rope_sin"][0] = math.nan, math.nan
    again, _ = run(arguments)
    assert torch.equal(found, again), "request 0 produces nothing, and request 1 reads its own row"


@pytest.mark.parametrize("stride", [0, 16 * 12])
def test_the_stride_argument_is_0_or_what_it_is(stride):
    arguments = {**Shape().named("cpu"), "state_cache_stride_dim0": stride}
    assert torch.equal(run(arguments)[0], run(Shape().named("cpu"))[0])


def test_weights_that_ask_for_gradients_do_not_make_the_state_ask():
    arguments = Shape().named("cpu")
    arguments["wkv"].requires_grad_()
    found = reference.compressor(**arguments)
    assert not found.requires_grad
    assert not arguments["state_cache"].requires_grad


# What is refused, by name, before anything is written

STRIDED = torch.zeros(4, 16, 12)[::2]
REFUSED = [
    ({"x": torch.zeros(14, 8)}, TypeError, "x: expected dtype bfloat16 or float16, found float32"),
    ({"x": None}, TypeError, "x: expected a tensor of bfloat16 or float16, found None"),
    (
        {"x": torch.zeros(14, dtype=torch.bfloat16)},
        ValueError,
        r"x: expected shape \[T, H\] or \[B, S, H\], found \[14\]",
    ),
    ({"wkv": torch.zeros(6, 8, dtype=torch.float16)}, TypeError, "wkv: expected dtype bfloat16, found float16"),
    ({"wgate": torch.zeros(6, 8)}, TypeError, "wgate: expected dtype bfloat16, found float32"),
    ({"wkv": torch.zeros(12, 8, dtype=torch.bfloat16)}, ValueError, r"wkv: expected shape \[6, 8\], found \[12, 8\]"),
    ({"wgate": torch.zeros(6, 9, dtype=torch.bfloat16)}, ValueError, r"wgate: expected shape \[6, 8\], found \[6, 9\]"),
    (
        {"state_cache": torch.zeros(2, 16, 12).bfloat16()},
        TypeError,
        "state_cache: expected dtype float32, found bfloat16",
    ),
    (
        {"state_cache": torch.zeros(32, 12)},
        ValueError,
        r"state_cache: expected 3 dimension\(s\), found shape \[32, 12\]",
    ),
    ({"state_cache": torch.zeros(2, 16, 6)}, ValueError, r"state_cache: expected shape \[any, any, 12\], found"),
    ({"state_cache": torch.zeros(0, 16, 12)}, ValueError, "state_cache: expected a tensor that is not empty"),
    ({"state_cache": STRIDED}, ValueError, "state_cache: expected a contiguous tensor"),
    ({"state_cache_stride_dim0": 384}, ValueError, "state_cache_stride_dim0: expected 0 or 192, .* found 384"),
    ({"ape": torch.zeros(4, 6).half()}, TypeError, "ape: expected dtype float32, found float16"),
    ({"ape": torch.zeros(8, 6)}, ValueError, r"ape: expected shape \[4, 6\], found \[8, 6\]"),
    ({"norm_weight": torch.zeros(6).half()}, TypeError, "norm_weight: expected dtype float32, found float16"),
    ({"norm_weight": torch.zeros(2, 3)}, ValueError, r"norm_weight: expected 1 dimension\(s\)"),
    ({"rope_sin": torch.zeros(6, 4).half()}, TypeError, "rope_sin: expected dtype float32, found float16"),
    ({"rope_cos": torch.zeros(5, 4)}, ValueError, r"rope_cos: expected shape \[6, 4\], found \[5, 4\]"),
    ({"rope_sin": torch.zeros(6, 2)}, ValueError, r"rope_sin: expected shape \[6, 4\], found \[6, 2\]"),
    ({"rope_sin": torch.zeros(3, 2, 4)}, ValueError, r"rope_sin: expected 2 dimension\(s\), found shape \[3, 2, 4\]"),
    ({"state_block_table": None}, TypeError, "state_block_table: expected a tensor of int32, found None"),
    (
        {"state_block_table": torch.zeros(3, 13).long()},
        TypeError,
        "state_block_table: expected dtype int32, found int64",
    ),
    (
        {"state_block_table": ints(0, 1, 2)},
        ValueError,
        r"state_block_table: expected 2 dimension\(s\), found shape \[3\]",
    ),
    (
        {"state_block_table": ints(*range(12)).view(3, 4)},
        ValueError,
        r"at least 5 column\(s\) \(coff \* cmp_ratio \+ 1\)",
    ),
    ({"state_block_table": ints(*range(26)).view(2, 13)}, ValueError, r"state_block_table: expected shape \[3, any\]"),
    (
        {"cu_seqlens": None},
        ValueError,
        r"cu_seqlens: expected a tensor of int32, which x of shape \[T, H\] needs, found N",
    ),
    ({"cu_seqlens": torch.tensor([0, 5, 5, 14])}, TypeError, "cu_seqlens: expected dtype int32, found int64"),
    (
        {"cu_seqlens": ints(0)},
        ValueError,
        r"cu_seqlens: expected at least 2 element\(s\) for the 14 tokens of x, found 1",
    ),
    ({"seqused": torch.tensor([5, 0, 9])}, TypeError, "seqused: expected dtype int32, found int64"),
    ({"seqused": ints(5, 0)}, ValueError, r"seqused: expected shape \[3\], found \[2\]"),
    ({"start_pos": ints(5, 0, 0, 0)}, ValueError, r"start_pos: expected shape \[3\], found \[4\]"),
    ({"start_pos": torch.zeros(3)}, TypeError, "start_pos: expected dtype int32, found float32"),
    ({"rope_head_dim": 3}, ValueError, "rope_head_dim: expected an even number, not below 0, found 3"),
    ({"rope_head_dim": -2}, ValueError, "rope_head_dim: expected an even number, not below 0, found -2"),
    ({"rope_head_dim": 8}, ValueError, "rope_head_dim: expected at most 6, the length of norm_weight, found 8"),
    ({"cmp_ratio": 1}, ValueError, "cmp_ratio: expected 2, 4, 8, 16, 32, 64 or 128, found 1"),
    ({"cmp_ratio": 6}, ValueError, "cmp_ratio: expected .* found 6"),
    ({"cmp_ratio": 256}, ValueError, "cmp_ratio: expected .* found 256"),
    ({"cmp_ratio": 4.0}, TypeError, "cmp_ratio: expected an integer, found 4.0"),
    ({"coff": 3}, ValueError, "coff: expected 1 or 2, found 3"),
    ({"coff": 0}, ValueError, "coff: expected 1 or 2, found 0"),
    ({"rotary_mode": 0}, ValueError, "rotary_mode: expected 1 or 2, found 0"),
    ({"rotary_mode": 3}, ValueError, "rotary_mode: expected 1 or 2, found 3"),
    ({"cache_mode": 0}, ValueError, "cache_mode: expected 1 or 2, found 0"),
    ({"cache_mode": 3}, ValueError, "cache_mode: expected 1 or 2, found 3"),
    ({"norm_eps": None}, TypeError, "norm_eps: expected a number, found None"),
    # What the native op does not check
    (
        {"seqused": ints(5, 1, 9)},
        ValueError,
        r"seqused\[1\]: expected at most 0, the tokens of that request in x, found 1",
    ),
    ({"seqused": ints(5, -1, 9)}, ValueError, r"seqused\[1\]: expected at least 0, found -1"),
    ({"start_pos": ints(0, 0, -3)}, ValueError, r"start_pos\[2\]: expected at least 0, found -3"),
    (
        {"start_pos": ints(0, 0, 2**31 - 9)},
        ValueError,
        r"start_pos\[2\] \+ seqused\[2\]: expected an int32, found 2147483639",
    ),
    ({"cu_seqlens": ints(1, 5, 5, 14)}, ValueError, r"cu_seqlens\[0\]: expected 0, found 1"),
    (
        {"cu_seqlens": ints(0, 6, 5, 14)},
        ValueError,
        r"cu_seqlens\[2\]: expected at least 6, the element before it, found 5",
    ),
    ({"cu_seqlens": ints(0, 5, 5, 13)}, ValueError, r"cu_seqlens\[3\]: expected 14, the tokens of x, found 13"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_refused(wrong, error, message):
    arguments = {**Shape().named("cpu"), **wrong}
    state = arguments["state_cache"]
    before = state.clone()
    with pytest.raises(error, match=message):
        reference.compressor(**arguments)
    assert torch.equal(state, before)


def test_bsh_takes_no_cu_seqlens_and_rope_of_its_own_rank():
    arguments = Shape(padded=True, capacity=(9, 9), starts=(0, 0)).named("cpu")
    with pytest.raises(
        ValueError, match=r"cu_seqlens: expected None with x of shape \[B, S, H\], found a tensor of int32"
    ):
        run({**arguments, "cu_seqlens": ints(0, 9, 18)})
    with pytest.raises(ValueError, match=r"rope_sin: expected 3 dimension\(s\), found shape \[6, 4\]"):
        run({**arguments, "rope_sin": arguments["rope_sin"].flatten(0, 1)})
    with pytest.raises(ValueError, match=r"seqused\[1\]: expected at most 9"):
        run({**arguments, "seqused": ints(9, 10)})


def test_operands_on_two_devices_are_refused():
    with pytest.raises(
        ValueError, match="ape: expected a tensor on cpu, where the other operands are, found one on meta"
    ):
        run({**Shape().named("cpu"), "ape": torch.zeros(4, 6, device="meta")})


@pytest.mark.parametrize("value", [-1, 48, 2**31 - 1])
@pytest.mark.parametrize("column", [0, 3, 4, 8])
def test_an_explicit_row_that_is_not_there_is_refused(value, column):
    arguments = Shape().named("cpu")
    rows = arguments["state_cache"].shape[0] * 16
    assert rows == 48
    arguments["state_block_table"][0, column] = value
    with pytest.raises(ValueError, match=rf"state_block_table\[0, {column}\]: expected a number in \[0, 48\).*{value}"):
        run(arguments)
    arguments["state_block_table"][0, column] = 0
    arguments["state_block_table"][0, 9:] = value
    run(arguments)


def test_an_explicit_table_is_as_wide_as_the_tokens_used():
    arguments = Shape().named("cpu")
    arguments["state_block_table"] = arguments["state_block_table"][:, :12]
    with pytest.raises(ValueError, match="expected at least 13 columns, which request 2 uses, found 12"):
        run(arguments)
    run({**arguments, "seqused": ints(5, 0, 8)})


@pytest.mark.parametrize("value", [-1, 100])
def test_a_block_that_is_not_there_is_refused_where_it_is_used(value):
    # Positions 8 to 12: group 1 needs nothing of them, groups 2 and, with coff 2, 1 are read from 4 on.
    shape = Shape(capacity=(5,), starts=(8,), cache_mode=CONTINUOUS, block_size=2, coff=2)
    arguments = shape.named("cpu")
    for column in range(2):
        arguments["state_block_table"][0, column] = value
    run(arguments)
    for column in range(2, 7):
        blocks = arguments["state_block_table"].clone()
        blocks[0, column] = value
        with pytest.raises(
            ValueError, match=rf"state_block_table\[0, {column}\]: expected a number in \[0, 8\), a block"
        ):
            run({**arguments, "state_block_table": blocks})
    with pytest.raises(ValueError, match="expected at least 7 columns, which request 0 uses, found 6"):
        run({**arguments, "state_block_table": arguments["state_block_table"][:, :6]})
    # A chunk that finishes no group reads nothing from before it.
    late = {**arguments, "state_block_table": torch.full_like(arguments["state_block_table"], value)}
    late["state_block_table"][0, 4:] = 1
    run({**late, "seqused": ints(3)})


def test_null_table_columns_are_needed_only_with_tokens():
    arguments = Shape(cache_mode=CONTINUOUS).named("cpu")
    with pytest.raises(ValueError, match=r"state_block_table: expected at least 1 column\(s\), found 0"):
        run({**arguments, "state_block_table": torch.zeros(3, 0, dtype=torch.int32)})


# The cases that other implementations are held against


def test_the_reference_agrees_with_itself_on_every_case():
    for case in cases("cpu", 20):
        assert difference(case, reference.compressor, reference.compressor) is None


def test_a_wrong_implementation_is_told_apart():
    def halves_only(*arguments):
        named = dict(zip(ORDER, arguments, strict=True))
        return reference.compressor(**{**named, "rotary_mode": 1})

    def forgets_the_state(*arguments):
        named = dict(zip(ORDER, arguments, strict=True))
        return reference.compressor(**{**named, "state_cache": named["state_cache"].clone()})

    def fills_what_nobody_produces(*arguments):
        result = reference.compressor(*arguments)
        produced = Shape().produced()
        result[[row for row in range(result.shape[0]) if row not in produced]] = math.nan
        return result

    plain = next(iter(cases("cpu", 0)))
    assert re.search("the result: element", difference(plain, reference.compressor, halves_only))
    assert re.search("argument 3: element", difference(plain, reference.compressor, forgets_the_state))
    assert difference(plain, reference.compressor, fills_what_nobody_produces) is None


def test_native_cases_have_the_sizes_that_the_native_op_takes():
    for case in native_cases("cpu", 2):
        named = dict(zip(ORDER, case.arguments(), strict=True))
        assert named["rotary_mode"] == 2
        assert named["rope_head_dim"] == 64
        assert named["x"].shape[-1] == 1024
        assert named["norm_weight"].shape[0] in (128, 512)
