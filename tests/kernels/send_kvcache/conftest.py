"""Two sides in one process: pools of random bytes, and what the receiver's must look like afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from confbag.kernels.send_kvcache.reference import InProcessEngine
from confbag.kernels.send_kvcache.sender import Sender

POISON = 0xEE


@dataclass
class Side:
    """One process's pools, an entry each, registered with its open engine."""

    pools: list[torch.Tensor]
    engine: InProcessEngine = field(default_factory=InProcessEngine)

    def __post_init__(self) -> None:
        for pool in self.pools:
            self.engine.register(pool)

    @property
    def ptrs(self) -> list[int]:
        return [pool.data_ptr() for pool in self.pools]

    @property
    def bytes(self) -> list[bytes]:
        return [bytes(pool.tolist()) for pool in self.pools]

    def sender(self, item_lens: Sequence[int], **settings: Any) -> Sender:
        engine = settings.pop("engine", self.engine)
        return Sender(engine, self.ptrs, [pool.numel() for pool in self.pools], item_lens, **settings)


@pytest.fixture
def side() -> Callable[..., Side]:
    """A side with an entry for each item length; seeded: random bytes, else poison."""

    def make(item_lens: Sequence[int], pages: int, seed: int | None = None, engine: Any = None) -> Side:
        source = random.Random(seed)
        pools = [
            torch.tensor(
                list(source.randbytes(item_len * pages)) if seed is not None else [POISON] * (item_len * pages),
                dtype=torch.uint8,
            )
            for item_len in item_lens
        ]
        return Side(pools) if engine is None else Side(pools, engine)

    return make


@pytest.fixture
def pages() -> Callable[..., torch.Tensor]:
    """Page numbers as they are passed."""
    return lambda *numbers: torch.tensor(numbers, dtype=torch.int32)
