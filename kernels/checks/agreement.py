"""Whether an implementation leaves what its reference leaves: results, writes and what nobody writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confbag.words.given import expect, wrong_type

GUARD = 32
"""Elements of poison on each side of an operand: a write outside it shows."""

Arguments = Sequence[Any]


@dataclass(frozen=True)
class Tolerance:
    """How far floating values may lie apart: absolute + relative * the reference's magnitude."""

    relative: float
    absolute: float


@dataclass(frozen=True)
class Case:
    """One input. `arguments` builds the same operands anew at each call; buffers to be written hold poison.

    tolerance: for floating values; None is bit for bit. specified: the part of a result that the contract specifies;
    None is all of it.
    """

    name: str
    arguments: Callable[[], Arguments]
    tolerance: Tolerance | None = None
    specified: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if not callable(self.arguments):
            raise wrong_type(
                "Case(arguments=...)",
                "a function that builds the operands",
                self.arguments,
                "Case(name, lambda: [torch.zeros(8)])",
            )
        if self.tolerance is not None:
            write = "Tolerance(relative=1e-3, absolute=1e-3)"
            expect(self.tolerance, Tolerance, "Case(tolerance=...)", "a Tolerance", write)

    def difference(self, reference: Callable[..., Any], implementation: Callable[..., Any]) -> str | None:
        """The first difference in words, as `confbag verify` asks for it; None when they agree."""
        return difference(self, reference, implementation)


def difference(case: Case, reference: Callable[..., Any], implementation: Callable[..., Any]) -> str | None:
    """The first thing that the implementation left other than the reference did, in words; None when they agree."""
    wanted, found = case.arguments(), case.arguments()
    results = reference(*wanted), implementation(*found)
    returned_wanted, returned = results if case.specified is None else map(case.specified, results)
    for where, one, other in [("the result", returned_wanted, returned), *_operands(wanted, found)]:
        said = _difference(one, other, case.tolerance)
        if said:
            return f"{case.name}: {where}: {said}"
    return None


def guarded(values: Tensor, poison: int | float, shift: int = 0) -> Tensor:
    """The same values as a contiguous view with poison around it; `shift` moves its start off its alignment."""
    whole = torch.full((values.numel() + 2 * GUARD + shift,), poison, dtype=values.dtype, device=values.device)
    inner = whole[GUARD + shift : GUARD + shift + values.numel()].view(values.shape)
    inner.copy_(values)
    return inner


def _operands(wanted: Arguments, found: Arguments) -> list[tuple[str, Any, Any]]:
    pairs = []
    for place, (one, other) in enumerate(zip(wanted, found, strict=True)):
        pairs.append((f"argument {place}", one, other))
        if isinstance(one, Tensor) and one._base is not None:
            pairs.append((f"memory around argument {place}", one._base, other._base))
    return pairs


def _difference(one: Any, other: Any, tolerance: Tolerance | None) -> str | None:
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return None if one is other or one == other else f"expected {one!r}, found {other!r}"
    if (one.dtype, one.shape, one.device) != (other.dtype, other.shape, other.device):
        return f"expected {_kind(one)}, found {_kind(other)}"
    if torch.equal(_bits(one), _bits(other)):
        return None
    if tolerance is not None and one.dtype.is_floating_point:
        apart = ~torch.isclose(
            other.double(), one.double(), rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True
        )
        if not bool(apart.any()):
            return None
        place = int(apart.flatten().nonzero()[0])
        return (
            f"element {place}: expected {one.flatten()[place].item()} within {tolerance.absolute:g} "
            f"+ {tolerance.relative:g} of it, found {other.flatten()[place].item()}"
        )
    place = int((_bits(one) != _bits(other)).nonzero()[0]) // one.itemsize
    return f"element {place}: expected {one.flatten()[place].item()}, found {other.flatten()[place].item()}"


def _kind(tensor: Tensor) -> str:
    return f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}"


def _bits(tensor: Tensor) -> Tensor:
    return tensor.contiguous().flatten().view(torch.uint8)
