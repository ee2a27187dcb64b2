"""Every op refuses what its contract does not name before it writes anything: every parameter, in every implementation.

The wrong arguments follow from the contract's annotations, and the operands from the op's own cases, so that a new op
or parameter is held to it without a line here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from confbag.backends.declare.registry import Registry
from confbag.kernels import register

OURS = "confbag.kernels."


class Numbered:
    """Not an integer, whatever it can be turned into."""

    def __index__(self) -> int:
        return 1


WRONG: dict[str, tuple[Any, ...]] = {
    "int": (1.0, True, None, np.int64(1), np.float32(1), torch.tensor(1), "1", Numbered()),
    "float": ("1", True, None, np.float32(1), np.int64(1), torch.tensor(1.0)),
    "bool": (1, 0, None, "yes", np.bool_(True), torch.tensor(True)),
    "str": (1, None, b"TND"),
}


NATIVE = "torch_npu"
DEVICE = "on another device"


class Implementation(NamedTuple):
    op: str
    provider: str
    contract: Callable[..., Any]
    call: Callable[..., Any]
    cases: Callable[..., Iterator[Any]]

    def __str__(self) -> str:
        return f"{self.op}-{self.provider}"


def _loaded(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


@cache
def implementations() -> list[Implementation]:
    """Ours that take tensors: each once, whatever devices it is declared for."""
    registry = Registry()
    register(registry)
    found: dict[str, Implementation] = {}
    for op in registry.ops.values():
        if op.cases is None:
            continue
        for row in registry.rows(op.name):
            target = row.target
            if isinstance(target, str) and target.startswith(OURS) and target not in found:
                cases = _loaded(row.cases or op.cases)
                found[target] = Implementation(op.name, row.provider, op.contract, _loaded(target), cases)
    return list(found.values())


@cache
def richest(implementation: Implementation) -> Callable[[], list[Any]]:
    """The case that leaves the fewest operands out, the largest of those, made anew at each call.

    A native op's binding refuses its device last of all, so it is not asked which case it takes; the others are.
    """

    def rank(case: Any) -> tuple[int, int]:
        arguments = case.arguments()
        left_out = sum(one is None for one in arguments)
        return left_out, -sum(one.numel() for one in arguments if isinstance(one, Tensor))

    for case in sorted(implementation.cases("cpu", 0), key=rank):
        if not implementation.provider.startswith(NATIVE):
            try:
                implementation.call(*case.arguments())
            except ValueError:
                continue
        return lambda: list(case.arguments())
    raise AssertionError(f"{implementation}: no case of its op is taken on the CPU")


def whole(tensor: Tensor) -> Tensor:
    """All the memory that a tensor is a view of, as bytes."""
    base = tensor if tensor._base is None else tensor._base
    return base.detach().clone().reshape(-1).contiguous().view(torch.uint8)


def values(tensor: Tensor) -> Tensor:
    """What a tensor holds, as bytes: poison that is no number equals itself."""
    return tensor.detach().contiguous().view(-1).view(torch.uint8)


def memory(arguments: list[Any]) -> list[Tensor]:
    return [whole(one) for one in arguments if isinstance(one, Tensor) and not one.is_meta and not one.is_sparse]


def unchanged(before: list[Tensor], after: list[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def wrong_tensors(operand: Tensor) -> Iterator[tuple[str, Any]]:
    yield "a list", operand.tolist()
    yield "numpy", operand.float().numpy()
    yield "a number", 1
    yield "complex", operand.to(torch.complex64)
    yield "bool", operand.to(torch.bool)
    yield "one more dimension", operand[None, None, None]
    yield "sparse", operand.to_sparse()
    yield DEVICE, operand.to("meta")


def wrong_arguments(implementation: Implementation, arguments: list[Any]) -> Iterator[tuple[str, str, Any]]:
    """Parameter, what is wrong, and the argument."""
    for parameter, argument in zip(
        inspect.signature(implementation.contract).parameters.values(), arguments, strict=True
    ):
        kind, _, optional = str(parameter.annotation).partition(" | ")
        for value in WRONG.get(kind, ()):
            if value is not None or not optional:
                yield parameter.name, f"{value!r} ({type(value).__name__})", value
        if kind == "Tensor" and argument is not None:
            if not optional:
                yield parameter.name, "None", None
            for what, value in wrong_tensors(argument):
                yield parameter.name, what, value


@pytest.mark.parametrize("implementation", implementations(), ids=str)
def test_a_wrong_argument_is_refused_with_its_name_before_anything_is_written(implementation: Implementation) -> None:
    fresh = richest(implementation)
    names = list(inspect.signature(implementation.contract).parameters)
    tried, right = 0, fresh()
    before = memory(right)
    for name, what, value in wrong_arguments(implementation, right):
        arguments = [value if name == other else one for other, one in zip(names, right, strict=True)]
        with pytest.raises((TypeError, ValueError)) as raised:
            pytest.fail(f"{name}: {what} was taken: {implementation.call(*arguments)}")
        # Of two devices either may be called the other one, and a native op's binding has no operand on its own here.
        said = str(raised.value)
        assert name in said or "expected a tensor on" in said, (name, what, said)
        assert unchanged(before, memory(right)), (name, what)
        tried += 1
    assert tried > 2 * len([one for one in right if one is not None])


def written(implementation: Implementation) -> list[str]:
    """The parameters whose tensors a right call changes."""
    arguments = richest(implementation)()
    before = [whole(one) if isinstance(one, Tensor) else None for one in arguments]
    implementation.call(*arguments)
    names = inspect.signature(implementation.contract).parameters
    return [
        name
        for name, one, other in zip(names, before, arguments, strict=True)
        if one is not None and not torch.equal(one, whole(other))
    ]


WRITERS = {"speculative.draft_extend_fill", "dsv4.compressor"}
RUN_HERE = [one for one in implementations() if not one.provider.startswith(NATIVE)]


@pytest.mark.parametrize("implementation", RUN_HERE, ids=str)
def test_the_ops_that_write_are_the_ones_that_are_tried_below(implementation: Implementation) -> None:
    assert bool(written(implementation)) is (implementation.op in WRITERS)


def inference(tensor: Tensor) -> Tensor:
    with torch.inference_mode():
        return tensor.clone()


def leaf(tensor: Tensor) -> Tensor:
    return tensor.clone().requires_grad_()


def result(tensor: Tensor) -> Tensor:
    return leaf(tensor) * 1


def expanded(tensor: Tensor) -> Tensor:
    return tensor[:1].clone().expand(tensor.shape)


UNWRITABLE = {
    "an inference tensor": inference,
    "a view of an inference tensor": lambda tensor: inference(tensor)[:],
    "a leaf that requires grad": leaf,
    "a view of a leaf that requires grad": lambda tensor: leaf(tensor)[:],
    "a result that requires grad": result,
    "one row many times": expanded,
}


@pytest.mark.parametrize("what", UNWRITABLE)
@pytest.mark.parametrize("implementation", [one for one in RUN_HERE if one.op in WRITERS], ids=str)
def test_a_buffer_that_cannot_be_written_in_place_is_refused_before_another_is(
    implementation: Implementation, what: str
) -> None:
    fresh = richest(implementation)
    names = list(inspect.signature(implementation.contract).parameters)
    tried = 0
    for name in written(implementation):
        arguments = fresh()
        buffer = arguments[names.index(name)]
        if "grad" in what and not buffer.is_floating_point():
            continue
        arguments[names.index(name)] = UNWRITABLE[what](buffer)
        before = memory(arguments)
        with pytest.raises(ValueError, match=f"^{name}: expected a (buffer that may be written in place|contiguous)"):
            implementation.call(*arguments)
        assert unchanged(before, memory(arguments)), name
        tried += 1
    assert tried


@pytest.mark.parametrize("implementation", [one for one in RUN_HERE if one.op in WRITERS], ids=str)
def test_the_same_buffers_are_written_where_pytorch_lets_them_be(implementation: Implementation) -> None:
    """The silent twin: under inference_mode and no_grad the same tensors are what an engine passes."""
    fresh = richest(implementation)
    names = list(inspect.signature(implementation.contract).parameters)
    buffers = [names.index(name) for name in written(implementation)]
    wanted = fresh()
    implementation.call(*wanted)
    for mode, made in ((torch.inference_mode, inference), (torch.no_grad, leaf)):
        arguments = fresh()
        for place in buffers:
            if made is inference or arguments[place].is_floating_point():
                arguments[place] = made(arguments[place])
        with mode():
            implementation.call(*arguments)
        for place in buffers:
            assert torch.equal(values(arguments[place]), values(wanted[place])), names[place]


@pytest.mark.parametrize("implementation", [one for one in RUN_HERE if one.op in WRITERS], ids=str)
def test_a_source_with_a_gradient_gives_none_to_its_buffer(implementation: Implementation) -> None:
    fresh = richest(implementation)
    names = list(inspect.signature(implementation.contract).parameters)
    buffers = {names.index(name) for name in written(implementation)}
    arguments = [
        leaf(one) if isinstance(one, Tensor) and one.is_floating_point() and place not in buffers else one
        for place, one in enumerate(fresh())
    ]
    assert any(isinstance(one, Tensor) and one.requires_grad for one in arguments)
    implementation.call(*arguments)
    assert not any(arguments[place].requires_grad for place in buffers)
