"""serve.look_up as its contract says it."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MATCH = 3


def look_up(tokens: Sequence[int], count: int) -> list[int]:
    """See the contract."""
    if count < 1:
        return []
    for length in range(min(LONGEST_MATCH, len(tokens) - 1), 0, -1):
        ending = list(tokens[-length:])
        for start in range(len(tokens) - length - 1, -1, -1):
            if list(tokens[start : start + length]) == ending:
                return follow(tokens[start + length :], count)
    return []


def follow(followed: Sequence[int], count: int) -> list[int]:
    """What followed, over and over."""
    return [followed[index % len(followed)] for index in range(count)]
