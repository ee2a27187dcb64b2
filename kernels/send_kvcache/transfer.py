"""Hands a schedule to an engine under a time limit, and knows of each layer how far it came."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Final, NamedTuple

from confbag.kernels.send_kvcache.errors import DONE, FAILED, NOT_SENT, UNKNOWN, LayerStatus, TransferError
from confbag.kernels.send_kvcache.schedule import Layer
from confbag.kernels.send_kvcache.sender import Sender

MAX_BLOCKS: Final = 128
"""Blocks in one call. mooncake's TCP transport (0.3.13) refuses a batch that its queue for a peer cannot hold (2048
passed, 4000 did not), and the session does not recover from it; smaller batches cost nothing that can be measured."""

_SENDING: Final = "sending"


def transfer(sender: Sender, session: str, layers: Sequence[Layer], executor: Executor | None) -> int:
    """Send every layer, or raise TransferError. 0 once all have arrived.

    One layer after the other, stopped by the first that fails; on the executor with a custom memory pool, one future a
    layer, where a failure cancels those that have not begun and waits for those that have. The time limit covers the
    whole send; when it passes, a call that the engine still holds is left behind in its thread, which Python waits for
    at exit (the engine has limits of its own).
    """
    if not layers:
        return 0
    return _Run(sender, session, layers).to_the_end(executor if sender.custom_mem_pool else None)


class _Failure(NamedTuple):
    place: int
    why: str
    error: Exception | None


class _Run:
    """One send: what each layer's status is, and whether another block may still be handed over."""

    def __init__(self, sender: Sender, session: str, layers: Sequence[Layer]) -> None:
        self._sender = sender
        self._session = session
        self._layers = layers
        self._status = [NOT_SENT] * len(layers)
        self._stopped = False
        self._lock = threading.Lock()

    def to_the_end(self, executor: Executor | None) -> int:
        deadline = time.monotonic() + self._sender.time_limit
        futures: set[Future[_Failure | None]] = set()
        failure: _Failure | None = None
        try:
            failure = self._begin(executor, futures)
            while futures:
                if failure is not None:
                    self._stop()
                    futures = {future for future in futures if not future.cancel()}
                done, futures = wait(futures, max(0.0, deadline - time.monotonic()), FIRST_COMPLETED)
                if futures and not done:
                    break
                for future in done:
                    failure = failure or future.result()
        finally:
            self._stop()
        return self._end(failure)

    def _begin(self, executor: Executor | None, futures: set[Future[_Failure | None]]) -> _Failure | None:
        if executor is None:
            futures.add(_in_a_thread(self._in_order, f"send_kvcache to {self._session}"))
            return None
        for place in range(len(self._layers)):
            try:
                futures.add(executor.submit(self._one, place))
            except RuntimeError as error:
                return _Failure(place, f"the executor takes no more work: {error}", error)
        return None

    def _end(self, failure: _Failure | None) -> int:
        """0 when all has arrived; else the error, by what is known at this moment. Nothing more is sent after it."""
        with self._lock:
            self._stopped = True
            statuses = [UNKNOWN if status == _SENDING else status for status in self._status]
        if failure is None:
            unfinished = [status for status in (UNKNOWN, NOT_SENT) if status in statuses]
            if not unfinished:
                return 0
            place = statuses.index(unfinished[0])
            failure = _Failure(place, f"not there within the time limit of {self._sender.time_limit:g} s", None)
        layers = [
            LayerStatus(layer.layer, layer.entry, status) for layer, status in zip(self._layers, statuses, strict=True)
        ]
        raise TransferError(self._session, self._layers[failure.place].layer, layers, failure.why) from failure.error

    def _in_order(self) -> _Failure | None:
        for place in range(len(self._layers)):
            failure = self._one(place)
            if failure is not None:
                return failure
        return None

    def _one(self, place: int) -> _Failure | None:
        """Send one layer; None when it arrived, or when nothing of it may be sent any more."""
        blocks = self._layers[place].blocks
        for start in range(0, len(blocks), MAX_BLOCKS):
            with self._lock:
                if self._stopped:
                    self._status[place] = FAILED if start else NOT_SENT
                    return None
                self._status[place] = _SENDING
            some = blocks[start : start + MAX_BLOCKS]
            try:
                status = self._sender.engine.batch_transfer_sync_write(
                    self._session, *(list(column) for column in zip(*some, strict=True))
                )
            except Exception as error:
                return self._failed(place, f"the engine raised {type(error).__name__}: {error}", error)
            if status != 0:
                why = f"the engine gave status {status}: the peer refused, died or stopped to answer"
                return self._failed(place, why, None)
        with self._lock:
            self._status[place] = DONE
        return None

    def _failed(self, place: int, why: str, error: Exception | None) -> _Failure:
        with self._lock:
            self._status[place] = FAILED
        return _Failure(place, why, error)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True


def _in_a_thread(work: Callable[[], _Failure | None], name: str) -> Future[_Failure | None]:
    """The work in a thread of its own; no daemon: one that returns from C++ after Python's end aborts the process."""
    future: Future[_Failure | None] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=name).start()
    return future
