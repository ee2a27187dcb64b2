"""Prompt look-up: what it guesses, and what a verify step makes of the guesses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mini_engine.look_up import reference, rfind
from mini_engine.look_up.reference import LONGEST_MATCH
from mini_engine.speculation import confirmed

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("tokens", "count", "guesses"),
    [
        (b"one two one ", 4, b"two "),
        (b"abcabc", 5, b"abcab"),
        (b"aaaa", 3, b"aaa"),
        (b"xab yab zab", 2, b" z"),
        (b"zzab1 b2 ab", 1, b"1"),
        (b"abcdef", 3, b""),
        (b"a", 3, b""),
        (b"abab", 0, b""),
    ],
    ids=["phrase", "loop", "run", "latest", "longest", "nothing", "one", "no-room"],
)
def test_guesses(tokens: bytes, count: int, guesses: bytes) -> None:
    for provider in (reference, rfind):
        assert bytes(provider.look_up(list(tokens), count)) == guesses


@settings(deadline=None)
@given(TOKENS, st.integers(1, 8))
def test_guesses_follow_an_earlier_occurrence(tokens: list[int], count: int) -> None:
    guesses = reference.look_up(tokens, count)
    assert rfind.look_up(tokens, count) == guesses
    assert len(guesses) == (count if tokens[-1] in tokens[:-1] else 0)
    if guesses:
        places = range(len(tokens) - 1)
        assert any(tokens[place] == tokens[-1] and tokens[place + 1] == guesses[0] for place in places)
        assert LONGEST_MATCH >= 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), max_size=6), st.data())
def test_confirmed_is_what_one_step_at_a_time_would_say(guesses: list[int], data: st.DataObject) -> None:
    predictions = data.draw(st.lists(st.integers(0, 2), min_size=len(guesses) + 1, max_size=len(guesses) + 1))
    one_at_a_time = [predictions[0]]
    for place, guess in enumerate(guesses):
        if guess != one_at_a_time[-1]:
            break
        one_at_a_time.append(predictions[place + 1])
    assert confirmed(guesses, predictions) == one_at_a_time
