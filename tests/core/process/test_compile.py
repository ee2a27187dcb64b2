"""torch.compile sees through a read: one compile, and one more when the value changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from confbag import Bag, get_exec, override, publish


def counting() -> tuple[Callable[..., Any], list[int]]:
    """A backend that runs the graph as it is, and what it counts its compiles in."""
    compiles: list[int] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        compiles.append(len(inputs))
        return graph.forward

    return backend, compiles


def test_a_read_compiles_once_and_once_more_after_a_change(planned: Bag) -> None:
    torch._dynamo.reset()
    backend, compiles = counting()

    @torch.compile(fullgraph=True, backend=backend)
    def step(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if get_exec().deterministic else x - 1

    x = torch.zeros(3)
    publish(planned)
    for _ in range(5):
        assert step(x).tolist() == [-1.0] * 3
    assert len(compiles) == 1
    with override("deterministic", {"exec.deterministic": True}):
        for _ in range(5):
            assert step(x).tolist() == [1.0] * 3
        assert len(compiles) == 2
    for _ in range(5):
        assert step(x).tolist() == [-1.0] * 3
    publish(planned.override("other", {"exec.compile": True, "memory.page_size": 1}), replace=True)
    assert step(x).tolist() == [-1.0] * 3
    assert len(compiles) == 2
