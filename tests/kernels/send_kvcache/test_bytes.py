"""The in-process provider on both sides: every byte where it should be, once, and no other byte touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confbag.kernels.dsv4.state_pool.geometry import sent_rows
from confbag.kernels.send_kvcache.errors import EngineError, PairingError, UnsupportedError
from confbag.kernels.send_kvcache.reference import InProcessEngine, send_kvcache
from confbag.kernels.send_kvcache.sender import Sender

Sides = Callable[..., Any]


def copied(
    receiver: list[bytes],
    sender: list[bytes],
    partners: Sequence[tuple[int, int]],
    item_lens: Sequence[int],
    source: Sequence[int],
    destination: Sequence[int],
) -> list[bytes]:
    """What the receiver must hold: byte by byte, without blocks or runs."""
    wanted = [bytearray(pool) for pool in receiver]
    for entry, partner in partners:
        for one, other in zip(source, destination, strict=True):
            for byte in range(item_lens[entry]):
                at = other * item_lens[entry] + byte
                wanted[partner][at] = sender[entry][one * item_lens[entry] + byte]
    return [bytes(pool) for pool in wanted]


def test_worked_example(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    here, there = side([100], 10, seed=1), side([100], 9)
    before = here.bytes
    status = send_kvcache(
        here.sender([100]), there.engine.session, pages(3, 4, 5, 9), there.ptrs, pages(0, 1, 7, 8), None
    )
    assert status == 0
    assert type(status) is int
    assert here.bytes == before
    (sent,), (arrived,) = before, there.bytes
    assert arrived[0:200] == sent[300:500]
    assert arrived[700:800] == sent[500:600]
    assert arrived[800:900] == sent[900:1000]
    assert arrived[200:700] == b"\xee" * 500


def test_positionals_one_to_five_and_the_rest_as_keywords(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    here, there = side([3, 5, 3, 5], 4, seed=2), side([9, 9, 3, 5, 9, 9, 3, 5], 4)
    sender = here.sender([3, 5, 3, 5], layer_ids=[2, 3, 2, 3], hybrid_mla=True, pp_size=2, start_layer=2)
    send_kvcache(
        sender,
        there.engine.session,
        pages(0, 2),
        there.ptrs,
        pages(3, 1),
        None,
        dst_layer_ids=[0, 1, 2, 3, 0, 1, 2, 3],
        dst_device_kv_indices=None,
        dst_kv_item_len=77,
        dst_attn_tp_size=8,
    )
    untouched = side([9, 9, 3, 5, 9, 9, 3, 5], 4).bytes
    partners = [(0, 2), (1, 3), (2, 6), (3, 7)]
    assert there.bytes == copied(untouched, here.bytes, partners, [3, 5, 3, 5], [0, 2], [3, 1])


@pytest.mark.parametrize(
    ("described", "partners"),
    [
        ({}, [(0, 0), (1, 1)]),
        ({"hybrid_mla": True, "layer_ids": [2, 3]}, [(0, 0), (1, 1)]),
        ({"pp_size": 2, "start_layer": 2}, [(0, 2), (1, 3)]),
        ({"pp_size": 2, "start_layer": 2, "layer_ids": [0, 1]}, [(0, 2), (1, 3)]),
        ({"pp_size": 2, "start_layer": 1, "groups": 2}, [(0, 1), (1, 3)]),
        ({"pp_size": 2, "start_layer": 2, "layer_ids": [1, 0], "hybrid_mla": True}, [(0, 1), (1, 0)]),
    ],
)
def test_only_a_hybrid_stage_pairs_by_the_peers_ids(
    side: Sides, pages: Callable[..., torch.Tensor], described: dict[str, Any], partners: list[tuple[int, int]]
) -> None:
    here, there = side([4, 4], 3, seed=3), side([4] * 4, 3)
    send_kvcache(
        here.sender([4, 4], **described), there.engine.session, pages(1), there.ptrs, pages(2), None, [0, 1, 2, 3]
    )
    assert there.bytes == copied(side([4] * 4, 3).bytes, here.bytes, partners, [4, 4], [1], [2])


def test_a_deepseek_v4_stage(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    item_lens = [8, 8, 2, 2, 1, 1]
    here, there = side(item_lens, 4, seed=4), side([8] * 4 + [2] * 4 + [1] * 4, 4)
    ratios = [0, 4, 128, 4, 128, 4, 4, 128]
    sender = here.sender(item_lens, groups=3, pp_size=2, start_layer=3, end_layer=6, ratio=4, compression_ratios=ratios)
    send_kvcache(sender, there.engine.session, pages(3, 0), there.ptrs, pages(0, 1), None)
    partners = [(0, 1), (1, 2), (2, 5), (3, 6), (4, 9), (5, 10)]
    untouched = side([8] * 4 + [2] * 4 + [1] * 4, 4).bytes
    assert there.bytes == copied(untouched, here.bytes, partners, item_lens, [3, 0], [0, 1])


def test_rows_of_the_compression_state_travel_as_pages(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    here, there = side([16, 6], 40, seed=14), side([16, 6], 40)
    source, destination = sent_rows(13, 2, 8), sent_rows(13, 4, 8)
    assert source == [16, 17, 18, 19, 20]
    sender = here.sender([16, 6], groups=2, ratio=4, compression_ratios=[128, 4])
    send_kvcache(sender, there.engine.session, pages(*source), there.ptrs, pages(*destination), None)
    wanted = copied(side([16, 6], 40).bytes, here.bytes, [(0, 0), (1, 1)], [16, 6], source, destination)
    assert there.bytes == wanted


def test_entries_without_bytes_are_skipped(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    here, there = side([4, 0, 4], 2, seed=5), side([4, 4, 4], 2)
    send_kvcache(here.sender([4, 0, 4]), there.engine.session, pages(0), there.ptrs, pages(1), None)
    assert there.bytes == copied(side([4, 4, 4], 2).bytes, here.bytes, [(0, 0), (2, 2)], [4, 0, 4], [0], [1])


@pytest.mark.parametrize("indices", [((), ()), ((), (1,)), ((1,), ())])
def test_an_empty_side_sends_nothing_and_asks_no_engine(
    side: Sides, pages: Callable[..., torch.Tensor], indices: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    here, there = side([4], 2, seed=6), side([4], 2)
    there.engine.close()
    source, destination = (pages(*some) for some in indices)
    assert send_kvcache(here.sender([4]), there.engine.session, source, there.ptrs, destination, None) == 0
    assert there.bytes == side([4], 2).bytes


def test_a_sender_without_entries_sends_nothing(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    there = side([4], 2)
    sender = Sender(InProcessEngine(), [], [], [])
    assert send_kvcache(sender, there.engine.session, pages(0), there.ptrs, pages(1), None) == 0


def test_numpy_pages(side: Sides) -> None:
    here, there = side([4], 3, seed=7), side([4], 3)
    source, destination = np.array([2, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    send_kvcache(here.sender([4]), there.engine.session, source, there.ptrs, destination, None)
    assert there.bytes == copied(side([4], 3).bytes, here.bytes, [(0, 0)], [4], [2, 0], [0, 1])


def test_more_blocks_than_one_call_takes(side: Sides) -> None:
    here, there = side([3], 700, seed=8), side([3], 700)
    source = list(range(0, 700, 2))
    destination = source[::-1]
    indices = [torch.tensor(some, dtype=torch.int32) for some in (source, destination)]
    send_kvcache(here.sender([3]), there.engine.session, indices[0], there.ptrs, indices[1], None)
    assert there.bytes == copied(side([3], 700).bytes, here.bytes, [(0, 0)], [3], source, destination)


def test_a_custom_memory_pool_sends_layers_on_the_executor(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    here, there = side([4, 6, 8], 3, seed=9), side([4, 6, 8], 3)
    sender = here.sender([4, 6, 8], custom_mem_pool=True)
    with ThreadPoolExecutor(2) as executor:
        assert send_kvcache(sender, there.engine.session, pages(2, 0), there.ptrs, pages(0, 1), executor) == 0
    partners = [(0, 0), (1, 1), (2, 2)]
    assert there.bytes == copied(side([4, 6, 8], 3).bytes, here.bytes, partners, [4, 6, 8], [2, 0], [0, 1])


def test_tensors_of_any_dtype_are_bytes_to_it(pages: Callable[..., torch.Tensor]) -> None:
    here, there = InProcessEngine(), InProcessEngine()
    sent, arrived = torch.randn(4, 2, 8, dtype=torch.bfloat16), torch.zeros(4, 2, 8, dtype=torch.bfloat16)
    here.register(sent)
    there.register(arrived)
    sender = Sender(here, [sent.data_ptr()], [sent.nbytes], [sent[0].nbytes])
    send_kvcache(sender, there.session, pages(3, 1), [arrived.data_ptr()], pages(0, 2), None)
    assert torch.equal(arrived[[0, 2]], sent[[3, 1]])
    assert not arrived[[1, 3]].any()
    with pytest.raises(EngineError, match="pool: expected a contiguous tensor"):
        here.register(sent.transpose(0, 1))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_source_byte_arrives_exactly_once_where_it_should(side: Sides, data: st.DataObject) -> None:
    draw = data.draw
    layers, groups, held = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 9))
    start = draw(st.integers(0, layers - 1))
    own = list(range(start, draw(st.integers(start + 1, layers))))
    of_layer = draw(st.lists(st.sampled_from([0, 1, 3, 8]), min_size=layers, max_size=layers))
    item_lens = [of_layer[layer] for _ in range(groups) for layer in own]
    here, there = side(item_lens, held, seed=draw(st.integers(0, 2**16))), side(of_layer * groups, held)
    count = draw(st.integers(0, held))
    numbers = st.permutations(range(held))
    source, destination = draw(numbers)[:count], draw(numbers)[:count]
    hybrid = draw(st.booleans())
    sender = here.sender(
        item_lens,
        groups=groups,
        pp_size=2,
        start_layer=start,
        hybrid_mla=hybrid,
        layer_ids=own * groups if hybrid else (),
        custom_mem_pool=draw(st.booleans()),
    )
    before = here.bytes
    with ThreadPoolExecutor(3) as executor:
        send_kvcache(
            sender,
            there.engine.session,
            torch.tensor(source, dtype=torch.int32),
            there.ptrs,
            torch.tensor(destination, dtype=torch.int32),
            executor,
            dst_layer_ids=list(range(layers)) * groups,
        )
    partners = [
        (group * len(own) + place, group * layers + layer) for group in range(groups) for place, layer in enumerate(own)
    ]
    untouched = side(of_layer * groups, held).bytes
    assert there.bytes == copied(untouched, before, partners, item_lens, source, destination)
    assert here.bytes == before


# Refused before anything is sent

INT32 = torch.tensor([0], dtype=torch.int32)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"sender": "x"}, TypeError, "sender: expected a Sender, found str"),
        ({"mooncake_session_id": 7}, TypeError, "mooncake_session_id: expected text, found int"),
        ({"mooncake_session_id": ""}, ValueError, "mooncake_session_id: expected host:port, found nothing"),
        (
            {"prefill_kv_indices": INT32.long()},
            TypeError,
            "prefill_kv_indices: expected an array of int32, found int64",
        ),
        ({"prefill_kv_indices": [0]}, TypeError, "prefill_kv_indices: expected an array of int32, found list"),
        ({"prefill_kv_indices": INT32[None]}, ValueError, r"prefill_kv_indices: expected 1 dim.*found shape \[1, 1\]"),
        ({"prefill_kv_indices": INT32.to("meta")}, ValueError, "prefill_kv_indices: expected an array on the CPU"),
        ({"prefill_kv_indices": -INT32 - 1}, ValueError, r"prefill_kv_indices\[0\]: expected a page of at least 0"),
        ({"prefill_kv_indices": INT32 + 2}, ValueError, "expected pages below 2, which is what entry 0.*found 2"),
        ({"dst_kv_indices": np.array([1])}, TypeError, "dst_kv_indices: expected an array of int32, found int64"),
        ({"dst_kv_indices": INT32.repeat(2)}, ValueError, "dst_kv_indices: expected 1 pages.*found 2"),
        ({"dst_kv_ptrs": 5}, TypeError, "dst_kv_ptrs: expected a list of integers, found int"),
        ({"dst_kv_ptrs": [0.5]}, TypeError, r"dst_kv_ptrs\[0\]: expected an integer, found float"),
        ({"dst_kv_ptrs": [-8]}, ValueError, r"dst_kv_ptrs\[0\]: expected 0 to .*, found -8"),
        ({"dst_kv_ptrs": []}, PairingError, "destination: expected at least 1 entries.*found 0"),
        ({"dst_layer_ids": [2**32]}, ValueError, r"dst_layer_ids\[0\]: expected 0 to 4294967295"),
        ({"dst_layer_ids": "3"}, TypeError, "dst_layer_ids: expected a list of integers, found str"),
        ({"dst_device_kv_indices": INT32}, UnsupportedError, "dst_device_kv_indices: expected None, found pages"),
    ],
)
def test_bad_operands_are_refused_before_anything_is_sent(
    side: Sides, changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    here, there = side([4], 2, seed=10), side([4], 2)
    operands = {
        "sender": here.sender([4]),
        "mooncake_session_id": there.engine.session,
        "prefill_kv_indices": INT32,
        "dst_kv_ptrs": there.ptrs,
        "dst_kv_indices": INT32,
        "executor": None,
    }
    with pytest.raises(error, match=message):
        send_kvcache(**(operands | changed))
    assert there.bytes == side([4], 2).bytes


def test_device_pages_are_not_implemented_as_python_says_it() -> None:
    assert issubclass(UnsupportedError, NotImplementedError)


def test_a_custom_memory_pool_needs_an_executor(side: Sides) -> None:
    here, there = side([4], 2, seed=11), side([4], 2)
    with pytest.raises(TypeError, match="executor: expected an executor"):
        send_kvcache(here.sender([4], custom_mem_pool=True), there.engine.session, INT32, there.ptrs, INT32, None)


@pytest.mark.parametrize(
    ("item_len", "tp_size", "message"),
    [
        (4, 2, None),
        (4, 1, "dst_attn_tp_size: expected 2, as the sender has with unified memory, found 1"),
        (4, None, "dst_attn_tp_size: expected 2.*found None"),
        (8, 2, "dst_kv_item_len: expected 4 bytes, as the sender has with unified memory, found 8"),
        (None, 2, "dst_kv_item_len: expected 4 bytes.*found None"),
    ],
)
def test_unified_memory_wants_the_same_envelope(
    side: Sides, item_len: int | None, tp_size: int | None, message: str | None
) -> None:
    here, there = side([4, 0], 2, seed=12), side([4, 0], 2)
    for unified in (False, True):
        sender = here.sender([4, 0], unified_memory=unified, attn_tp_size=2)
        arguments = (sender, there.engine.session, INT32, there.ptrs, INT32, None, None, None, item_len, tp_size)
        if unified and message:
            with pytest.raises(PairingError, match=message):
                send_kvcache(*arguments)
        else:
            assert send_kvcache(*arguments) == 0


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"data_lens": [1]}, "sender.data_lens: expected one for each of 2 entries, found 1"),
        ({"item_lens": [1, 2, 3]}, "sender.item_lens: expected one for each of 2 entries, found 3"),
        ({"layer_ids": [1]}, "sender.layer_ids: expected one for each of 2 entries, found 1"),
        ({"item_lens": [1, -1]}, r"sender.item_lens\[1\]: expected an integer of at least 0, found -1"),
        ({"data_ptrs": [1, 2.0]}, r"sender.data_ptrs\[1\]: expected an integer"),
        ({"pp_size": 0}, "sender.pp_size: expected at least 1, found 0"),
        ({"ratio": 4}, "sender.ratio: expected one of the compression ratios"),
        ({"time_limit": 0}, "sender.time_limit: expected seconds above 0, found 0"),
    ],
)
def test_a_sender_that_contradicts_itself_is_refused(described: dict[str, Any], message: str) -> None:
    whole = {"engine": InProcessEngine(), "data_ptrs": [0, 8], "data_lens": [8, 8], "item_lens": [4, 4]}
    with pytest.raises(ValueError, match=message):
        Sender(**(whole | described))


def test_an_engine_of_another_provider_is_refused(side: Sides) -> None:
    here, there = side([4], 2, seed=13), side([4], 2)
    sender = here.sender([4], engine=object())
    with pytest.raises(TypeError, match=r"sender.engine: expected a .*InProcessEngine, found a builtins.object; open"):
        send_kvcache(sender, there.engine.session, INT32, there.ptrs, INT32, None)
