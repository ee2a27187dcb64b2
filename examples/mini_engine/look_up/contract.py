"""serve.look_up: what it takes and gives, and who can do it."""

from __future__ import annotations

from collections.abc import Sequence

from confbag.backends import ALWAYS, BATCH_INVARIANT, Op


def look_up(tokens: Sequence[int], count: int) -> list[int]:
    """At most `count` guesses for what follows `tokens`: what followed the last time they ended like this.

    tokens: a request's prompt and output, numbers of 0 to 255, at least one. count: how many guesses; below 1 is none.
    The longest ending of up to 3 tokens that occurred before wins, then the latest occurrence; none where the last
    token never did. A match that runs into the end repeats itself, so a loop is guessed in full length.
    """
    raise NotImplementedError


# Between two steps, on the host: no graph holds it, and no other request is looked at.
LOOK_UP = Op("serve.look_up", look_up, applies={"spec.algorithm": "NGRAM"}, cases="mini_engine.look_up.cases:cases")
LOOK_UP.implement(
    "reference",
    "mini_engine.look_up.reference:look_up",
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="every ending against every place, as the contract says it",
)
LOOK_UP.implement(
    "rfind",
    "mini_engine.look_up.rfind:look_up",
    priority=10,
    determinism=BATCH_INVARIANT,
    graph=ALWAYS,
    description="the search of bytes that Python has",
)
