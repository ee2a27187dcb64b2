"""The engine end to end: one text for a prompt, whatever the batch, the pages, the speculation and the steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

NO_SPECULATION = {"spec.algorithm": "none", "spec.topk": None, "spec.num_draft_tokens": None}
Serve = Callable[..., tuple[list[bytes], Any]]


def _width(tokens: int) -> dict[str, Any]:
    return {"spec.num_draft_tokens": tokens}


@pytest.mark.parametrize("temperature", [0.0, 0.8], ids=["greedy", "sampled"])
@pytest.mark.parametrize("seed", [0, 1])
def test_speculation_changes_the_steps_and_nothing_else(
    serve: Serve, prompts: list[bytes], seed: int, temperature: float
) -> None:
    plain, without = serve(prompts, NO_SPECULATION, new=40, seed=seed, temperature=temperature)
    assert without.steps["verify"] == 0
    assert [len(output) for output in plain] == [40] * len(prompts)
    for tokens in (2, 4, 7):
        guessed, report = serve(prompts, _width(tokens), new=40, seed=seed, temperature=temperature)
        assert guessed == plain
        assert report.guessed_right > 0
        assert report.steps.total() < without.steps.total()


def test_a_looping_text_takes_a_fraction_of_the_steps(serve: Serve) -> None:
    """Without attention the next byte is a function of the last one, so the text runs into a loop and stays there."""

    def nothing_seen(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *rest: Any) -> torch.Tensor:
        return query.new_zeros(query.shape[0], query.shape[1], values.shape[2])

    replaced = {f"attention_{phase}": nothing_seen for phase in ("prefill", "decode", "draft")}
    plain, without = serve([b"ab" * 8], NO_SPECULATION, new=120, replaced=replaced)
    guessed, report = serve([b"ab" * 8], _width(6), new=120, replaced=replaced)
    assert guessed == plain
    assert without.steps.total() == 120
    assert report.steps.total() < 60


@pytest.mark.parametrize("settings", [NO_SPECULATION, {}], ids=["plain", "speculation"])
def test_neither_the_batch_nor_the_page_changes_a_text(
    serve: Serve, prompts: list[bytes], settings: dict[str, Any]
) -> None:
    alone = [serve([prompt], settings)[0][0] for prompt in prompts]
    for page_size, max_batch in ((1, 3), (2, 9), (16, 4)):
        paged = {**settings, "memory.page_size": page_size}
        limits = {"max_batch": max_batch, "pages": 1000 // page_size}
        together, _ = serve(prompts, paged, **limits)
        assert together == alone
        backwards, _ = serve(prompts[::-1], paged, **limits)
        assert backwards[::-1] == alone


def test_a_request_that_joins_late_says_the_same(start: Callable[..., Any], prompts: list[bytes]) -> None:
    together = start()
    expected = [together.submit(prompt, 24) for prompt in prompts]
    together.run()
    engine = start()
    requests = []
    for prompt in prompts:
        requests.append(engine.submit(prompt, 24))
        for _ in range(5):
            engine.step()
    engine.run()
    assert [request.output for request in requests] == [request.output for request in expected]
    assert engine.report.steps["prefill"] > together.report.steps["prefill"]


def test_a_cached_token_is_what_prefilling_it_again_gives(start: Callable[..., Any]) -> None:
    """The text after a prompt is the text after the prompt and its own first bytes: no state hides between steps."""
    whole = start().submit
    request = whole(b"hello hello hel", 30)
    whole.__self__.run()
    engine = start()
    rest = engine.submit(request.prompt + request.output[:11], 19)
    engine.run()
    assert request.output[11:] == rest.output


@pytest.mark.parametrize("settings", [NO_SPECULATION, {}], ids=["plain", "speculation"])
def test_a_stop_byte_ends_a_text_in_the_middle_of_a_step(start: Callable[..., Any], settings: dict[str, Any]) -> None:
    engine = start(settings)
    whole = engine.submit(b"ab" * 10, 40)
    engine.run()
    stop = whole.output[17]
    stopped = engine.submit(b"ab" * 10, 40, stop=stop)
    engine.run()
    assert stopped.output == whole.output[: whole.output.index(stop) + 1]
    assert engine.pool.free_pages == engine.pool.pages


def test_what_rejected_guesses_held_goes_back(start: Callable[..., Any], prompts: list[bytes]) -> None:
    engine = start({"memory.page_size": 1, "spec.num_draft_tokens": 7}, pages=300)
    for prompt in prompts:
        engine.submit(prompt, 24)
    rejected = 0
    while engine.step() is not None:
        held = sum(request.cached for request in engine.scheduler.running)
        assert engine.pool.pages - engine.pool.free_pages == held
        rejected = engine.report.guessed - engine.report.guessed_right
    assert rejected > 0


def test_the_seed_makes_the_weights(serve: Serve, prompts: list[bytes]) -> None:
    first, _ = serve(prompts, seed=5)
    again, _ = serve(prompts, seed=5)
    other, _ = serve(prompts, seed=6)
    assert first == again
    assert first != other


def test_sampling_belongs_to_the_request(serve: Serve) -> None:
    outputs, _ = serve([b"same", b"same", b"same"], temperature=1.0)
    again, _ = serve([b"same", b"same"], temperature=1.0)
    assert len(set(outputs)) == 3
    assert outputs[:2] == again


def test_other_shapes_are_served(serve: Serve, prompts: list[bytes]) -> None:
    shape = {"model.num_heads": 6, "model.num_kv_heads": 3, "model.head_dim": 10, "model.v_head_dim": 7}
    for dtype in ("float32", "float64"):
        settings = {**shape, "model.dtype": dtype}
        plain, _ = serve(prompts[:4], {**settings, **NO_SPECULATION})
        guessed, _ = serve(prompts[:4], settings)
        assert guessed == plain


def test_attention_reads_what_the_phase_is_named_for(start: Callable[..., Any], walk: Callable[..., Any]) -> None:
    """Prompts run through the prefill op, single tokens through the decode op, guesses through the draft op."""
    _, ops = walk()
    calls: list[tuple[str, int]] = []

    def counted(phase: str) -> Callable[..., torch.Tensor]:
        def attention(*operands: Any) -> torch.Tensor:
            calls.append((phase, int(operands[6].max())))
            return getattr(ops, f"attention_{phase}")(*operands)

        return attention

    engine = start(replaced={f"attention_{phase}": counted(phase) for phase in ("prefill", "decode", "draft")})
    engine.submit(b"abcabcab", 20)
    engine.run()
    layers = engine.model.shape.layers
    for phase, kind, tokens in (("prefill", "prefill", 8), ("decode", "decode", 1), ("draft", "verify", 4)):
        of_phase = [length for named, length in calls if named == phase]
        assert len(of_phase) == layers * engine.report.steps[kind] > 0
        assert set(of_phase) == {tokens}


def test_the_last_slot_comes_from_the_bound_op(start: Callable[..., Any], walk: Callable[..., Any]) -> None:
    _, ops = walk()
    asked: list[list[int]] = []

    def last_loc(table: torch.Tensor, rows: torch.Tensor, prefixes: torch.Tensor) -> torch.Tensor:
        asked.append(prefixes.tolist())
        return ops.last_loc(table, rows, prefixes)

    engine = start(NO_SPECULATION, replaced={"last_loc": last_loc})
    engine.submit(b"abc", 4)
    engine.run()
    assert asked == [[0], [3], [4], [5]]
