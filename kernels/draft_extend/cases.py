"""Inputs on which every draft_extend_fill must equal the reference: the boundaries, then random ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confbag.kernels.checks.agreement import Arguments, Case, guarded

POISON = -77
INT64, INT32, INT16 = torch.int64, torch.int32, torch.int16


@dataclass(frozen=True)
class Shape:
    """What decides one input. gathered: sizes of the two gathered buffers. flat_temperatures: a source of [raw_bs]."""

    max_num_token: int = 24
    max_bs: int = 6
    raw_bs: int = 3
    bs: int = 4
    num_tokens: int = 9
    num_tokens_per_bs: int = 3
    num_front_tokens: int = 0
    seq_len_fill_value: int = 1
    temperatures: bool = True
    flat_temperatures: bool = False
    hidden: int | None = 16
    gathered: tuple[int | None, int | None] = (2, 2)
    source_dtype: torch.dtype = INT64
    hidden_dtype: torch.dtype = torch.bfloat16
    shift: int = 0
    seed: int = 0

    def case(self, device: str) -> Case:
        """The case of this shape on a device."""
        return Case(str(self), lambda: self.arguments(device))

    def arguments(self, device: str) -> Arguments:
        """The 26 arguments, in the contract's order; the same at each call, with poisoned buffers."""
        random = torch.Generator().manual_seed(self.seed)

        def buffer(dtype: torch.dtype, *size: int) -> Tensor:
            poison = math.nan if dtype.is_floating_point else POISON
            return guarded(torch.full(size, poison, dtype=dtype, device=device), poison)

        def source(highest: int, *size: int) -> Tensor:
            values = torch.randint(-1, highest, size, generator=random).to(device, self.source_dtype)
            return guarded(values, 99, self.shift)

        def fractions(dtype: torch.dtype, *size: int) -> Tensor:
            return guarded(torch.randn(size, generator=random).to(device, dtype), math.nan, self.shift)

        def gathered(size: int | None) -> Tensor | None:
            return None if size is None else buffer(INT32, size)

        highest = 30_000 if self.source_dtype is INT16 else 2**31 - 1
        temperature_size = (self.raw_bs,) if self.flat_temperatures else (self.raw_bs, 1)
        return (
            *(buffer(INT64, self.max_num_token) for _ in range(3)),
            *(source(highest, self.num_tokens) for _ in range(3)),
            buffer(INT32, self.max_bs),
            buffer(INT64, self.max_bs),
            guarded(torch.arange(self.max_bs, dtype=INT32, device=device), POISON),
            buffer(INT32, self.max_bs),
            buffer(INT64, self.max_bs),
            buffer(torch.float32, self.max_bs, 1) if self.temperatures else None,
            *(source(highest, self.raw_bs) for _ in range(4)),
            fractions(torch.float32, *temperature_size) if self.temperatures else None,
            None if self.hidden is None else buffer(self.hidden_dtype, self.max_num_token, self.hidden),
            None if self.hidden is None else fractions(self.hidden_dtype, self.num_tokens, self.hidden),
            gathered(self.gathered[0]),
            gathered(self.gathered[1]),
            self.raw_bs,
            self.bs,
            self.num_tokens_per_bs,
            self.num_front_tokens,
            self.seq_len_fill_value,
        )


BOUNDARIES = {
    "plain": Shape(),
    "an empty batch": Shape(raw_bs=0, bs=0, num_tokens=0),
    "padding only": Shape(raw_bs=0, bs=4, num_tokens=0),
    "no padding": Shape(raw_bs=6, bs=6, num_tokens=18),
    "every token": Shape(raw_bs=6, bs=6, num_tokens=24, num_tokens_per_bs=4),
    "requests without tokens": Shape(num_tokens=0),
    "no temperatures": Shape(temperatures=False),
    "flat temperatures": Shape(flat_temperatures=True),
    "no hidden states": Shape(hidden=None),
    "hidden states of no width": Shape(hidden=0),
    "no gathered buffers": Shape(gathered=(None, None)),
    "one gathered buffer": Shape(gathered=(None, 5)),
    "the other gathered buffer": Shape(gathered=(5, None)),
    "gathered buffers of no size": Shape(gathered=(0, 0)),
    "gathered buffers longer than a block of rows": Shape(gathered=(300, 1)),
    "nothing optional": Shape(temperatures=False, hidden=None, gathered=(None, None)),
    "front tokens": Shape(num_front_tokens=5),
    "one token for each request": Shape(num_tokens=3, num_tokens_per_bs=1),
    "no token for each request": Shape(num_tokens_per_bs=0),
    "fill 0": Shape(seq_len_fill_value=0),
    "fill below 0": Shape(seq_len_fill_value=-(2**31)),
    "fill of 2**31 - 1": Shape(seq_len_fill_value=2**31 - 1),
    "one request of one": Shape(max_num_token=1, max_bs=1, raw_bs=1, bs=1, num_tokens=1, num_tokens_per_bs=1),
    "buffers of no size": Shape(max_num_token=0, max_bs=0, raw_bs=0, bs=0, num_tokens=0),
    "no rows": Shape(max_bs=0, raw_bs=0, bs=0, num_tokens=5),
    "a block of tokens": Shape(max_num_token=512, num_tokens=512),
    "a token more than a block": Shape(max_num_token=513, num_tokens=513),
    "a token less than a block": Shape(max_num_token=1024, num_tokens=511),
    "a block of rows": Shape(max_bs=128, raw_bs=128, bs=128, num_tokens=24),
    "a row more than a block": Shape(max_bs=130, raw_bs=127, bs=129),
    "a block of hidden states": Shape(num_tokens=16, hidden=256),
    "a hidden state more than a block": Shape(num_tokens=17, hidden=241),
    "an odd width": Shape(hidden=7),
    "float32 hidden states": Shape(hidden_dtype=torch.float32),
    "float16 hidden states": Shape(hidden_dtype=torch.float16),
    "sources off their alignment": Shape(shift=1),
    "int32 sources": Shape(source_dtype=INT32),
    "int16 sources": Shape(source_dtype=INT16),
}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary from int64 and from int32 sources, then `count` random inputs."""
    for name, shape in BOUNDARIES.items():
        yield replace(shape.case(device), name=name)
        if shape.source_dtype is INT64:
            yield replace(replace(shape, source_dtype=INT32).case(device), name=f"{name}, int32 sources")
    for number in range(count):
        yield random_shape(seed + number).case(device)


def random_shape(seed: int) -> Shape:
    """A shape that the contract allows, decided by the seed."""
    random = torch.Generator().manual_seed(seed)

    def pick(lowest: int, highest: int) -> int:
        return int(torch.randint(lowest, highest + 1, (), generator=random))

    max_bs = pick(1, 200)
    bs = pick(0, max_bs)
    raw_bs = pick(0, bs)
    per_request = pick(1, 6)
    num_tokens = raw_bs * per_request
    return Shape(
        max_num_token=num_tokens + pick(0, 600),
        max_bs=max_bs,
        raw_bs=raw_bs,
        bs=bs,
        num_tokens=num_tokens,
        num_tokens_per_bs=per_request,
        num_front_tokens=pick(0, 3),
        seq_len_fill_value=pick(0, 5),
        temperatures=pick(0, 3) > 0,
        flat_temperatures=pick(0, 1) > 0,
        hidden=(None, 1, 16, 33, 128)[pick(0, 4)],
        gathered=((None, 0, 1, 8)[pick(0, 3)], (None, 0, 1, 8)[pick(0, 3)]),
        source_dtype=(INT64, INT32)[pick(0, 1)],
        hidden_dtype=(torch.bfloat16, torch.float16, torch.float32)[pick(0, 2)],
        shift=pick(0, 3),
        seed=seed,
    )
