"""The engine: admits, prefills, decodes or verifies, one step at a time, through the ops that the plan bound."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from confbag import get_device, get_exec, get_memory, get_model, get_spec
from mini_engine import sampling
from mini_engine.kv_pool import KvPool
from mini_engine.model import Attention, Batch, Decoder, Shape
from mini_engine.scheduler import Request, Scheduler
from mini_engine.settings import Serve, get_serve
from mini_engine.speculation import confirmed
from mini_engine.verify_buffers import VerifyBuffers, Window


@dataclass
class Report:
    """What was served, in how many steps of each kind, and how the guesses fared."""

    requests: list[Request] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    guessed: int = 0
    guessed_right: int = 0

    @property
    def new_tokens(self) -> int:
        return sum(len(request.output) for request in self.requests)


class Engine:
    """Reads what this process published; `ops` is what `plan.bind` returned. `step` does what is due."""

    def __init__(self, ops: Any) -> None:
        serve = get_serve()
        device = _published_device()
        width = published_width()
        self.report = Report()
        self._ops = ops
        self._device = device
        self._mirrors = get_exec().debug.mirrors
        # What lies past the longest request names slot 0, but needs a column and a position.
        self.model, self.pool = self._build(serve, columns=serve.columns(width))
        self.scheduler = Scheduler(self.pool, max_batch=serve.max_batch, max_context=serve.context)
        self.buffers = (
            VerifyBuffers(ops.draft_extend_fill, max_bs=serve.max_batch, width=width, device=device) if width else None
        )
        self._submitted = 0

    def submit(
        self, prompt: bytes, max_new_tokens: int, *, temperature: float = 0.0, seed: int = 0, stop: int | None = None
    ) -> Request:
        """Put a request in line; RequestError when it could never be served."""
        request = Request(self._submitted, prompt, max_new_tokens, temperature, seed, stop)
        self.scheduler.submit(request)
        self._submitted += 1
        self.report.requests.append(request)
        return request

    def step(self) -> str | None:
        """One step: "prefill" of those just admitted, "verify" when there is a guess, else "decode"; None when idle."""
        started = time.perf_counter()
        kind = self._step()
        self.report.seconds += time.perf_counter() - started
        if kind is not None:
            self.report.steps[kind] += 1
        return kind

    def run(self) -> Report:
        """Steps until nobody runs or waits."""
        while self.step() is not None:
            pass
        return self.report

    def _build(self, serve: Serve, *, columns: int) -> tuple[Any, KvPool]:
        """The decoder, which has `logits`, and its memory."""
        shape = _published_shape()
        decoder = Decoder(shape, seed=serve.seed, device=self._device, max_positions=columns)
        pool = KvPool(
            shape,
            pages=serve.pages,
            page_size=published_page_size(),
            rows=serve.max_batch,
            columns=columns,
            device=self._device,
            last_loc=self._ops.last_loc,
        )
        return decoder, pool

    def _forward(self, phase: str, batch: Batch, growth: Sequence[tuple[int, int, int]]) -> Tensor:
        """The hidden state of every token. growth: (row, tokens before, tokens after) of each request that is live."""
        attention: Attention = getattr(self._ops, f"attention_{phase}")
        hidden: Tensor = self.model.forward(batch, self.pool.cache, self.pool.req_to_token, attention)
        return hidden

    def _step(self) -> str | None:
        kind: str | None = None
        if admitted := self.scheduler.admit():
            kind = "prefill"
            self._extend_by_one_pass(admitted, "prefill")
        elif running := self.scheduler.running:
            guesses = [self._guess(request) for request in running]
            if self.buffers is not None and any(guesses):
                kind = "verify"
                self._verify(self.buffers, running, guesses)
            else:
                kind = "decode"
                self._extend_by_one_pass(running, "decode")
        self.scheduler.retire()
        if self._mirrors:
            self.pool.check()
        return kind

    def _extend_by_one_pass(self, requests: Sequence[Request], phase: str) -> None:
        """Cache what is not cached yet, a whole prompt or the last token, and append the token that follows."""
        rows = [_row(request) for request in requests]
        growth = [(row, request.cached, len(request.tokens)) for row, request in zip(rows, requests, strict=True)]
        self.pool.extend(growth)
        counts = [len(request.tokens) - request.cached for request in requests]
        batch = Batch(
            input_ids=self._integers([token for request in requests for token in request.tokens[request.cached :]]),
            positions=self._integers(
                [position for request in requests for position in range(request.cached, len(request.tokens))]
            ),
            out_cache_loc=torch.cat(
                [
                    self.pool.slots_of(row, request.cached, len(request.tokens))
                    for row, request in zip(rows, requests, strict=True)
                ]
            ).to(torch.int64),
            req_pool_indices=self._integers(rows),
            seq_lens=self._integers([len(request.tokens) for request in requests], torch.int32),
            query_lens=self._integers(counts, torch.int32),
        )
        hidden = self._forward(phase, batch, growth)
        last = self._integers(counts).cumsum(0) - 1
        logits = self.model.logits(hidden[last])
        temperatures = torch.tensor([[request.temperature] for request in requests], device=self._device)
        drawn = sampling.noise(
            [(request.temperature, request.seed, len(request.tokens)) for request in requests], logits
        )
        for request, token in zip(requests, sampling.choose(logits, temperatures, drawn).tolist(), strict=True):
            request.cached = len(request.tokens)
            request.accept([token])

    def _guess(self, request: Request) -> list[int]:
        if self.buffers is None:
            return []
        # The last token it may generate is never fed back, so a guess there would prove nothing.
        guesses: list[int] = self._ops.look_up(request.tokens, min(self.buffers.width, request.remaining) - 1)
        return guesses

    def _verify(self, buffers: VerifyBuffers, requests: Sequence[Request], guesses: Sequence[list[int]]) -> None:
        """Run every request's committed token and guesses in one pass, and keep the guesses that the model confirms."""
        paired = list(zip(requests, guesses, strict=True))
        growth = [(_row(request), request.cached, len(request.tokens) + len(drafts)) for request, drafts in paired]
        self.pool.extend(growth)
        windows = [
            Window(
                row=_row(request),
                tokens=[request.tokens[-1], *drafts],
                cached=request.cached,
                slots=self.pool.slots_of(_row(request), request.cached, request.cached + buffers.width),
                temperature=request.temperature,
            )
            for request, drafts in paired
        ]
        step = buffers.fill(windows)
        if self._mirrors:
            buffers.check(windows, step)
        # The draft phase is what spec.attention_mode verifies with; refusals.py refuses a plan where it is not.
        hidden = self._forward("draft", step.batch, growth)
        logits = self.model.logits(hidden)
        drawn = sampling.noise(
            [
                (request.temperature, request.seed, len(request.tokens) + offset)
                for request, _ in paired
                for offset in range(buffers.width)
            ],
            logits,
        )
        chosen = sampling.choose(logits, step.temperatures.repeat_interleave(buffers.width, dim=0), drawn).tolist()
        first_rows = step.select_index[step.num_accept_tokens > 0].tolist()
        for (request, drafts), first in zip(paired, first_rows, strict=True):
            proved = confirmed(drafts, chosen[first : first + len(drafts) + 1])
            self.report.guessed += len(drafts)
            self.report.guessed_right += len(proved) - 1
            taken = request.accept(proved)
            request.cached += taken
            self.pool.shrink(_row(request), request.cached)

    def _integers(self, values: Sequence[int], dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=self._device)


def _row(request: Request) -> int:
    if request.row is None:
        raise RuntimeError(f"request {request.number} is not running")
    return request.row


def _published_shape() -> Shape:
    model = get_model()
    if model.num_heads is None or model.num_kv_heads is None or model.head_dim is None:
        raise ValueError("model.num_heads, num_kv_heads and head_dim must be known before the engine starts")
    return Shape(
        num_heads=model.num_heads,
        num_kv_heads=model.num_kv_heads,
        head_dim=model.head_dim,
        v_head_dim=model.v_head_dim or model.head_dim,
        dtype=getattr(torch, model.dtype or "float32"),
    )


def _published_device() -> torch.device:
    device = get_device()
    # PyTorch built for ROCm calls its devices cuda.
    kind = "cuda" if device.kind == "hip" else device.kind
    if kind == "cpu" or not isinstance(device.index, int):
        return torch.device(kind)
    return torch.device(kind, device.index)


def published_page_size() -> int:
    """Slots of a page."""
    page_size = get_memory().page_size
    if not isinstance(page_size, int):
        raise ValueError(f"memory.page_size is {page_size!r}: publish the plan's bag, in which it is a number")
    return page_size


def published_width() -> int | None:
    """The verify step's tokens a request; None without speculation."""
    spec = get_spec()
    return None if spec.algorithm == "none" else spec.num_draft_tokens
