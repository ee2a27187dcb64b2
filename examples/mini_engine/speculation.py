"""Guesses against what the model says itself; where they come from is an op, serve.look_up."""

from __future__ import annotations

from collections.abc import Sequence


def confirmed(guesses: Sequence[int], predictions: Sequence[int]) -> list[int]:
    """What a verify step proved: predictions[0] follows the committed tokens, predictions[i] follows guesses[:i].

    Every right guess, and the one token after them that the model predicted itself.
    """
    right = 0
    while right < len(guesses) and guesses[right] == predictions[right]:
        right += 1
    return list(predictions[: right + 1])
