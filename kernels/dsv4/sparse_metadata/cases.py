"""Inputs on which every sparse_metadata must equal the reference: the boundaries, then random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from confbag.kernels.checks.agreement import Arguments, Case


@dataclass(frozen=True)
class Shape:
    """What decides one input. queries, lengths: query and KV tokens of each request; None leaves the tensor out."""

    queries: tuple[int, ...] | None = (1, 1, 1)
    lengths: tuple[int, ...] | None = (128, 256, 1000)
    num_heads_q: int = 64
    layout_q: str = "TND"
    cmp_ratio: int | None = None
    cmp_topk: int = 0
    ori_mask_mode: int = 4
    ori_win_left: int = 127
    ori_win_right: int = 0
    aic_cores: int = 24
    soc: str = "ascend910_93"

    def case(self, device: str) -> Case:
        """The case of this shape, its operands on a device: `cpu` for a host op."""
        return Case(str(self), lambda: self.arguments(device))

    def arguments(self, device: str) -> Arguments:
        """The 19 arguments, in the contract's order."""
        starts = None
        if self.queries is not None:
            starts = torch.tensor((0, *self.queries), dtype=torch.int64).cumsum(0)
        lengths = None if self.lengths is None else torch.tensor(self.lengths, dtype=torch.int64)

        def int32(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.to(device, torch.int32)

        return (
            *(self.num_heads_q, 1, 512, self.layout_q, "PA_ND"),
            int32(starts),
            int32(lengths),
            len(self.lengths or self.queries or ()),
            self.cmp_topk,
            -1 if self.cmp_ratio is None else self.cmp_ratio,
            *(self.ori_mask_mode, 3, self.ori_win_left, self.ori_win_right, True, self.cmp_ratio is not None),
            *(self.aic_cores, 2 * self.aic_cores, self.soc),
        )


BOUNDARIES = {
    "decode": Shape(),
    "more requests than cores": Shape((1,) * 5, (128,) * 5, aic_cores=2),
    "one prefill": Shape((3,), (3,)),
    "a prefill over two cores": Shape((5,), (5,), aic_cores=2),
    "no KV": Shape((1, 1), (0, 0)),
    "no queries": Shape((0, 0), (5, 6)),
    "a request without queries": Shape((1, 0, 1), (10, 0, 20), aic_cores=4),
    "a request without KV": Shape((1, 1, 1), (10, 0, 20), aic_cores=4),
    "no requests": Shape((), ()),
    "ratio 4": Shape((1,), (4096,), cmp_ratio=4, cmp_topk=512),
    "ratio 128": Shape((1, 1), (4096, 131072), cmp_ratio=128, aic_cores=2),
    "draft blocks": Shape((5, 5), (205, 305), ori_win_left=132),
    "more queries than KV": Shape((7, 3), (2, 9), aic_cores=3),
    "BSND": Shape(layout_q="BSND"),
    "no query starts": Shape(queries=None),
    "no KV lengths": Shape(lengths=None),
    "causal": Shape((4, 9), (700, 9), ori_mask_mode=3),
    "everything": Shape((4, 9), (700, 9), ori_mask_mode=0),
    "an unlimited window": Shape((4, 9), (700, 9), ori_win_left=-1, ori_win_right=-1),
    "one head": Shape((40,), (900,), num_heads_q=1),
    "one core": Shape((4, 9), (700, 9), aic_cores=1),
    "every core": Shape((80,), (900,), aic_cores=36),
    "A5": Shape((9, 4), (700, 300), num_heads_q=16, soc="Ascend950PR", aic_cores=4),
    "A5, more heads than a block": Shape((3, 2), (700, 300), num_heads_q=128, soc="ASCEND950", aic_cores=8),
    "A5, a last block that is not full": Shape((7,), (130,), num_heads_q=10, soc="ascend950", aic_cores=2),
}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary, then `count` random inputs."""
    for name, shape in BOUNDARIES.items():
        yield replace(shape.case(device), name=name)
    for number in range(count):
        yield random_shape(seed + number).case(device)


def host_cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """For a host op: operands on the CPU, a table on the device, which takes the cores and the SoC from its driver."""
    for name, shape in _named(count, seed):
        case = replace(shape, **_driver(device)).case("cpu")
        yield replace(case, name=name, specified=Tensor.cpu)


def device_cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """For a device op, which takes no KV length of 0: operands and table on the device, cores and SoC its driver's."""
    for name, shape in _named(count, seed):
        lengths = None if shape.lengths is None else tuple(max(length, 1) for length in shape.lengths)
        yield replace(replace(shape, lengths=lengths, **_driver(device)).case(device), name=name)


def _named(count: int, seed: int) -> Iterator[tuple[str, Shape]]:
    yield from BOUNDARIES.items()
    for number in range(count):
        shape = random_shape(seed + number)
        yield str(shape), shape


def _driver(device: str) -> dict[str, Any]:
    """The cores and the SoC of the device, as far as this torch_npu tells; else those that a shape has by default."""
    module = getattr(torch, device, None)
    properties = getattr(module, "get_device_properties", None)
    if properties is None:
        return {"aic_cores": 24, "soc": "ascend910_93"}
    found = properties(0)
    return {"aic_cores": getattr(found, "cube_core_num", 24), "soc": getattr(found, "name", "ascend910_93")}


def random_shape(seed: int) -> Shape:
    """A shape that the contract allows, decided by the seed."""
    random = torch.Generator().manual_seed(seed)

    def pick(lowest: int, highest: int) -> int:
        return int(torch.randint(lowest, highest + 1, (), generator=random))

    requests = pick(0, 7)
    most = (1, 3, 9)[pick(0, 2)]
    longest = (4, 140, 900)[pick(0, 2)]
    ratio = (None, 4, 128)[pick(0, 2)]
    return Shape(
        queries=tuple(pick(0, most) for _ in range(requests)),
        lengths=tuple(pick(0, longest) for _ in range(requests)),
        num_heads_q=(1, 8, 16, 40, 64, 128)[pick(0, 5)],
        cmp_ratio=ratio,
        cmp_topk=(0, 512, 1024)[pick(0, 2)],
        ori_mask_mode=(0, 3, 4, 4, 4)[pick(0, 4)],
        ori_win_left=(-1, 0, 5, 127, 132)[pick(0, 4)],
        ori_win_right=(-1, 0, 0, 3)[pick(0, 3)],
        aic_cores=(1, 2, 3, 5, 24, 36)[pick(0, 5)],
        soc=("ascend910b", "ascend910_93", "Ascend950PR")[pick(0, 2)],
    )
