"""What an operand must be before a kernel may touch it; a refusal names it, what was expected and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor
from torch.compiler import is_compiling

Shape: TypeAlias = "tuple[int | None, ...]"

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1


def require_tensor(
    name: str, tensor: Tensor | None, dtypes: Sequence[torch.dtype], shape: Shape, device: torch.device | None = None
) -> None:
    """TypeError for no tensor or another dtype, ValueError for another layout, shape (None: any size) or device."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}: expected a tensor of {_either(dtypes)}, found {described(tensor)}")
    if tensor.dtype not in dtypes:
        raise TypeError(f"{name}: expected dtype {_either(dtypes)}, found {_word(tensor.dtype)}")
    if tensor.layout is not torch.strided:
        raise ValueError(
            f"{name}: expected a dense tensor, found layout {_word(tensor.layout)}; pass {name}.to_dense()"
        )
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


def require_floating(name: str, tensor: Tensor | None) -> None:
    """TypeError for what is no tensor or none of a floating dtype."""
    if not isinstance(tensor, Tensor) or not tensor.dtype.is_floating_point:
        found = _word(tensor.dtype) if isinstance(tensor, Tensor) else described(tensor)
        raise TypeError(f"{name}: expected a floating dtype, found {found}")


def require_writable(name: str, tensor: Tensor) -> None:
    """ValueError for a buffer that PyTorch would not write in place here; a launched kernel writes it all the same.

    What PyTorch itself finds only at the write would come after other buffers were written. torch.compile traces no
    question about inference tensors: what it makes of the caller has PyTorch's own error.
    """
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"{name}: expected a buffer that may be written in place, found one that requires grad; "
            f"pass {name}.detach(), or call under torch.no_grad()"
        )
    if not is_compiling() and tensor.is_inference() and not torch.is_inference_mode_enabled():
        raise ValueError(
            f"{name}: expected a buffer that may be written in place, found an inference tensor outside "
            "torch.inference_mode(); make the buffer outside it, or call inside it"
        )


def require_int(name: str, value: Any) -> None:
    """TypeError for anything but an int (or what stands for one while PyTorch traces): bool, NumPy's, a 0-d tensor."""
    if isinstance(value, bool) or not isinstance(value, (int, torch.SymInt)):
        raise TypeError(f"{name}: expected an integer, found {described(value)}")


def require_number(name: str, value: Any) -> None:
    """TypeError for anything but an int or a float, or what stands for one while PyTorch traces."""
    if isinstance(value, bool) or not isinstance(value, (float, int, torch.SymFloat, torch.SymInt)):
        raise TypeError(f"{name}: expected a number, found {described(value)}")


def require_flag(name: str, value: Any) -> None:
    """TypeError for anything but True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, found {described(value)}")


def described(value: object) -> str:
    """What was passed, for a message: a value with its type, a tensor without asking its device what it holds."""
    if isinstance(value, Tensor):
        return f"a tensor of {_word(value.dtype)}, shape {list(value.shape)}"
    if value is None:
        return "None"
    return f"{value!r} ({type(value).__name__})"


def _either(dtypes: Sequence[torch.dtype]) -> str:
    return " or ".join(map(_word, dtypes))


def _word(dtype: torch.dtype | torch.layout) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(shape: Shape) -> str:
    return "[" + ", ".join("any" if size is None else str(size) for size in shape) + "]"
