"""What shows only in the values and addresses of draft_extend_fill's operands; reading it waits for the device."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from confbag.kernels.checks.operands import INT32_MAX, INT32_MIN


def check_int32(written: Iterable[tuple[str, Tensor, Tensor]]) -> None:
    """Refuse a value that its int32 buffer cannot hold. Items: a buffer's name, the buffer, its source."""
    for name, _, source in written:
        if source.itemsize <= 4 or source.numel() == 0:
            continue
        outside = (source < INT32_MIN) | (source > INT32_MAX)
        if bool(outside.any()):
            row = int(outside.nonzero()[0])
            raise ValueError(
                f"src_{name}[{row}]: expected a value that fits in int32, which {name} holds, found {int(source[row])}"
            )


def check_overlaps(written: Iterable[tuple[str, Tensor | None, Tensor | None]]) -> None:
    """Refuse a buffer that shares memory with another operand. Items: a buffer's name, the buffer, its source or None.

    A source that is the start of its own buffer, in the same dtype, is copied onto itself and allowed.
    """
    spans: list[tuple[int, int, bool, str]] = []
    for name, buffer, source in written:
        if buffer is not None:
            spans.append((*_span(buffer), True, name))
        if source is not None and not (
            buffer is not None and source.data_ptr() == buffer.data_ptr() and source.dtype == buffer.dtype
        ):
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
