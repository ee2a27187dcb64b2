"""What an operand must be before a kernel may touch it; a refusal names it, what was expected and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Shape: TypeAlias = "tuple[int | None, ...]"

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1


def require_tensor(
    name: str, tensor: Tensor | None, dtypes: Sequence[torch.dtype], shape: Shape, device: torch.device | None = None
) -> None:
    """TypeError for a missing operand or another dtype, ValueError for another shape (None is any size) or device."""
    if tensor is None:
        raise TypeError(f"{name}: expected a tensor of {_either(dtypes)}, found None")
    if tensor.dtype not in dtypes:
        raise TypeError(f"{name}: expected dtype {_either(dtypes)}, found {_word(tensor.dtype)}")
    found = tensor.shape
    if len(found) != len(shape):
        raise ValueError(f"{name}: expected {len(shape)} dimension(s), found shape {list(found)}")
    for size, expected in zip(found, shape, strict=True):
        if expected is not None and size != expected:
            raise ValueError(f"{name}: expected shape {_shape(shape)}, found {list(found)}")
    if device is not None and tensor.device != device:
        raise ValueError(
            f"{name}: expected a tensor on {device}, where the other operands are, found one on {tensor.device}"
        )


def require_contiguous(name: str, tensor: Tensor) -> None:
    """Refuse a strided view: what is stored behind it would be read or written in the wrong places."""
    if not tensor.is_contiguous():
        found = tensor.shape
        raise ValueError(
            f"{name}: expected a contiguous tensor, found strides {list(tensor.stride())} for shape {list(found)}; "
            f"pass {name}.contiguous(), or the whole buffer that the view is part of"
        )


def _either(dtypes: Sequence[torch.dtype]) -> str:
    return " or ".join(map(_word, dtypes))


def _word(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(shape: Shape) -> str:
    return "[" + ", ".join("any" if size is None else str(size) for size in shape) + "]"
