"""serve.look_up by the search of bytes that Python has."""

from __future__ import annotations

from collections.abc import Sequence

from mini_engine.look_up.reference import LONGEST_MATCH, follow


def look_up(tokens: Sequence[int], count: int) -> list[int]:
    """See the contract."""
    if count < 1:
        return []
    text = bytes(tokens)
    for length in range(min(LONGEST_MATCH, len(text) - 1), 0, -1):
        start = text.rfind(text[-length:], 0, len(text) - 1)
        if start >= 0:
            return follow(text[start + length :], count)
    return []
