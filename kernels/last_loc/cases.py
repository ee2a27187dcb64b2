"""Inputs on which every last_loc must equal the reference: the boundaries, then random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confbag.kernels.checks.agreement import Case, guarded


@dataclass(frozen=True)
class Shape:
    """What decides one input. extra_columns: how much wider than max_context the rows behind the table are."""

    count: int
    requests: int = 7
    max_context: int = 33
    extra_columns: int = 0
    request_dtype: torch.dtype = torch.int64
    prefix_dtype: torch.dtype = torch.int64
    prefixes: str = "any"
    shift: int = 0
    seed: int = 0

    def case(self, device: str) -> Case:
        """The case of this shape on a device."""
        return Case(str(self), lambda: self.arguments(device))

    def arguments(self, device: str) -> tuple[Tensor, Tensor, Tensor]:
        """req_to_token, req_pool_indices and prefix_lens, the same at each call."""
        random = torch.Generator().manual_seed(self.seed)
        columns = self.max_context + self.extra_columns
        table = torch.randint(-(2**31), 2**31, (self.requests, columns), generator=random).to(torch.int32)
        requests = torch.randint(0, max(self.requests, 1), (self.count,), generator=random)
        lowest, highest = {
            "any": (-2, self.max_context),
            "empty": (0, 0),
            "negative": (-(2**31), -1),
            "one": (1, 1),
            "full": (self.max_context, self.max_context),
        }[self.prefixes]
        prefixes = torch.randint(lowest, highest + 1, (self.count,), generator=random)
        return (
            guarded(table.to(device), -7, self.shift)[:, : self.max_context],
            guarded(requests.to(device, self.request_dtype), 2**30, self.shift),
            guarded(prefixes.to(device, self.prefix_dtype), 2**30, self.shift),
        )


BOUNDARIES = (
    Shape(0),
    Shape(1),
    Shape(255),
    Shape(256),
    Shape(257),
    Shape(1000, requests=1, max_context=1),
    Shape(300, max_context=1, extra_columns=40),
    Shape(300, prefixes="empty"),
    Shape(300, prefixes="negative"),
    Shape(300, prefixes="one"),
    Shape(300, prefixes="full"),
    Shape(300, prefixes="full", extra_columns=3),
    Shape(300, shift=1),
    Shape(0, requests=0),
    Shape(9, max_context=0, prefixes="empty", extra_columns=5),
)


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary in each pair of index dtypes, then `count` random inputs."""
    widths = (torch.int32, torch.int64)
    for shape in BOUNDARIES:
        for request_dtype in widths:
            for prefix_dtype in widths:
                yield replace(shape, request_dtype=request_dtype, prefix_dtype=prefix_dtype).case(device)
    random = torch.Generator().manual_seed(seed)

    def pick(lowest: int, highest: int) -> int:
        return int(torch.randint(lowest, highest + 1, (), generator=random))

    for number in range(count):
        yield Shape(
            count=pick(1, 700),
            requests=pick(1, 60),
            max_context=pick(1, 300),
            extra_columns=pick(0, 9),
            request_dtype=widths[pick(0, 1)],
            prefix_dtype=widths[pick(0, 1)],
            shift=pick(0, 3),
            seed=seed + number,
        ).case(device)
