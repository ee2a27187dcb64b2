"""disagg.send_kvcache over the real engine, from this process into another over loopback TCP."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from confbag import load
from confbag.backends import make_plan
from confbag.kernels.send_kvcache.contract import SEND_KVCACHE
from confbag.kernels.send_kvcache.errors import DONE, FAILED, NOT_SENT, UNKNOWN, PairingError, TransferError
from confbag.testing import check_implementation

Make = Callable[..., Any]
ITEM_LENS = [512] * 5


def pages(numbers: Any) -> np.ndarray:
    return np.array(list(numbers), dtype=np.int32)


def statuses(error: TransferError) -> list[str]:
    return [each.status for each in error.layers]


@pytest.fixture
def send() -> Callable[..., int]:
    """The op as the plan of a prefill server binds it on this machine."""
    plan = make_plan(load(env={}, overrides={"disagg.mode": "prefill", "device.kind": "cpu"}))
    assert plan["disagg.send_kvcache"].provider == "mooncake"
    return plan.bind(ops=["disagg.send_kvcache"]).send_kvcache


def test_its_signature_is_the_contracts() -> None:
    check_implementation(SEND_KVCACHE, "mooncake")
    check_implementation(SEND_KVCACHE, "ascend")


def test_pages_arrive_where_they_should_and_nothing_else_changes(
    send: Make, peer: Make, pools: Make, copied: Make
) -> None:
    item_lens = [4096, 64, 0, 4096]
    here, there = pools(item_lens, 16), peer(item_lens, 16)
    source, destination = [3, 4, 5, 9, 0], [0, 1, 7, 8, 15]
    assert send(here.sender(), there.session, pages(source), there.ptrs, pages(destination), None) == 0
    assert there.read() == copied(there, here, [(0, 0), (1, 1), (3, 3)], source, destination)


def test_a_hybrid_stage_pairs_by_layer_ids(send: Make, peer: Make, pools: Make, copied: Make) -> None:
    here = pools([256, 128, 256, 128], 4)
    there = peer([9, 9, 256, 128, 9, 9, 256, 128], 4, [0, 1, 2, 3, 0, 1, 2, 3])
    sender = here.sender(hybrid_mla=True, pp_size=2, start_layer=2, layer_ids=[2, 3, 2, 3])
    send(sender, there.session, pages([3, 1]), there.ptrs, pages([0, 1]), None, dst_layer_ids=there.layer_ids)
    assert there.read() == copied(there, here, [(0, 2), (1, 3), (2, 6), (3, 7)], [3, 1], [0, 1])
    with pytest.raises(PairingError, match="the source has layer ids and the destination has none"):
        send(sender, there.session, pages([3, 1]), there.ptrs, pages([0, 1]), None)


def test_a_deepseek_v4_stage(send: Make, peer: Make, pools: Make, copied: Make) -> None:
    here, there = pools([1024] * 2 + [128] * 2 + [2] * 2, 8), peer([1024] * 4 + [128] * 4 + [2] * 4, 8)
    ratios = [0, 4, 128, 4, 128, 4, 4, 128]
    sender = here.sender(groups=3, pp_size=2, start_layer=3, end_layer=6, ratio=4, compression_ratios=ratios)
    send(sender, there.session, pages([7, 6, 0]), there.ptrs, pages([1, 2, 3]), None)
    assert there.read() == copied(there, here, [(0, 1), (1, 2), (2, 5), (3, 6), (4, 9), (5, 10)], [7, 6, 0], [1, 2, 3])


@pytest.mark.parametrize("custom", [False, True])
def test_more_blocks_than_the_engine_queues(send: Make, peer: Make, pools: Make, copied: Make, custom: bool) -> None:
    here, there = pools([64] * 8, 5000), peer([64] * 8, 5000)
    numbers = random.Random(1)
    source, destination = numbers.sample(range(5000), 4500), numbers.sample(range(5000), 4500)
    with ThreadPoolExecutor(4) as executor:
        sender = here.sender(custom_mem_pool=custom)
        assert send(sender, there.session, pages(source), there.ptrs, pages(destination), executor) == 0
    assert there.read() == copied(there, here, [(entry, entry) for entry in range(8)], source, destination)


def test_two_requests_one_after_the_other(send: Make, peer: Make, pools: Make, copied: Make) -> None:
    here, there = pools(ITEM_LENS, 6), peer(ITEM_LENS, 6)
    send(here.sender(), there.session, pages([0]), there.ptrs, pages([5]), None)
    send(here.sender(), there.session, pages([4, 5]), there.ptrs, pages([0, 1]), None)
    partners = [(entry, entry) for entry in range(5)]
    assert there.read() == copied(there, here, partners, [0, 4, 5], [5, 0, 1])


def test_nobody_listens(send: Make, pools: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        session = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TransferError) as caught:
            send(pools(ITEM_LENS, 2).sender(), session, pages([0]), [4096] * 5, pages([0]), None)
    assert (caught.value.session, caught.value.layer) == (session, 0)
    assert statuses(caught.value) == [FAILED] + [NOT_SENT] * 4


def test_memory_that_the_peer_did_not_register(send: Make, peer: Make, pools: Make) -> None:
    here, there = pools(ITEM_LENS, 4), peer(ITEM_LENS, 4)
    elsewhere = max(there.ptrs) + 2**30
    with pytest.raises(TransferError) as caught:
        send(here.sender(), there.session, pages([1]), [*there.ptrs[:2], elsewhere, *there.ptrs[3:]], pages([2]), None)
    assert caught.value.layer == 2
    assert statuses(caught.value) == [DONE, DONE, FAILED, NOT_SENT, NOT_SENT]
    pools_there = there.read()
    assert [pool[1024:1536] == sent[512:1024] for pool, sent in zip(pools_there, here.bytes, strict=True)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def engine_that(at: int, happens: Callable[[], None]) -> type:
    """A real engine before whose call number `at` something happens to the peer."""
    from mooncake.engine import TransferEngine

    class Engine(TransferEngine):
        calls = 0

        def batch_transfer_sync_write(self, *arguments: Any) -> int:
            type(self).calls += 1
            if type(self).calls == at + 1:
                happens()
            return super().batch_transfer_sync_write(*arguments)

    return Engine


@pytest.mark.parametrize("layer", [0, 3])
def test_a_peer_that_dies_in_the_middle(send: Make, peer: Make, pools: Make, layer: int) -> None:
    there = peer(ITEM_LENS, 4)
    here = pools(ITEM_LENS, 4, engine_that(layer, there.kill))
    with pytest.raises(TransferError) as caught:
        send(here.sender(start_layer=20), there.session, pages([0, 3]), there.ptrs, pages([1, 2]), None)
    assert (caught.value.session, caught.value.layer) == (there.session, 20 + layer)
    assert statuses(caught.value) == [DONE] * layer + [FAILED] + [NOT_SENT] * (4 - layer)
    assert f"session {there.session}, layer {20 + layer}:" in str(caught.value)


def test_a_peer_that_stops_to_answer_in_the_middle(send: Make, peer: Make, pools: Make, copied: Make) -> None:
    item_lens = [2**23] * 4
    there = peer(item_lens, 2)
    here = pools(item_lens, 2, engine_that(2, there.stop))
    with pytest.raises(TransferError) as caught:
        send(here.sender(time_limit=1.0), there.session, pages([0]), there.ptrs, pages([1]), None)
    assert caught.value.layer == 2
    assert statuses(caught.value) == [DONE, DONE, UNKNOWN, NOT_SENT]
    assert "leave the pages of what is unknown alone" in str(caught.value)
    there.resume()
    arrived, wanted = there.read(), copied(there, here, [(entry, entry) for entry in range(4)], [0], [1])
    assert (arrived[:2], set(arrived[3])) == (wanted[:2], {0xEE})


def test_a_peer_that_never_answers_its_first_call(send: Make, peer: Make, pools: Make) -> None:
    here, there = pools(ITEM_LENS, 4), peer(ITEM_LENS, 4)
    there.stop()
    with pytest.raises(TransferError) as caught:
        send(here.sender(time_limit=1.0), there.session, pages([0]), there.ptrs, pages([1]), None)
    assert statuses(caught.value) == [UNKNOWN] + [NOT_SENT] * 4


def test_a_process_that_gave_up_a_transfer_ends_in_order(peer: Make) -> None:
    there = peer([2**20], 2)
    there.stop()
    script = f"""
        import ctypes, sys, array
        import numpy as np
        from confbag.kernels.send_kvcache.engine import register
        from confbag.kernels.send_kvcache.errors import TransferError
        from confbag.kernels.send_kvcache.mooncake import open_engine, send_kvcache
        from confbag.kernels.send_kvcache.sender import Sender

        pool = (ctypes.c_ubyte * 2**21)()
        engine, _ = open_engine("127.0.0.1", "tcp")
        register(engine, [ctypes.addressof(pool)], [2**21])
        sender = Sender(engine, [ctypes.addressof(pool)], [2**21], [2**20], time_limit=0.5)
        page = np.zeros(1, dtype=np.int32)
        try:
            send_kvcache(sender, {there.session!r}, page, {there.ptrs!r}, page, None)
        except TransferError as error:
            print(error.layers[0].status, flush=True)
    """
    sending = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert sending.stdout.readline() == "unknown\n"
        there.kill()
        assert sending.wait(90) == 0
    finally:
        sending.kill()
        sending.wait(30)
        sending.stdout.close()
