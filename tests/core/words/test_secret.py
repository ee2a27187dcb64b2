"""Secrets: equal by their text, shown never."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import Secret


@given(st.text(alphabet=st.characters(), min_size=8))
def test_a_secret_never_shows_its_text(text: str) -> None:
    secret = Secret(text)
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret:>12}", f"{secret!r}", repr([secret])):
        assert text not in shown
    assert secret.reveal() == text
    assert copy.deepcopy(secret) == pickle.loads(pickle.dumps(secret)) == secret
    assert hash(copy.copy(secret)) == hash(secret)


def test_secrets_are_equal_by_their_text_and_cannot_change() -> None:
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert not hasattr(Secret("a"), "__dict__")
    with pytest.raises(AttributeError, match="make a new one"):
        Secret("a").anything = 1
