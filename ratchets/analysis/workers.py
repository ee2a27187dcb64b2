"""A few forked processes that work a list of tasks; one that dies takes only the task it died on with it."""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")
# Of more tasks than so many, this share of the weight is dealt out only when a process is done.
_MANY = 64
_SPARE = 0.15
_HEAD = struct.Struct("!II")


class Died(NamedTuple):
    """What a task gave whose process was ended from outside."""

    reason: str


def each(
    tasks: Sequence[Task], work: Callable[[Task], Result], *, jobs: int, weight: Callable[[Task], int]
) -> Iterator[tuple[Task, Result | Died]]:
    """The result of every task, in any order. Without fork, or with one job, the work is done here."""
    if jobs < 2 or len(tasks) < 2 or not hasattr(os, "fork") or threading.active_count() > 1:
        for task in tasks:
            yield task, work(task)
        return
    weights = [weight(task) for task in tasks]
    heavy = sorted(range(len(tasks)), key=lambda index: (-weights[index], index))
    kept = len(heavy)
    if kept > _MANY:
        # Weights are guesses: the lightest wait for whoever is done first.
        spare = sum(weights) * _SPARE
        while kept > jobs and spare > 0:
            kept -= 1
            spare -= weights[heavy[kept]]
    shares = _dealt(heavy[:kept], min(jobs, kept))
    later = _dealt(heavy[kept:], min(2 * jobs, len(heavy) - kept))
    for index, result in _gather(shares, later, lambda index: work(tasks[index])):
        yield tasks[index], cast("Result | Died", result)


def _dealt(heavy: list[int], count: int) -> list[list[int]]:
    """Tasks, the heavy ones first, dealt to and fro."""
    shares: list[list[int]] = [[] for _ in range(count)]
    for position, index in enumerate(heavy):
        lap, place = divmod(position, count)
        shares[place if lap % 2 == 0 else -1 - place].append(index)
    return shares


class _Child:
    """One process: the tasks it has still to answer, and what came through its pipe so far."""

    def __init__(self, pid: int, read: int, share: list[int]) -> None:
        self.pid = pid
        self.read = read
        self.left = list(share)
        self.buffer = bytearray()

    @classmethod
    def start(cls, share: list[int], work: Callable[[int], object]) -> _Child | None:
        """Fork one; None where no more processes or files may be had, as in a small container."""
        ends: tuple[int, ...] = ()
        try:
            read, write = ends = os.pipe()
            pid = os.fork()
        except OSError:
            for end in ends:
                os.close(end)
            return None
        if pid == 0:
            _serve(read, write, share, work)
        os.close(write)
        return cls(pid, read, share)

    def results(self) -> Iterator[tuple[int, object]]:
        """The answers that are complete in the buffer."""
        while len(self.buffer) >= _HEAD.size:
            index, size = _HEAD.unpack_from(self.buffer)
            if len(self.buffer) < _HEAD.size + size:
                return
            payload = bytes(self.buffer[_HEAD.size : _HEAD.size + size])
            del self.buffer[: _HEAD.size + size]
            self.left.remove(index)
            yield index, pickle.loads(payload)

    def ended(self) -> str:
        """Wait for the process, and say how it ended."""
        os.close(self.read)
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            return f"the process that read it was ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"the process that read it left with {os.WEXITSTATUS(status)}"

    def end(self) -> None:
        """End a process whose answers nobody wants any more."""
        os.kill(self.pid, signal.SIGKILL)
        self.ended()


def _serve(read: int, write: int, share: list[int], work: Callable[[int], object]) -> None:
    """The life of a child; it never returns to the parent's code."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(read)
        with os.fdopen(write, "wb", buffering=1 << 20) as pipe:
            for index in share:
                payload = pickle.dumps(work(index), pickle.HIGHEST_PROTOCOL)
                pipe.write(_HEAD.pack(index, len(payload)) + payload)
                pipe.flush()
        status = 0
    finally:
        # No clean-up of the parent's may run twice.
        os._exit(status)


def _gather(
    shares: list[list[int]], later: list[list[int]], work: Callable[[int], object]
) -> Iterator[tuple[int, object]]:
    """The results of the shares, each in a process, and of those for later, in a new one whenever one is done."""
    children: list[_Child] = []
    with selectors.DefaultSelector() as selector:
        try:
            left: list[int] = []
            for share in shares:
                child = _Child.start(share, work)
                if child is None:
                    left += share
                    continue
                children.append(child)
                selector.register(child.read, selectors.EVENT_READ, child)
            if not children:
                left += [index for share in later for index in share]
                later = []
            for index in left:
                yield index, work(index)
            while children:
                for key, _ in selector.select():
                    child = key.data
                    data = os.read(child.read, 1 << 20)
                    child.buffer += data
                    yield from child.results()
                    if data:
                        continue
                    selector.unregister(child.read)
                    children.remove(child)
                    reason = child.ended()
                    rest: list[int] = []
                    if child.left:
                        dead, *rest = child.left
                        yield dead, Died(reason)
                    died = bool(rest)
                    if not rest and later:
                        rest = later.pop(0)
                    fresh = _Child.start(rest, work) if rest else None
                    if fresh is not None:
                        children.append(fresh)
                        selector.register(fresh.read, selectors.EVENT_READ, fresh)
                    else:
                        # What comes after a task that kills may kill too.
                        for index in rest:
                            yield index, Died(reason) if died else work(index)
        finally:
            for child in children:
                child.end()
