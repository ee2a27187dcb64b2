"""What shows only in the values and addresses of draft_extend_fill's operands; reading it waits for the device."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from confbag.kernels.checks.operands import INT32_MAX, INT32_MIN
from confbag.kernels.draft_extend.operands import NARROW, Operands


def check_values(given: Operands) -> None:
    """Refuse a value that its int32 buffer cannot hold, and a buffer that shares memory with another operand."""
    for name in NARROW:
        _check_int32(name, getattr(given, "src_" + name))
    _check_overlaps(given.written())


def _check_int32(name: str, source: Tensor) -> None:
    if source.itemsize <= 4 or source.numel() == 0:
        return
    outside = (source < INT32_MIN) | (source > INT32_MAX)
    if bool(outside.any()):
        row = int(outside.nonzero()[0])
        raise ValueError(
            f"src_{name}[{row}]: expected a value that fits in int32, which {name} holds, found {int(source[row])}"
        )


def _check_overlaps(written: Iterable[tuple[str, Tensor, Tensor | None]]) -> None:
    """Refuse a buffer that shares memory with another operand. Items: a buffer's name, the buffer, its source or None.

    A source that is the start of its own buffer, in the same dtype, is copied onto itself and allowed.
    """
    spans: list[tuple[int, int, bool, str]] = []
    for name, buffer, source in written:
        spans.append((*_span(buffer), True, name))
        if source is not None and not (source.data_ptr() == buffer.data_ptr() and source.dtype == buffer.dtype):
            spans.append((*_span(source), False, f"src_{name}"))
    # In the order of their starts, an operand overlaps an earlier one when it starts before the furthest end so far;
    # two sources may.
    furthest: dict[bool, tuple[int, str]] = {True: (0, ""), False: (0, "")}
    for start, end, is_buffer, name in sorted(span for span in spans if span[0] < span[1]):
        for other_is_buffer, (reach, other) in furthest.items():
            if start < reach and (is_buffer or other_is_buffer):
                raise ValueError(f"{name} and {other} share memory; pass operands that do not overlap")
        if end > furthest[is_buffer][0]:
            furthest[is_buffer] = (end, name)


def _span(tensor: Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + tensor.numel() * tensor.itemsize
