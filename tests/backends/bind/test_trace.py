"""Recording eager calls through the bound ops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from confbag import load
from confbag.backends import Op, Platform, Registry, make_plan
from confbag.backends.bind.bound import Ops
from confbag.backends.bind.trace import NOT_OBSERVED, trace


def step(x: Any, n: int = 1) -> Any:
    """A contract."""


def plus(x: Any, n: int = 1) -> Any:
    if n < 0:
        raise IndexError("out of range")
    return x + n


def times(x: Any, n: int = 1) -> Any:
    return x * n


@pytest.fixture
def ops() -> Ops:
    registry = Registry()
    for name, phases, target in (("a.plus", (), plus), ("a.times", ("prefill", "decode"), times)):
        op = Op(name, step, phases=phases)
        op.implement("acme", target, priority=1)
        registry.add(op)
    return make_plan(load(env={}, overrides={"exec.graph": False}), Platform("cpu"), registry=registry).bind()


@pytest.fixture(autouse=True)
def restored(ops: Ops) -> Iterator[None]:
    """Every test here leaves the implementations themselves behind."""
    yield
    assert ops.plus is plus
    assert ops.times_prefill is ops.times_decode is times


def test_calls_are_recorded_in_order_with_provider_and_arguments(ops: Ops) -> None:
    with trace(ops) as seen:
        assert ops.plus(1, n=2) == 3
        assert ops.times_decode(2.5, 2) == 5.0
    ops.plus(1)
    assert [(call.slot, call.provider, call.arguments) for call in seen.calls] == [
        ("a.plus", "acme", ("1", "n=2")),
        ("a.times@decode", "acme", ("2.5", "2")),
    ]
    assert seen.not_observed == ("a.times@prefill",)
    assert str(seen).splitlines() == [
        "a.plus: acme: 1 call",
        f"a.times@prefill: acme: {NOT_OBSERVED}",
        "a.times@decode: acme: 1 call",
    ]


def test_it_is_bounded_and_says_what_it_dropped(ops: Ops) -> None:
    with trace(ops, limit=3) as seen:
        for _ in range(10):
            ops.plus(1)
    assert (len(seen.calls), seen.counts["a.plus"], seen.dropped) == (3, 10, 7)
    with pytest.raises(ValueError, match="limit -1"), trace(ops, limit=-1):
        raise AssertionError("not reached")


def test_exceptions_are_recorded_and_everything_is_restored(ops: Ops) -> None:
    with pytest.raises(IndexError, match="out of range"), trace(ops) as seen:
        ops.plus(1, -1)
    assert [call.raised for call in seen.calls] == ["IndexError"]


def test_traces_nest_and_end_in_any_order(ops: Ops) -> None:
    first, second = trace(ops), trace(ops)
    one = first.__enter__()
    ops.plus(1)
    two = second.__enter__()
    ops.plus(1)
    first.__exit__(None, None, None)
    ops.plus(1)
    second.__exit__(None, None, None)
    assert (one.counts["a.plus"], two.counts["a.plus"]) == (2, 2)


def test_calls_of_other_threads_are_counted_once_each(ops: Ops) -> None:
    def work() -> None:
        for _ in range(200):
            ops.plus(1)

    with trace(ops, limit=10) as seen:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen.counts["a.plus"] == 800


def test_tensors_are_described_and_not_held(ops: Ops) -> None:
    torch = pytest.importorskip("torch")
    with trace(ops) as seen:
        ops.plus(torch.ones(2, 3), 1)
        with pytest.raises(TypeError):
            ops.times_decode([], "text")
    assert [call.arguments for call in seen.calls] == [("float32[2, 3] cpu", "1"), ("list", "str")]


def test_inside_compiled_code_nothing_is_recorded_and_nothing_compiles_again(ops: Ops) -> None:
    torch = pytest.importorskip("torch")
    compiles = 0

    def backend(graph: Any, example: Any) -> Any:
        nonlocal compiles
        compiles += 1
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda x: ops.plus(x, 2), fullgraph=True, backend=backend)
    x = torch.ones(2)
    assert compiled(x).tolist() == [3, 3]
    assert compiles == 1
    with trace(ops) as seen:
        for _ in range(12):
            assert compiled(x).tolist() == [3, 3]
        inside = compiles
        ops.times_decode(x, 2)
    assert inside == 2
    for _ in range(3):
        compiled(x)
    assert compiles == 2
    assert seen.counts == {"a.plus": 0, "a.times@prefill": 0, "a.times@decode": 1}
    assert f"a.plus: acme: {NOT_OBSERVED}" in str(seen)
