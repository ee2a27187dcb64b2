"""The paged KV pool: pages of slots on a free list, and the table that says which slot holds which token of a request.

Page 0 and row 0 of the table belong to nobody: slot 0 is where padded rows write and row 0 is what they read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mini_engine.model import Shape

LastLoc = Callable[[Tensor, Tensor, Tensor], Tensor]


class PoolExhausted(Exception):
    """More pages were asked for than are free. Nothing was taken."""


class KvPool:
    """`extend` gives a request slots for more tokens, `shrink` takes some back, `release` all of them and the row."""

    def __init__(
        self,
        shape: Shape,
        *,
        pages: int,
        page_size: int,
        rows: int,
        columns: int,
        device: torch.device,
        last_loc: LastLoc,
    ) -> None:
        slots = (pages + 1) * page_size

        def cache(size: int) -> Tensor:
            return torch.zeros(slots, shape.num_kv_heads, size, device=device, dtype=shape.dtype)

        self.page_size = page_size
        self.pages = pages
        self.cache = [(cache(shape.head_dim), cache(shape.v_head_dim)) for _ in range(shape.layers)]
        self.req_to_token = torch.zeros(rows + 1, columns, dtype=torch.int32, device=device)
        self._last_loc = last_loc
        self._free_pages = list(range(pages, 0, -1))
        self._free_rows = list(range(rows, 0, -1))
        self._held: dict[int, list[int]] = {}

    @property
    def free_pages(self) -> int:
        return len(self._free_pages)

    def pages_for(self, tokens: int) -> int:
        return -(-tokens // self.page_size)

    def slots_of(self, row: int, start: int, end: int) -> Tensor:
        return self.req_to_token[row, start:end]

    def take_row(self) -> int:
        """A row of the table for a new request."""
        if not self._free_rows:
            raise PoolExhausted(f"all {self.req_to_token.shape[0] - 1} rows of the request table are taken")
        row = self._free_rows.pop()
        self._held[row] = []
        return row

    def extend(self, growth: Sequence[tuple[int, int, int]]) -> None:
        """Slots for tokens [held, wanted) of each (row, held, wanted): the rest of its last page, then new pages."""
        needed = sum(self.pages_for(wanted) - len(self._held[row]) for row, _, wanted in growth)
        if needed > self.free_pages:
            raise PoolExhausted(f"{needed} pages are needed and {self.free_pages} of {self.pages} are free")
        device = self.req_to_token.device
        rows = torch.tensor([row for row, _, _ in growth], dtype=torch.int64, device=device)
        prefixes = torch.tensor([held for _, held, _ in growth], dtype=torch.int64, device=device)
        last_slots: list[int] = self._last_loc(self.req_to_token, rows, prefixes).tolist()
        for (row, held, wanted), last_slot in zip(growth, last_slots, strict=True):
            slots = self._continue(row, last_slot, held, wanted)
            self.req_to_token[row, held:wanted] = torch.tensor(slots, dtype=torch.int32, device=device)

    def shrink(self, row: int, length: int) -> None:
        """Keep the slots of the first `length` tokens; whole pages past them go back. Entries past them become 0."""
        keep = self.pages_for(length)
        held = self._held[row]
        self._free_pages.extend(reversed(held[keep:]))
        del held[keep:]
        self.req_to_token[row, length:] = 0

    def release(self, row: int) -> None:
        self.shrink(row, 0)
        del self._held[row]
        self._free_rows.append(row)

    def check(self) -> None:
        """Every page has one owner, a request or the free list, and the table names nobody else's pages."""
        owned = [page for held in self._held.values() for page in held] + self._free_pages
        if sorted(owned) != list(range(1, self.pages + 1)):
            raise RuntimeError(f"the pool's pages are not each owned once: {sorted(owned)}")
        for row in range(self.req_to_token.shape[0]):
            used = {slot // self.page_size for slot in self.req_to_token[row].tolist()}
            if strangers := used - {0, *self._held.get(row, ())}:
                raise RuntimeError(f"row {row} of the table names pages {sorted(strangers)}, which it does not hold")

    def _continue(self, row: int, last_slot: int, held: int, wanted: int) -> list[int]:
        slots = []
        for position in range(held, wanted):
            if position % self.page_size == 0:
                page = self._free_pages.pop()
                self._held[row].append(page)
                last_slot = page * self.page_size
            else:
                last_slot += 1
            slots.append(last_slot)
        return slots
