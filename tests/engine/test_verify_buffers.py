"""The verify step's buffers: fixed addresses, and padded rows that touch nothing that is alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from mini_engine.verify_buffers import VerifyBuffers, Window

from confbag.kernels.draft_extend.reference import draft_extend_fill

TENSORS = (
    "input_ids",
    "positions",
    "out_cache_loc",
    "seq_lens",
    "req_pool_indices",
    "num_correct_drafts",
    "num_accept_tokens",
    "select_index",
    "temperatures",
    "global_num_tokens",
    "query_lens",
)


def _buffers(max_bs: int = 4, width: int = 3) -> VerifyBuffers:
    return VerifyBuffers(draft_extend_fill, max_bs=max_bs, width=width, device=torch.device("cpu"))


def _window(row: int, tokens: list[int], cached: int, slots: list[int], temperature: float = 0.0) -> Window:
    return Window(row, tokens, cached, torch.tensor(slots, dtype=torch.int32), temperature)


def test_a_padded_step() -> None:
    buffers = _buffers(max_bs=8)
    windows = [
        _window(3, [11, 12, 13], 4, [104, 105, 106], 0.75),
        _window(6, [21], 8, [208, 0, 0]),
        _window(1, [31, 32], 2, [42, 43, 0]),
    ]
    step = buffers.fill(windows)
    assert step.batch.input_ids.tolist() == [11, 12, 13, 21, 0, 0, 31, 32, 0, 0, 0, 0]
    assert step.batch.positions.tolist() == [4, 5, 6, 8, 9, 10, 2, 3, 4, 0, 0, 0]
    assert step.batch.out_cache_loc.tolist() == [104, 105, 106, 208, 0, 0, 42, 43, 0, 0, 0, 0]
    assert step.batch.seq_lens.tolist() == [7, 11, 5, 3]
    assert step.batch.query_lens.tolist() == [3, 3, 3, 3]
    assert step.batch.req_pool_indices.tolist() == [3, 6, 1, 0]
    assert step.num_accept_tokens.tolist() == [1, 1, 1, -1]
    assert step.select_index.tolist() == [0, 3, 6, 9]
    assert step.temperatures.tolist() == [[0.75], [0.0], [0.0], [1.0]]
    assert buffers.global_num_tokens.tolist() == [12]
    buffers.check(windows, step)


def test_a_smaller_step_leaves_nothing_of_a_larger_one() -> None:
    buffers = _buffers()
    full = [_window(row, [9, 9, 9], 20, [row * 8 + place for place in range(3)], 0.5) for row in range(1, 5)]
    buffers.fill(full)
    windows = full[:1] + full[2:4]
    step = buffers.fill(windows)
    assert len(step.select_index) == 4
    buffers.check(windows, step)
    assert not buffers.out_cache_loc[9:].any()
    assert not buffers.req_pool_indices[3:].any()
    assert buffers.seq_lens.tolist()[3:] == [3]


@pytest.mark.parametrize(("raw_bs", "bs"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 6), (6, 6)])
def test_the_smallest_captured_size_that_holds_the_step(raw_bs: int, bs: int) -> None:
    buffers = _buffers(max_bs=6)
    step = buffers.fill([_window(1, [1, 2, 3], 5, [7, 8, 9])] * raw_bs)
    assert buffers.sizes == [1, 2, 4, 6]
    assert len(step.select_index) == bs
    assert len(step.batch.input_ids) == bs * 3


def test_check_sees_a_live_slot_in_a_padded_row() -> None:
    buffers = _buffers()
    windows = [_window(1, [1, 2, 3], 5, [7, 8, 9])] * 3
    step = buffers.fill(windows)
    buffers.out_cache_loc[10] = 7
    with pytest.raises(RuntimeError, match="the verify buffers hold"):
        buffers.check(windows, step)


def test_an_engine_never_reallocates_them(start: Callable[..., Any], prompts: list[bytes]) -> None:
    engine = start(max_batch=8)
    addresses = {name: getattr(engine.buffers, name).data_ptr() for name in TENSORS}
    views: dict[int, dict[str, int]] = {}
    fill = engine.buffers.fill

    def watched(windows: list[Window]) -> Any:
        step = fill(windows)
        seen = {name: tensor.data_ptr() for name, tensor in vars(step.batch).items()}
        assert views.setdefault(len(step.select_index), seen) == seen
        assert all(seen[name] == addresses[name] for name in seen)
        return step

    engine.buffers.fill = watched
    for prompt in prompts:
        engine.submit(prompt, 24)
    report = engine.run()
    assert report.steps["verify"] > 5
    assert len(views) > 1, "only one captured size was replayed"
    assert {name: getattr(engine.buffers, name).data_ptr() for name in TENSORS} == addresses


def test_padded_rows_write_the_dummy_slot_alone(start: Callable[..., Any], prompts: list[bytes]) -> None:
    """Between two steps only the slots of a window's own tokens, and slot 0, may have changed."""
    engine = start(max_batch=8, pages=40)
    fill = engine.buffers.fill
    written: set[int] = set()
    padded = 0

    def watched(windows: list[Window]) -> Any:
        nonlocal padded
        step = fill(windows)
        written.clear()
        written.update(slot for window in windows for slot in window.slots[: len(window.tokens)].tolist())
        padded += len(step.select_index) - len(windows)
        return step

    engine.buffers.fill = watched
    for prompt in prompts:
        engine.submit(prompt, 24)
    while True:
        before = [(keys.clone(), values.clone()) for keys, values in engine.pool.cache]
        kind = engine.step()
        if kind is None:
            break
        if kind != "verify":
            continue
        for (old_keys, old_values), (keys, values) in zip(before, engine.pool.cache, strict=True):
            changed = (old_keys != keys).flatten(1).any(1) | (old_values != values).flatten(1).any(1)
            assert set(changed.nonzero().flatten().tolist()) <= written | {0}
    assert padded > 0, "no step was padded"
