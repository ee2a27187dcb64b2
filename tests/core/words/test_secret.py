"""Secrets: equal by their text, shown never."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import Config, ConfigError, Namespace, Secret, load


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


class Door(Namespace):
    token: Secret | None = None
    tokens: tuple[Secret, ...] = ()


class DoorConfig(Config):
    door: Door = Door()


@pytest.mark.parametrize(
    "source",
    [
        {"argv": ["--set", "door.token=12345678"]},
        {"argv": ["--set", "door.tokens=[a, 3]"]},
        {"env": {"CONFBAG__DOOR__TOKEN": "true"}},
        {"overrides": {"door.token": 1e5}},
        {"overrides": {"door.token": b"sesame"}},
        {"overrides": {"door.token": object()}},
        {"overrides": {"door.token": {"sesame": "sesame"}}},
    ],
)
def test_what_is_no_text_is_refused_and_never_becomes_another_secret(source: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"door\.tokens?: expected a (text|list)") as refused:
        load(schema=DoorConfig, **{"env": {}, **source})
    assert not re.search("1234|sesame|100000", str(refused.value))


def test_a_text_of_digits_is_a_secret() -> None:
    for source in ({"argv": ["--set", "door.token='12345678'"]}, {"env": {"CONFBAG__DOOR__TOKEN": "'12345678'"}}):
        token = load(schema=DoorConfig, **{"env": {}, **source})["door.token"]
        assert token.reveal() == "12345678"
