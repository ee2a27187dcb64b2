"""Guessing by prompt look-up: what followed the last time the request's own tokens ended like this."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MATCH = 3


def look_up(tokens: Sequence[int], count: int) -> list[int]:
    """At most `count` guesses for what follows `tokens`; none when its last token never occurred before.

    The longest match of up to LONGEST_MATCH tokens wins, then the latest. A match that runs into the end repeats
    itself, so a loop is guessed in full length.
    """
    if count < 1:
        return []
    for length in range(min(LONGEST_MATCH, len(tokens) - 1), 0, -1):
        ending = list(tokens[-length:])
        for start in range(len(tokens) - length - 1, -1, -1):
            if list(tokens[start : start + length]) == ending:
                followed = list(tokens[start + length :])
                return [followed[index % len(followed)] for index in range(count)]
    return []


def confirmed(guesses: Sequence[int], predictions: Sequence[int]) -> list[int]:
    """What a verify step proved: predictions[0] follows the committed tokens, predictions[i] follows guesses[:i].

    Every right guess, and the one token after them that the model predicted itself.
    """
    right = 0
    while right < len(guesses) and guesses[right] == predictions[right]:
        right += 1
    return list(predictions[: right + 1])
