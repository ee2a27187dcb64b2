"""The paged pool: pages have one owner, tokens continue in their last page, and exhaustion takes nothing."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mini_engine.kv_pool import KvPool, PoolExhausted
from mini_engine.model import Shape

from confbag.kernels.last_loc.reference import last_loc

SHAPE = Shape(num_heads=1, num_kv_heads=1, head_dim=2, v_head_dim=2, dtype=torch.float32, layers=1)


def _pool(pages: int, page_size: int, rows: int = 4, columns: int = 64) -> KvPool:
    device = torch.device("cpu")
    return KvPool(SHAPE, pages=pages, page_size=page_size, rows=rows, columns=columns, device=device, last_loc=last_loc)


@pytest.mark.parametrize("page_size", [1, 2, 16])
def test_tokens_continue_in_the_last_page(page_size: int) -> None:
    pool = _pool(pages=60, page_size=page_size)
    first, second = pool.take_row(), pool.take_row()
    for length in range(1, 30):
        pool.extend([(first, length - 1, length), (second, length - 1, length)])
        for row in (first, second):
            slots = pool.slots_of(row, 0, length).tolist()
            assert all(slot % page_size == position % page_size for position, slot in enumerate(slots))
            pages = [slot // page_size for slot in slots[::page_size]]
            assert len(set(pages)) == pool.pages_for(length)
        pool.check()


def test_nobody_is_given_the_dummy_slot_or_the_dummy_row() -> None:
    pool = _pool(pages=3, page_size=4)
    row = pool.take_row()
    pool.extend([(row, 0, 12)])
    assert row != 0
    assert sorted(pool.slots_of(row, 0, 12).tolist()) == list(range(4, 16))
    assert not pool.req_to_token[0].any()


def test_exhaustion_takes_nothing() -> None:
    pool = _pool(pages=3, page_size=4)
    first, second = pool.take_row(), pool.take_row()
    pool.extend([(first, 0, 5)])
    table = pool.req_to_token.clone()
    with pytest.raises(PoolExhausted, match="2 pages are needed and 1 of 3 are free"):
        pool.extend([(first, 5, 8), (second, 0, 8)])
    assert torch.equal(pool.req_to_token, table)
    pool.extend([(first, 5, 8), (second, 0, 4)])
    pool.check()


def test_released_pages_and_rows_are_used_again() -> None:
    pool = _pool(pages=2, page_size=2, rows=1)
    row = pool.take_row()
    pool.extend([(row, 0, 4)])
    used = set(pool.slots_of(row, 0, 4).tolist())
    with pytest.raises(PoolExhausted, match="1 rows"):
        pool.take_row()
    pool.release(row)
    assert pool.take_row() == row
    assert not pool.req_to_token.any()
    pool.extend([(row, 0, 4)])
    assert set(pool.slots_of(row, 0, 4).tolist()) == used


def test_check_sees_a_stolen_page() -> None:
    pool = _pool(pages=2, page_size=2)
    row, other = pool.take_row(), pool.take_row()
    pool.extend([(row, 0, 2), (other, 0, 2)])
    pool.req_to_token[row, 0] = pool.req_to_token[other, 0]
    with pytest.raises(RuntimeError, match=f"row {row} of the table names pages"):
        pool.check()


@settings(deadline=None)
@given(st.sampled_from([1, 2, 3, 16]), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=40))
def test_any_history_keeps_every_page_owned_once(page_size: int, history: list[tuple[int, int]]) -> None:
    pool = _pool(pages=12, page_size=page_size)
    lengths = {pool.take_row(): 0 for _ in range(4)}
    rows = list(lengths)
    kept: dict[int, list[int]] = {row: [] for row in rows}
    for which, wanted in history:
        row = rows[which]
        held = lengths[row]
        if wanted < held:
            pool.shrink(row, wanted)
        else:
            try:
                pool.extend([(row, held, wanted)])
            except PoolExhausted:
                wanted = held
        lengths[row] = wanted
        slots = pool.slots_of(row, 0, wanted).tolist()
        shared = min(held, wanted)
        assert slots[:shared] == kept[row][:shared], "a token moved"
        kept[row] = slots
        pool.check()
    taken = [slot for slots in kept.values() for slot in slots]
    assert len(taken) == len(set(taken))
    assert 0 not in taken
    assert pool.free_pages == 12 - sum(pool.pages_for(length) for length in lengths.values())
