"""Admission: in order, as room allows; what could never be served is refused at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mini_engine.scheduler import Request, RequestError

NO_SPECULATION = {"spec.algorithm": "none", "spec.topk": None, "spec.num_draft_tokens": None}


def test_new_requests_are_admitted_while_others_decode(start: Callable[..., Any]) -> None:
    engine = start(NO_SPECULATION)
    first = engine.submit(b"first", 20)
    assert [engine.step(), engine.step(), engine.step()] == ["prefill", "decode", "decode"]
    second = engine.submit(b"second", 20)
    assert [engine.step(), engine.step()] == ["prefill", "decode"]
    assert (len(first.output), len(second.output)) == (4, 2)
    assert engine.scheduler.running == [first, second]
    engine.run()
    assert (len(first.output), len(second.output)) == (20, 20)


@pytest.mark.parametrize("settings", [NO_SPECULATION, {}], ids=["plain", "speculation"])
@pytest.mark.parametrize("page_size", [1, 2, 16])
def test_requests_wait_for_pages(
    start: Callable[..., Any], prompts: list[bytes], page_size: int, settings: dict[str, Any]
) -> None:
    """A pool that holds the longest request and little more serves all of them in the end, with the same text."""
    roomy = start({**settings, "memory.page_size": page_size}, pages=1000 // page_size)
    for prompt in prompts:
        roomy.submit(prompt, 16)
    expected = [request.output for request in roomy.run().requests]

    pages = -(-(max(map(len, prompts)) + 15) // page_size)
    engine = start({**settings, "memory.page_size": page_size}, pages=pages)
    requests = [engine.submit(prompt, 16) for prompt in prompts]
    waited = 0
    while engine.step() is not None:
        waited += bool(engine.scheduler.waiting) and len(engine.scheduler.running) < 4
        served = [request for request in requests if request.remaining == 0]
        assert served == sorted(served, key=lambda request: request.number)
    assert waited > 0
    assert [request.output for request in requests] == expected
    assert engine.pool.free_pages == pages
    assert not engine.pool.req_to_token.any()


def test_a_request_that_fits_does_not_overtake(start: Callable[..., Any]) -> None:
    engine = start(NO_SPECULATION, pages=4)
    engine.submit(b"a" * 30, 10)
    long, short = engine.submit(b"b" * 30, 10), engine.submit(b"c", 1)
    engine.step()
    assert list(engine.scheduler.waiting) == [long, short]


@pytest.mark.parametrize(
    ("prompt", "new", "message"),
    [
        (b"", 4, "request 0: the prompt is empty; give at least one byte"),
        (b"x", 0, "request 0: max_new_tokens is 0; write at least 1"),
        (b"x" * 200, 58, "200 prompt bytes and 58 new tokens do not fit a context of 256"),
        (b"x" * 40, 10, "it may need 4 pages of 16 tokens and the pool has 3"),
    ],
)
def test_what_could_never_be_served_is_refused(
    start: Callable[..., Any], prompt: bytes, new: int, message: str
) -> None:
    engine = start(pages=3)
    with pytest.raises(RequestError, match=message):
        engine.submit(prompt, new)
    assert engine.step() is None
    assert engine.report.requests == []


def test_the_largest_request_of_a_pool_and_context_is_served(start: Callable[..., Any]) -> None:
    engine = start(pages=16, context=256)
    request = engine.submit(b"ab" * 100, 57)
    engine.run()
    assert len(request.output) == 57


def test_a_request_takes_no_token_past_its_end() -> None:
    request = Request(0, b"ab", max_new_tokens=3)
    assert request.accept([1, 2, 3, 4]) == 3
    assert (request.output, request.remaining) == (b"\x01\x02\x03", 0)
    stopping = Request(1, b"\x07", max_new_tokens=9, stop=7)
    assert stopping.remaining == 9, "the prompt's own last byte is no stop"
    assert stopping.accept([5, 7, 5]) == 2
    assert stopping.output == b"\x05\x07"
