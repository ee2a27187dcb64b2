"""Which requests run: first come, first admitted, as soon as the pool can hold the longest they may become."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from mini_engine.kv_pool import KvPool


class RequestError(ValueError):
    """A request that this engine could never serve; refused when it is submitted."""


@dataclass(eq=False, slots=True)
class Request:
    """One prompt and what was generated after it.

    tokens: prompt and output. cached: how many of them have their keys and values in the pool (the newest never has).
    row: of the pool's table, while the request runs.
    """

    number: int
    prompt: bytes
    max_new_tokens: int
    temperature: float = 0.0
    seed: int = 0
    stop: int | None = None
    tokens: list[int] = field(default_factory=list)
    cached: int = 0
    row: int | None = None

    def __post_init__(self) -> None:
        self.tokens = list(self.prompt)

    @property
    def output(self) -> bytes:
        return bytes(self.tokens[len(self.prompt) :])

    @property
    def remaining(self) -> int:
        """How many tokens it may still generate."""
        made = len(self.tokens) - len(self.prompt)
        stopped = made > 0 and self.tokens[-1] == self.stop
        return 0 if stopped else self.max_new_tokens - made

    @property
    def most_cached(self) -> int:
        """The most tokens it can ever have in the pool: all but the last one generated."""
        return len(self.prompt) + self.max_new_tokens - 1

    def accept(self, tokens: list[int]) -> int:
        """Append tokens up to the request's end; how many were taken."""
        for taken, token in enumerate(tokens):
            if self.remaining == 0:
                return taken
            self.tokens.append(token)
        return len(tokens)


class Scheduler:
    """Requests wait in order; a running one can always finish, since its pages are promised when it is admitted."""

    def __init__(self, pool: KvPool, *, max_batch: int, max_context: int) -> None:
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self._pool = pool
        self._max_batch = max_batch
        self._max_context = max_context

    def submit(self, request: Request) -> None:
        if not request.prompt:
            raise RequestError(f"request {request.number}: the prompt is empty; give at least one byte")
        if request.max_new_tokens < 1:
            raise RequestError(
                f"request {request.number}: max_new_tokens is {request.max_new_tokens}; write at least 1"
            )
        if request.most_cached > self._max_context:
            raise RequestError(
                f"request {request.number}: {len(request.prompt)} prompt bytes and {request.max_new_tokens} new tokens "
                f"do not fit a context of {self._max_context}; shorten either, or raise serve.context"
            )
        if (needed := self._pool.pages_for(request.most_cached)) > self._pool.pages:
            raise RequestError(
                f"request {request.number}: it may need {needed} pages of {self._pool.page_size} tokens and the pool "
                f"has {self._pool.pages}; shorten it or raise serve.pages"
            )
        self.waiting.append(request)

    def admit(self) -> list[Request]:
        """Start the requests that are next in line, while there is room; those started now."""
        admitted = []
        promised = sum(self._promised(request) for request in self.running)
        while self.waiting and len(self.running) < self._max_batch:
            promised += self._promised(self.waiting[0])
            if promised > self._pool.pages:
                break
            request = self.waiting.popleft()
            request.row = self._pool.take_row()
            self.running.append(request)
            admitted.append(request)
        return admitted

    def retire(self) -> list[Request]:
        """Take the finished requests out and give their pages back; those taken out."""
        finished = [request for request in self.running if request.remaining == 0]
        for request in finished:
            assert request.row is not None
            self._pool.release(request.row)
            request.row = None
            request.cached = 0
        self.running = [request for request in self.running if request.remaining > 0]
        return finished

    def _promised(self, request: Request) -> int:
        return self._pool.pages_for(request.most_cached)
