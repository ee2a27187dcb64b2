"""Inputs on which every serve.look_up must equal the reference: `confbag verify serve.look_up` runs them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from confbag.testing import Case

BOUNDARIES = {
    "one token": (b"a", 3),
    "nothing asked for": (b"abab", 0),
    "a loop": (b"ababab", 7),
    "a match that overlaps its ending": (b"aaaa", 3),
    "the latest of two": (b"abcXabcYabc", 2),
    "never before": (b"abcdef", 4),
    "the whole is shorter than the longest match": (b"aa", 2),
}


def cases(device: str, count: int, seed: int = 0) -> Iterator[Case]:
    """Every boundary, then `count` random inputs of few letters, in which much repeats. device: it runs on the host."""
    for name, arguments in BOUNDARIES.items():
        yield Case(name, partial(_arguments, *arguments))
    dice = random.Random(seed)
    for number in range(count):
        text = bytes(dice.randrange(dice.choice((2, 4, 256))) for _ in range(dice.randint(1, 60)))
        yield Case(f"random {number}", partial(_arguments, text, dice.randint(1, 9)))


def _arguments(text: bytes, count: int) -> tuple[list[int], int]:
    return list(text), count
