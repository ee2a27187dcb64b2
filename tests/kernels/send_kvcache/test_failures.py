"""A peer that refuses, dies or stops to answer: an error with session and layer, and nothing half written is done."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from confbag.errors import ConfbagError
from confbag.kernels.send_kvcache.engine import initialise, register
from confbag.kernels.send_kvcache.errors import DONE, FAILED, NOT_SENT, UNKNOWN, EngineError, LayerStatus, TransferError
from confbag.kernels.send_kvcache.reference import InProcessEngine, send_kvcache
from confbag.kernels.send_kvcache.transfer import MAX_BLOCKS

Sides = Callable[..., Any]
LAYERS = 5
ITEM_LENS = [4] * LAYERS


class Faulty(InProcessEngine):
    """An engine at whose call number `at` something happens first; what that returns, if anything, is the status."""

    def __init__(self, at: int, happens: Callable[[], int | None]) -> None:
        super().__init__()
        self._calls = 0
        self._at = at
        self._happens = happens
        self._counting = threading.Lock()

    def batch_transfer_sync_write(self, *arguments: Any) -> int:
        with self._counting:
            number, self._calls = self._calls, self._calls + 1
        status = self._happens() if number == self._at else None
        return super().batch_transfer_sync_write(*arguments) if status is None else status


@pytest.fixture
def send(side: Sides, pages: Callable[..., torch.Tensor]) -> Callable[..., tuple[TransferError, Any, Any]]:
    """Send five layers of two pages to a peer, with an engine to which something happens; the error, and both sides."""

    def run(
        at: int, happens: Callable[[Any], int | None], executor: Any = None, **described: Any
    ) -> tuple[TransferError, Any, Any]:
        there = side(ITEM_LENS, 4)
        here = side(ITEM_LENS, 4, seed=1, engine=Faulty(at, lambda: happens(there)))
        sender = here.sender(ITEM_LENS, custom_mem_pool=executor is not None, **described)
        with pytest.raises(TransferError) as caught:
            send_kvcache(sender, there.engine.session, pages(0, 2), there.ptrs, pages(1, 0), executor)
        return caught.value, here, there

    return run


def statuses(error: TransferError) -> list[str]:
    return [each.status for each in error.layers]


def arrived(here: Any, there: Any, entry: int) -> bool:
    sent, got = here.bytes[entry], there.bytes[entry]
    return got[4:8] + got[0:4] == sent[0:4] + sent[8:12]


@pytest.mark.parametrize("layer", range(LAYERS))
def test_a_peer_that_dies_at_any_layer(send: Callable[..., Any], layer: int) -> None:
    error, here, there = send(layer, lambda there: there.engine.close())
    session = there.engine.session
    assert (error.session, error.layer) == (session, layer)
    assert statuses(error) == [DONE] * layer + [FAILED] + [NOT_SENT] * (LAYERS - layer - 1)
    assert [arrived(here, there, entry) for entry in range(LAYERS)] == [entry < layer for entry in range(LAYERS)]
    assert f"session {session}, layer {layer}: the engine gave status -1: the peer refused, died or" in str(error)
    assert isinstance(error, RuntimeError)
    assert isinstance(error, ConfbagError)


def test_a_session_that_nobody_has(send: Callable[..., Any]) -> None:
    error, _, there = send(0, lambda there: there.engine.close())
    assert statuses(error) == [FAILED] + [NOT_SENT] * 4
    assert str(error).endswith("; of 5 entries 1 failed, 4 not sent")
    assert all(set(pool) == {0xEE} for pool in there.bytes)


def test_a_destination_that_is_not_registered(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    here, there = side(ITEM_LENS, 4, seed=1), side(ITEM_LENS, 4)
    there.ptrs[3] += 4
    with pytest.raises(TransferError) as caught:
        send_kvcache(here.sender(ITEM_LENS), there.engine.session, pages(0, 1), there.ptrs, pages(2, 4), None)
    assert caught.value.layer == 0
    assert statuses(caught.value) == [FAILED] + [NOT_SENT] * 4


@pytest.mark.parametrize("status", [-1, 1, -7])
def test_any_status_but_0_is_a_failure(send: Callable[..., Any], status: int) -> None:
    error, _, _ = send(2, lambda there: status)
    assert f"the engine gave status {status}" in error.why
    assert statuses(error) == [DONE, DONE, FAILED, NOT_SENT, NOT_SENT]


def test_an_engine_that_raises_is_the_cause(send: Callable[..., Any]) -> None:
    def fall(there: Any) -> int:
        raise OSError("no route")

    error, _, _ = send(1, fall)
    assert "the engine raised OSError: no route" in error.why
    assert isinstance(error.__cause__, OSError)
    assert statuses(error) == [DONE, FAILED, NOT_SENT, NOT_SENT, NOT_SENT]


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """What an engine waits for that does not answer; freed at the end, and its thread with it."""
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name.startswith("send_kvcache to"):
            thread.join(10)
            assert not thread.is_alive()


def test_a_peer_that_does_not_answer_in_time(send: Callable[..., Any], held: threading.Event) -> None:
    error, here, there = send(2, lambda there: held.wait(60) and None, time_limit=0.1)
    assert error.layer == 2
    assert error.why == "not there within the time limit of 0.1 s"
    assert statuses(error) == [DONE, DONE, UNKNOWN, NOT_SENT, NOT_SENT]
    assert "leave the pages of what is unknown alone" in str(error)
    assert [arrived(here, there, entry) for entry in range(LAYERS)] == [True, True, False, False, False]


def test_what_was_not_sent_in_time_is_never_sent(send: Callable[..., Any], held: threading.Event) -> None:
    error, here, there = send(2, lambda there: held.wait(60) and None, time_limit=0.1)
    held.set()
    for thread in threading.enumerate():
        if thread.name == f"send_kvcache to {error.session}":
            thread.join(10)
    assert [arrived(here, there, entry) for entry in range(LAYERS)] == [True, True, True, False, False]
    assert statuses(error) == [DONE, DONE, UNKNOWN, NOT_SENT, NOT_SENT]


def test_a_layer_that_breaks_off_between_two_calls_is_not_done(side: Sides) -> None:
    there = side([2], 4 * MAX_BLOCKS)
    here = side([2], 4 * MAX_BLOCKS, seed=1, engine=Faulty(1, lambda: there.engine.close()))
    some = torch.arange(0, 4 * MAX_BLOCKS, 2, dtype=torch.int32)
    with pytest.raises(TransferError) as caught:
        send_kvcache(here.sender([2]), there.engine.session, some, there.ptrs, some, None)
    assert statuses(caught.value) == [FAILED]
    written = [page for page in range(4 * MAX_BLOCKS) if there.bytes[0][2 * page : 2 * page + 2] != b"\xee\xee"]
    assert 0 < len(written) <= MAX_BLOCKS


@pytest.mark.parametrize("workers", [1, 5])
def test_on_an_executor_a_failure_stops_the_others(send: Callable[..., Any], workers: int) -> None:
    with ThreadPoolExecutor(workers) as executor:
        error, here, there = send(1, lambda there: there.engine.close(), executor)
    assert FAILED in statuses(error)
    assert UNKNOWN not in statuses(error)
    for each in error.layers:
        assert arrived(here, there, each.entry) is (each.status == DONE)
    assert error.layers[error.layer].status == FAILED


def test_on_an_executor_the_time_limit_holds_too(send: Callable[..., Any], held: threading.Event) -> None:
    with ThreadPoolExecutor(1) as executor:
        error, _, _ = send(1, lambda there: held.wait(60) and None, executor, time_limit=0.1)
        held.set()
    assert sorted(statuses(error)) == sorted([DONE, UNKNOWN, NOT_SENT, NOT_SENT, NOT_SENT])
    assert error.layers[error.layer].status == UNKNOWN


def test_an_executor_that_never_begins(send: Callable[..., Any], held: threading.Event) -> None:
    with ThreadPoolExecutor(1) as executor:
        executor.submit(held.wait, 60)
        error, _, there = send(9, lambda there: None, executor, time_limit=0.1)
        held.set()
    assert statuses(error) == [NOT_SENT] * LAYERS
    assert all(set(pool) == {0xEE} for pool in there.bytes)


def test_an_executor_that_is_shut_down(send: Callable[..., Any]) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    error, _, _ = send(9, lambda there: None, executor)
    assert "the executor takes no more work" in error.why
    assert statuses(error) == [NOT_SENT] * LAYERS


@pytest.mark.parametrize(
    ("described", "layer"),
    [
        ({"layer_ids": [30, 31, 32, 33, 34]}, 32),
        ({"start_layer": 7}, 9),
        ({"start_layer": 2, "ratio": 4, "compression_ratios": [4, 0, 4, 128, 4, 4, 0, 4, 4]}, 5),
    ],
)
def test_the_layer_is_the_models(send: Callable[..., Any], described: dict[str, Any], layer: int) -> None:
    error, _, _ = send(2, lambda there: -1, **described)
    assert error.layer == layer
    assert error.layers[2] == LayerStatus(layer, 2, FAILED)


def test_k_and_v_of_a_layer_are_entries_of_one_layer(side: Sides, pages: Callable[..., torch.Tensor]) -> None:
    there = side([4] * 4, 4)
    here = side([4] * 4, 4, seed=1, engine=Faulty(3, lambda: -1))
    with pytest.raises(TransferError) as caught:
        send_kvcache(here.sender([4] * 4, groups=2), there.engine.session, pages(0), there.ptrs, pages(1), None)
    assert [(each.layer, each.entry) for each in caught.value.layers] == [(0, 0), (1, 1), (0, 2), (1, 3)]
    assert caught.value.layer == 1


def test_the_error_travels_between_processes(send: Callable[..., Any]) -> None:
    error, _, _ = send(1, lambda there: -1)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.session, again.layer, again.layers) == (error.session, error.layer, error.layers)
    assert again.having(DONE) == error.layers[:1]


# Opening an engine


class Opened:
    """What an engine answers while it is opened."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked: list[tuple[Any, ...]] = []

    def initialize(self, *arguments: str) -> int:
        self.asked.append(arguments)
        return self.status

    def register_memory(self, pointer: int, length: int) -> int:
        self.asked.append((pointer, length))
        return self.status

    def get_rpc_port(self) -> int:
        return 4711


def test_an_engine_that_opens() -> None:
    engine = Opened(0)
    assert initialise(engine, "127.0.0.1", "tcp", "") == "127.0.0.1:4711"
    register(engine, [10, 20, 30], [1, 0, 3])
    assert engine.asked == [("127.0.0.1", "P2PHANDSHAKE", "tcp", ""), (10, 1), (30, 3)]


def test_an_engine_that_does_not() -> None:
    with pytest.raises(EngineError, match=r"status -1 on 127\.0\.0\.1 over rdma, device 'mlx5_0'"):
        initialise(Opened(-1), "127.0.0.1", "rdma", "mlx5_0")
    with pytest.raises(EngineError, match="status 9 for pool 1, 3 bytes at 0x1e"):
        register(Opened(9), [10, 30], [0, 3])
