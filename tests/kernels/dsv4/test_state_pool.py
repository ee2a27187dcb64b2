"""The compressors' state: sizes, clearing, location tables and what is sent of it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from confbag.kernels.dsv4.compressor import reference
from confbag.kernels.dsv4.compressor.cases import Shape
from confbag.kernels.dsv4.compressor.rows import produced_rows
from confbag.kernels.dsv4.state_pool.geometry import (
    StateGeometry,
    compressed_page_size,
    kv_shape,
    require_c128_page_size,
    ring_size,
    sent_positions,
    sent_rows,
)
from confbag.kernels.dsv4.state_pool.locations import request_table, window_table
from confbag.kernels.dsv4.state_pool.pool import StatePool


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def test_the_worked_example():
    pool = StatePool(64, 4, 512, 8)
    assert pool.geometry.rows == 80
    assert pool.geometry.last_dim == 2048
    assert pool.state_cache.shape == (10, 8, 2048)
    assert pool.dummy == 79
    assert pool.buffer.numel() * pool.buffer.element_size() == 80 * 2048 * 4
    assert pool.state_cache.is_contiguous()
    assert pool.state_cache.dtype is torch.float32
    assert pool.state_cache.data_ptr() == pool.buffer.data_ptr()


@given(st.integers(0, 5000), st.sampled_from([4, 128]), st.integers(2, 300))
def test_rows_are_whole_groups_and_rings_with_a_dummy_outside(size, ratio, ring):
    geometry = StateGeometry(size, ratio, 128, ring)
    assert geometry.rows % ring == geometry.rows % ratio == 0
    assert geometry.rows >= size + ring + 1
    assert geometry.rows - math.lcm(ratio, ring) < size + ring + 1
    assert geometry.dummy == geometry.rows - 1
    assert math.prod(geometry.view_shape) == geometry.rows * geometry.last_dim


def test_overlap_doubles_the_row_of_ratio_4():
    assert (StateGeometry(9, 4, 128, 8).coff, StateGeometry(9, 4, 128, 8).last_dim) == (2, 512)
    assert (StateGeometry(9, 128, 512, 128).coff, StateGeometry(9, 128, 512, 128).last_dim) == (1, 1024)


def test_rings_are_twice_as_long_with_speculation():
    assert [ring_size(ratio, speculative) for ratio in (4, 128) for speculative in (False, True)] == [8, 16, 128, 256]
    with pytest.raises(ValueError, match="ratio: expected 4 or 128, found 8"):
        ring_size(8, False)


def test_ratio_4_clears_the_dummy_alone():
    pool = StatePool(20, 4, 8, 8)
    pool.buffer.fill_(7)
    pool.clear()
    assert pool.buffer[:-1].eq(7).all()
    assert pool.buffer[-1, :16].eq(0).all()
    assert pool.buffer[-1, 16:].eq(-math.inf).all()


def test_ratio_128_clears_everything():
    pool = StatePool(200, 128, 4, 128)
    pool.buffer.fill_(7)
    pool.clear()
    assert pool.buffer[:, :4].eq(0).all()
    assert pool.buffer[:, 4:].eq(-math.inf).all()


@pytest.mark.parametrize("ratio", [4, 128])
def test_a_new_pool_is_cleared(ratio):
    pool = StatePool(10, ratio, 4, 128)
    half = pool.geometry.last_dim // 2
    assert pool.buffer[-1, half:].eq(-math.inf).all()
    assert not pool.buffer.isnan().any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratio": 8}, "ratio: expected 4 or 128, found 8"),
        ({"dtype": torch.bfloat16}, "dtype: expected float32, which memory.state_dtype says, found bfloat16"),
        ({"dtype": torch.float64}, "dtype: expected float32, .* found float64"),
        ({"ring_size": 0}, "ring_size: expected an integer of at least 1, found 0"),
        ({"ring_size": -8}, "ring_size: expected an integer of at least 1, found -8"),
        ({"ring_size": 1}, "ring_size: expected at least 2, which the op's view needs, found 1"),
        ({"size": -1}, "size: expected an integer of at least 0, found -1"),
        ({"head_dim": 0}, "head_dim: expected an integer of at least 1, found 0"),
        ({"ratio": 128, "online": True}, "online: expected False"),
    ],
)
def test_a_pool_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        StatePool(**{"size": 64, "ratio": 4, "head_dim": 8, "ring_size": 8, **arguments})


def test_a_ring_for_each_request_slot():
    geometry = StateGeometry(64, 4, 8, 8)
    geometry.require_request_rings(10)
    with pytest.raises(
        ValueError, match="size: expected room for 88 rows, a ring of 8 for each of 11 request slots, fou"
    ):
        geometry.require_request_rings(11)


# What a prefill worker sends


def test_the_worked_example_of_what_is_sent():
    assert list(sent_positions(13)) == [8, 9, 10, 11, 12]
    assert sent_rows(13, 2, 8) == [16, 17, 18, 19, 20]


@pytest.mark.parametrize(
    ("seq_len", "positions"),
    [(0, []), (1, [0]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3, 4]), (8, [4, 5, 6, 7]), (11, range(4, 11))],
)
def test_sent_are_the_last_full_group_and_the_tail(seq_len, positions):
    assert list(sent_positions(seq_len)) == list(positions)


@pytest.mark.parametrize(
    ("ring", "message"),
    [
        (4, "ring_size: expected an integer of at least 8, found 4"),
        (10, "ring_size: expected a multiple of 4, found 10"),
        (0, "ring_size: expected an integer of at least 8, found 0"),
    ],
)
def test_what_is_sent_needs_a_ring_of_two_groups(ring, message):
    with pytest.raises(ValueError, match=message):
        sent_rows(13, 2, ring)
    with pytest.raises(ValueError, match="seq_len: expected an integer of at least 0, found -1"):
        sent_rows(-1, 2, 8)
    with pytest.raises(ValueError, match="request: expected an integer of at least 0, found -1"):
        sent_rows(13, -1, 8)


@given(st.integers(0, 300), st.integers(0, 20), st.sampled_from([8, 12, 16]))
def test_sent_rows_are_those_of_one_ring_and_all_different(seq_len, request, ring):
    rows = sent_rows(seq_len, request, ring)
    assert len(set(rows)) == len(rows) == min(seq_len, seq_len % 4 + 4)
    assert all(row // ring == request for row in rows)


# The pools beside it


def test_pages_of_kv():
    assert kv_shape(1000, 128) == (8, 128, 1, 512)
    assert kv_shape(1024, 128) == (9, 128, 1, 512)
    assert compressed_page_size(128, 4) == 32
    with pytest.raises(ValueError, match="page_size: expected a multiple of 4, found 130"):
        compressed_page_size(130, 4)


def test_c128_pages_are_multiples_of_16():
    for size in (16, 32, 128):
        require_c128_page_size(size)
    for size in (0, -16, 8, 24, 1, 16.0, True):
        with pytest.raises(ValueError, match="c128_page_size: expected a positive multiple of 16, found"):
            require_c128_page_size(size)


# Explicit tables

C4 = StateGeometry(100 * 8, 4, 8, 8)
C128 = StateGeometry(10 * 128, 128, 8, 128)


def test_the_worked_example_of_a_window_table():
    geometry = StateGeometry(64, 4, 8, 8)
    full_to_swa = torch.full((512,), -1, dtype=torch.int32)
    req_to_token = 300 + torch.arange(8, dtype=torch.int32)[None].repeat(2, 1)
    full_to_swa[300:308] = torch.arange(2 * 128, 2 * 128 + 8)
    table = window_table(
        geometry, req_to_token, full_to_swa, ints(1, 0), ints(5, 0), ints(1, 0), ints(1, 1), 1, swa_page_size=128
    )
    dummy = geometry.dummy
    assert table.tolist() == [[dummy] * 3 + [16, 17, 18, 19, 20, 21], [dummy] * 9]
    assert table.dtype is torch.int32


def test_window_slots_that_are_gone_point_at_the_dummy():
    full_to_swa = torch.arange(64, dtype=torch.int64)
    full_to_swa[3:5] = -1
    req_to_token = torch.arange(32, dtype=torch.int32)[None]
    req_to_token[0, 6] = -1
    table = window_table(C4, req_to_token, full_to_swa, ints(0), ints(8), ints(2), ints(2), 3, swa_page_size=16)
    dummy = C4.dummy
    assert table.tolist() == [[0, 1, 2, dummy, dummy, 5, dummy, 7, 0, 1, dummy]]


def test_pages_of_the_window_have_rings_of_their_own():
    req_to_token = torch.arange(64, dtype=torch.int32)[None]
    table = window_table(
        C4, req_to_token, torch.arange(64), ints(0).long(), ints(16), ints(1), ints(1), 1, swa_page_size=16
    )
    assert table.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7, 8]], "position 16 begins the ring of page 1"


def test_a_request_table():
    table = request_table(C128, ints(2, 5), ints(130, 1), ints(1, 1), ints(1, 2), 2)
    assert table.shape == (2, 130)
    dummy = C128.dummy
    assert table[0].tolist() == [2 * 128 + p % 128 for p in range(2, 131)] + [dummy]
    assert table[1].tolist() == [dummy] * 127 + [5 * 128, 5 * 128 + 1, 5 * 128 + 2]


def naive_window(req_to_token, full_to_swa, requests, starts, used, capacity, most, page, ring, dummy):
    rows = []
    for request, start, live, room in zip(requests, starts, used, capacity, strict=True):
        row = []
        for column in range(8 + most):
            position = start - 8 + column
            if live <= 0 or column >= 8 + room or position < 0:
                row.append(dummy)
                continue
            swa = full_to_swa[req_to_token[request][position]]
            row.append((swa // page) * ring + swa % ring if swa >= 0 else dummy)
        rows.append(row)
    return rows


@given(st.data())
def test_window_tables_equal_the_formula(data):
    batch, most = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    context = 40
    random = torch.Generator().manual_seed(data.draw(st.integers(0, 999)))
    req_to_token = torch.randint(0, 200, (5, context), generator=random).to(torch.int32)
    full_to_swa = torch.randint(-1, 320, (200,), generator=random)
    requests = torch.randint(0, 5, (batch,), generator=random).to(torch.int32)
    capacity = torch.randint(1, most + 1, (batch,), generator=random).to(torch.int32)
    used = (torch.rand(batch, generator=random) * (capacity + 1)).to(torch.int32)
    starts = torch.randint(0, context - most, (batch,), generator=random).to(torch.int32)
    found = window_table(C4, req_to_token, full_to_swa, requests, starts, used, capacity, most, swa_page_size=32)
    plain = [each.tolist() for each in (req_to_token, full_to_swa, requests, starts, used, capacity)]
    assert found.tolist() == naive_window(*plain, most, 32, 8, C4.dummy)


WINDOW = {
    "req_to_token": torch.arange(64, dtype=torch.int32).view(2, 32),
    "full_to_swa": torch.arange(64),
    "req_pool_indices": ints(0, 1),
    "start_pos": ints(3, 9),
    "seqused": ints(1, 1),
    "capacity": ints(1, 1),
    "max_capacity": 1,
    "swa_page_size": 16,
}


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"req_to_token": torch.zeros(2, 32).long()}, TypeError, "req_to_token: expected dtype int32, found int64"),
        ({"full_to_swa": torch.zeros(64)}, TypeError, "full_to_swa: expected dtype int32 or int64, found float32"),
        (
            {"full_to_swa": torch.arange(32)},
            ValueError,
            r"req_to_token\[1, 0\]: expected a slot that full_to_swa has, fou",
        ),
        (
            {"req_pool_indices": ints(0, 2)},
            ValueError,
            r"req_pool_indices\[1\]: expected a request in \[0, 2\), found 2",
        ),
        (
            {"req_pool_indices": ints(-1, 1)},
            ValueError,
            r"req_pool_indices\[0\]: expected a request in \[0, 2\), found -1",
        ),
        ({"req_pool_indices": ints(0)}, ValueError, r"req_pool_indices: expected shape \[2\], found \[1\]"),
        ({"start_pos": torch.tensor([3, 9])}, TypeError, "start_pos: expected dtype int32, found int64"),
        ({"start_pos": ints(3, -1)}, ValueError, r"start_pos\[1\]: expected at least 0, found -1"),
        ({"start_pos": ints(3, 32)}, ValueError, r"start_pos \+ capacity\[1\]: expected at most 32, .*found 33"),
        ({"seqused": ints(1, 2)}, ValueError, r"seqused\[1\]: expected at most the capacity of its request, found 2"),
        ({"capacity": ints(1, 2)}, ValueError, r"capacity\[1\]: expected at most max_capacity \(1\), found 2"),
        ({"max_capacity": 0}, ValueError, "max_capacity: expected at least 1, found 0"),
        ({"swa_page_size": 12}, ValueError, "swa_page_size: expected a multiple of 8, the rows of a ring, found 12"),
        (
            {"full_to_swa": torch.arange(64) * 99},
            ValueError,
            r"state_block_table\[1, 0\]: expected a row before the dummy, 815, found 1635",
        ),
        ({"geometry": C128}, ValueError, "geometry: expected ratio 4, found 128; write request_table"),
    ],
)
def test_a_window_table_refuses(wrong, error, message):
    with pytest.raises(error, match=message):
        window_table(**{"geometry": C4, **WINDOW, **wrong})


def test_a_request_table_refuses():
    arguments = {
        name: WINDOW[name] for name in ("req_pool_indices", "start_pos", "seqused", "capacity", "max_capacity")
    }
    with pytest.raises(ValueError, match="geometry: expected ratio 128, found 4; write window_table"):
        request_table(C4, **arguments)
    with pytest.raises(ValueError, match=r"req_pool_indices\[1\]: expected a request in \[0, 12\), found 12"):
        request_table(C128, **{**arguments, "req_pool_indices": ints(0, 12)})
    with pytest.raises(
        ValueError, match=r"state_block_table\[1, 127\]: expected a row before the dummy, 1535, found 1535"
    ):
        request_table(C128, **{**arguments, "req_pool_indices": ints(0, 11), "start_pos": ints(0, 128)})


def test_padded_requests_may_be_anything():
    arguments = {**WINDOW, "req_pool_indices": ints(0, 99), "start_pos": ints(3, -5), "seqused": ints(1, 0)}
    assert window_table(C4, **arguments)[1].tolist() == [C4.dummy] * 9
    assert request_table(C128, ints(0, 99), ints(3, -5), ints(1, 0), ints(1, 1), 1)[1].tolist() == [C128.dummy] * 129


@pytest.mark.parametrize("ratio", [4, 128])
@pytest.mark.parametrize("pieces", [[1] * 150, [70, 1, 1, 78], [127, 1, 22]])
def test_a_request_through_its_pool_equals_one_call_over_the_whole(ratio, pieces):
    ring = ring_size(ratio, speculative=False)
    shape = Shape(
        capacity=(150,),
        starts=(0,),
        cmp_ratio=ratio,
        coff=2 if ratio == 4 else 1,
        rope_head_dim=0,
        hidden=4,
        head_dim=4,
    )
    whole = shape.named("cpu")
    pool = StatePool(160 if ratio == 4 else 4 * ring, ratio, 4, ring)
    request, context = ints(2), torch.arange(160, dtype=torch.int32).repeat(4, 1)
    wanted, rows, start = reference.compressor(**whole), [], 0
    for length in pieces:
        starts, used = ints(start), ints(length)
        if ratio == 4:
            table = window_table(
                pool.geometry, context, torch.arange(160), request, starts, used, used, length, swa_page_size=8
            )
        else:
            table = request_table(pool.geometry, request, starts, used, used, length)
        size = min(length, length // ratio + 1)
        piece = {
            **whole,
            "x": whole["x"][start : start + length],
            "state_cache": pool.state_cache,
            "state_block_table": table,
            "cu_seqlens": ints(0, length),
            "start_pos": starts,
            "rope_sin": torch.zeros(size, 0),
            "rope_cos": torch.zeros(size, 0),
        }
        rows.append(reference.compressor(**piece)[: produced_rows(start, length, ratio)])
        start += length
    found = torch.cat(rows)
    assert torch.equal(found, wanted[: len(found)])
    assert len(found) == 150 // ratio
    assert pool.buffer[-1, pool.geometry.last_dim // 2 :].eq(-math.inf).all(), "the dummy stays cleared"
