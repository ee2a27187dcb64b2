"""The memory of kind dsv4: pages of a window that are given back when it has passed, compressed rows, and the state.

A token has a slot of the pool, as with every kind; it is a number, and what is kept under it differs. In the window's
pages lies its row while some query can still see it. A page of tokens has room for its groups of 4 beside it. Groups of
128 are few, so their rows belong to the request. The state of an unfinished group follows the window's pages (ratio 4)
or the request (ratio 128). Page 0, of each sort, and row 0 belong to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from confbag.kernels.dsv4.state_pool.geometry import compressed_page_size, ring_size
from confbag.kernels.dsv4.state_pool.pool import StatePool
from mini_engine.dsv4.shape import Dsv4Shape
from mini_engine.kv_pool import KvPool, LastLoc
from mini_engine.model import Shape

OVERLAPPING, REQUEST_SCOPED = 4, 128
REQUEST_PAGE = 16
"""Rows of a page of ratio 128: the least that the native attention takes."""
PASSED = -1
"""The window's page of tokens that no query sees any more."""


class Dsv4Pool(KvPool):
    """`extend`, `shrink` and `release` as in KvPool; the window's pages follow the tokens' pages."""

    def __init__(
        self,
        shape: Dsv4Shape,
        *,
        pages: int,
        page_size: int,
        rows: int,
        columns: int,
        device: torch.device,
        last_loc: LastLoc,
        speculative: bool,
    ) -> None:
        # No cache of keys and values: it is made here.
        none = Shape(shape.num_heads, 1, shape.head_dim, shape.head_dim, shape.dtype, layers=0)
        super().__init__(
            none, pages=pages, page_size=page_size, rows=rows, columns=columns, device=device, last_loc=last_loc
        )
        self.rings = {ratio: ring_size(ratio, speculative) for ratio in (OVERLAPPING, REQUEST_SCOPED)}
        self._window = shape.window
        self._request_pages = -(-columns // (REQUEST_SCOPED * REQUEST_PAGE))
        # A prompt is prefilled in one pass, whose first tokens still see its first page: a page for each page.
        self._free_windows = list(range(pages, 0, -1))
        self._windows: dict[int, list[int]] = {}
        self.window_table = torch.zeros(rows + 1, -(-columns // page_size), dtype=torch.int32, device=device)
        self.full_to_window = torch.full(((pages + 1) * page_size,), -1, dtype=torch.int32, device=device)
        self._in_page = torch.arange(page_size, dtype=torch.int32, device=device)

        def cache(page_count: int, rows_in_page: int) -> Tensor:
            return torch.zeros(page_count, rows_in_page, 1, shape.head_dim, device=device, dtype=shape.dtype)

        self.window_kv = [cache(pages + 1, page_size) for _ in shape.ratios]
        self.compressed_kv: dict[int, Tensor] = {}
        self.states: dict[int, StatePool] = {}
        for layer, ratio in enumerate(shape.ratios):
            if not ratio:
                continue
            if ratio == OVERLAPPING:
                holders, sizes = pages + 1, (pages + 1, compressed_page_size(page_size, ratio))
            else:
                holders, sizes = rows + 1, ((rows + 1) * self._request_pages, REQUEST_PAGE)
            self.compressed_kv[layer] = cache(*sizes)
            ring = self.rings[ratio]
            self.states[layer] = StatePool(holders * ring, ratio, shape.head_dim, ring, device=device)

    @property
    def free_window_pages(self) -> int:
        return len(self._free_windows)

    def take_row(self) -> int:
        row = super().take_row()
        self._windows[row] = []
        return row

    def extend(self, growth: Sequence[tuple[int, int, int]]) -> None:
        super().extend(growth)
        for row, held, _ in growth:
            # The next query is the token `held`; it sees as many before it as the window holds beside its own.
            for number in range(max(0, held - self._window + 1) // self.page_size):
                if self._windows[row][number] != PASSED:
                    self._leave(row, number, PASSED)
            for page in self._held[row][len(self._windows[row]) :]:
                window = self._free_windows.pop()
                self.window_table[row, len(self._windows[row])] = window
                self._windows[row].append(window)
                self._slots_of_page(page).copy_(self._in_page + window * self.page_size)

    def shrink(self, row: int, length: int) -> None:
        keep = self.pages_for(length)
        for number in range(keep, len(self._windows[row])):
            self._leave(row, number, 0)
        del self._windows[row][keep:]
        super().shrink(row, length)

    def release(self, row: int) -> None:
        super().release(row)
        self.window_table[row] = 0
        del self._windows[row]

    def check(self) -> None:
        """Every page of the window has one owner too."""
        super().check()
        used = [page for held in self._windows.values() for page in held if page != PASSED]
        if sorted(used + self._free_windows) != list(range(1, self.pages + 1)):
            raise RuntimeError(f"the window's pages are not each owned once: {sorted(used + self._free_windows)}")

    def window_slots(self, slots: Tensor) -> Tensor:
        """Where in the window's pages tokens go; those of nobody go where nobody reads."""
        return self.full_to_window[slots].clamp(min=0).long()

    def compressed_table(self, ratio: int, rows: Tensor) -> Tensor:
        """int32 [n, pages]: the pages of a ratio's compressed rows of each request."""
        if ratio == OVERLAPPING:
            return self.req_to_token[rows][:, :: self.page_size] // self.page_size
        numbers = torch.arange(self._request_pages, device=rows.device)
        return (rows[:, None] * self._request_pages + numbers).to(torch.int32)

    def compressed_slots(self, ratio: int, rows: Tensor, groups: Tensor) -> Tensor:
        """Where the compressed rows of some groups of some requests go."""
        if ratio == OVERLAPPING:
            return self.req_to_token[rows, groups * ratio].long() // ratio
        return rows * (self._request_pages * REQUEST_PAGE) + groups

    def _leave(self, row: int, number: int, instead: int) -> None:
        """Give back the window's page of a request's page, if it has one still."""
        window = self._windows[row][number]
        if window != PASSED:
            self._free_windows.append(window)
            self._slots_of_page(self._held[row][number]).fill_(-1)
        self._windows[row][number] = instead
        self.window_table[row, number] = instead

    def _slots_of_page(self, page: int) -> Tensor:
        return self.full_to_window[page * self.page_size : (page + 1) * self.page_size]
