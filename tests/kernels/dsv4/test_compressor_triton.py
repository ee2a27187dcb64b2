"""dsv4.compressor in Triton, through its interpreter, against the reference: few calls and small ones, it is slow."""

import math
from dataclasses import replace

import pytest
import torch

from confbag.kernels.checks.agreement import difference
from confbag.kernels.dsv4.compressor import reference, triton
from confbag.kernels.dsv4.compressor.cases import BOUNDARIES, Shape
from confbag.kernels.dsv4.compressor.rows import packed_rows, produced_rows

CONTINUOUS = 1
SHAPES = {
    **{name: shape for name, shape in BOUNDARIES.items() if shape.cmp_ratio < 128},
    "ratio 2, BSH": Shape(padded=True, capacity=(3, 3), starts=(1, 4), cmp_ratio=2, coff=2, head_dim=4, hidden=80),
    "ratio 8": Shape(capacity=(9,), starts=(7,), cmp_ratio=8, coff=2, cache_mode=CONTINUOUS, block_size=4),
    "more channels than a tile": Shape(capacity=(4,), starts=(0,), head_dim=70, rope_head_dim=64),
    "more tokens than a tile": Shape(capacity=(66,), starts=(3,), used=(5,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_it_agrees_with_the_reference(name):
    assert difference(replace(SHAPES[name].case("cpu"), name=name), reference.compressor, triton.compressor) is None


def test_the_later_of_two_positions_with_one_row_stays():
    arguments = Shape(capacity=(7,), starts=(0,), cache_mode=CONTINUOUS, block_size=4).named("cpu")
    arguments["state_block_table"] = torch.tensor([[1, 1]], dtype=torch.int32)
    again = {**arguments, "state_cache": arguments["state_cache"].clone()}
    reference.compressor(**arguments)
    triton.compressor(**again)
    assert torch.allclose(arguments["state_cache"], again["state_cache"], atol=1e-5)


def test_a_ring_is_read_before_it_is_written():
    arguments = Shape(capacity=(6,), starts=(6,), coff=2, block_size=8).named("cpu")
    arguments["state_block_table"] = (torch.arange(-2, 14) % 8).to(torch.int32)[None, :14]
    again = {**arguments, "state_cache": arguments["state_cache"].clone()}
    found, wanted = triton.compressor(**again), reference.compressor(**arguments)
    assert torch.allclose(found.float(), wanted.float(), rtol=2**-7, atol=1e-3)
    assert torch.allclose(arguments["state_cache"], again["state_cache"], atol=1e-5)


def test_rows_that_nobody_produces_are_zero_and_nothing_is_read_out_of_range():
    arguments = Shape(capacity=(5,), starts=(1,)).named("cpu")
    before = arguments["state_cache"].clone()
    arguments["state_block_table"].fill_(10**6)
    found = triton.compressor(**arguments)
    assert found[1:].eq(0).all()
    assert torch.equal(arguments["state_cache"], before)


def test_a_request_does_not_depend_on_the_others():
    shape = Shape(capacity=(5, 2, 6), starts=(3, 2, 0), coff=2, hidden=96, head_dim=8, rope_head_dim=0)
    arguments = shape.named("cpu")
    together = triton.compressor(**{**arguments, "state_cache": arguments["state_cache"].clone()})
    first, row = 0, 0
    for request, (capacity, start) in enumerate(zip(shape.capacity, shape.starts, strict=True)):
        count, size = produced_rows(start, capacity, 4), packed_rows(capacity, 1, 4)
        alone = {
            **arguments,
            "x": arguments["x"][first : first + capacity],
            "state_cache": arguments["state_cache"].clone(),
            "state_block_table": arguments["state_block_table"][request : request + 1],
            "cu_seqlens": torch.tensor([0, capacity], dtype=torch.int32),
            "start_pos": torch.tensor([start], dtype=torch.int32),
            "rope_sin": torch.zeros(size, 0),
            "rope_cos": torch.zeros(size, 0),
        }
        assert torch.equal(triton.compressor(**alone)[:count], together[row : row + count])
        first, row = first + capacity, row + count


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"x": torch.zeros(14, 8)}, TypeError, "x: expected dtype bfloat16 or float16, found float32"),
        ({"x": torch.zeros(14, 16).bfloat16()[:, ::2]}, ValueError, "x: expected a contiguous tensor"),
        (
            {"state_block_table": torch.zeros(3, 26).int()[:, ::2]},
            ValueError,
            "state_block_table: expected a contiguous",
        ),
        ({"cmp_ratio": 3}, ValueError, "cmp_ratio: expected"),
    ],
)
def test_refused_before_anything_is_written(wrong, error, message):
    arguments = {**Shape().named("cpu"), **wrong}
    before = arguments["state_cache"].clone()
    with pytest.raises(error, match=message):
        triton.compressor(**arguments)
    assert torch.equal(arguments["state_cache"], before)


def test_values_are_checked_under_the_switch(bounds_checked):
    arguments = Shape().named("cpu")
    arguments["seqused"] = torch.tensor([6, 0, 9], dtype=torch.int32)
    with pytest.raises(ValueError, match=r"seqused\[0\]: expected at most 5"):
        triton.compressor(**arguments)


def test_a_cleared_row_weighs_nothing():
    arguments = Shape(capacity=(2,), starts=(2,), rope_head_dim=0).named("cpu")
    places = arguments["state_block_table"][0].long()
    arguments["state_cache"].view(-1, 12)[places[2], :6] = 0
    arguments["state_cache"].view(-1, 12)[places[2], 6:] = -math.inf
    again = {**arguments, "state_cache": arguments["state_cache"].clone()}
    found, wanted = triton.compressor(**again), reference.compressor(**arguments)
    assert torch.allclose(found.float(), wanted.float(), rtol=2**-7, atol=1e-3)
