"""torch.compile over a read of the bag and a call of a bound op."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from confbag import get_exec, load, override, publish
from confbag.backends import Op, Platform, Registry, make_plan
from confbag.process.context import unpublish


def step(x: Any) -> Any:
    """A contract."""


def doubled(x: Any) -> Any:
    return x * 2


@pytest.fixture
def published() -> Iterator[Any]:
    """The ops of a plan whose bag this process reads, until the test ends."""
    registry = Registry()
    op = Op("a.step", step)
    op.implement("acme", doubled, priority=1)
    registry.add(op)
    plan = make_plan(load(env={}, overrides={"exec.graph": False}), Platform("cpu"), registry=registry)
    unpublish()
    publish(plan.bag, role="test", allow_auto=True)
    yield plan.bind()
    unpublish()


def test_it_compiles_once_and_once_more_after_the_value_changes(published: Any) -> None:
    torch = pytest.importorskip("torch")
    ops = published
    compiles = 0

    def backend(graph: Any, example: Any) -> Any:
        nonlocal compiles
        compiles += 1
        return graph.forward

    torch._dynamo.reset()

    @torch.compile(fullgraph=True, backend=backend)
    def run(x: Any) -> Any:
        y = ops.step(x)
        return y + 1 if get_exec().deterministic else y

    x = torch.ones(2)
    for _ in range(3):
        assert run(x).tolist() == [2, 2]
    assert compiles == 1
    with override("test", {"exec.deterministic": True}):
        for _ in range(3):
            assert run(x).tolist() == [3, 3]
        assert compiles == 2
    for _ in range(3):
        assert run(x).tolist() == [2, 2]
    assert compiles == 2
