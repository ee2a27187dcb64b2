"""Conditions: what each test means, what unknown facts do, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.backends.words.conditions import Condition, version_matches
from confbag.errors import RegistrationError

FACTS = {
    "kind": "mla",
    "arch": "sm90",
    "branches": 2,
    "cuda": "12.4",
    "features": frozenset({"amx"}),
    "unknown": None,
    "on": True,
}


@pytest.mark.parametrize(
    ("data", "holds"),
    [
        ({}, True),
        ({"kind": "mla"}, True),
        ({"kind": ["mha", "mla"]}, True),
        ({"kind": "mha"}, False),
        ({"kind": "mla", "arch": "sm80"}, False),
        ({"kind": {"not": "mha"}}, True),
        ({"kind": {"not": ["mha", "mla"]}}, False),
        ({"branches": {"max": 2}}, True),
        ({"branches": {"max": 1}}, False),
        ({"branches": {"min": 2}}, True),
        ({"branches": {"min": 3}}, False),
        ({"branches": {"multiple": 2}}, True),
        ({"branches": {"multiple": 3}}, False),
        ({"kind": {"multiple": 2}}, False),
        ({"unknown": {"multiple": 2}}, False),
        ({"cuda": {"version": ">=12.3"}}, True),
        ({"cuda": {"version": ">=12.9"}}, False),
        ({"features": {"has": "amx"}}, True),
        ({"features": {"has": "xmx"}}, False),
        ({"kind": {"set": True}}, True),
        ({"unknown": {"set": False}}, True),
        ({"unknown": {"set": True}}, False),
        ({"unknown": "x"}, False),
        ({"unknown": None}, True),
        ({"unknown": {"max": 3}}, False),
        ({"unknown": {"version": ">=1"}}, False),
        ({"unknown": {"not": "x"}}, True),
        ({"nowhere": {"has": "x"}}, False),
        ({"on": True}, True),
        ({"on": False}, False),
        ({"on": 1}, False),
        ({"branches": {"max": "x"}}, None),
        ({"any": [{"kind": "mha"}, {"arch": "sm90"}]}, True),
        ({"any": [{"kind": "mha"}, {"arch": "sm80"}]}, False),
        ({"none": [{"kind": "mha"}, {"arch": "sm80"}]}, True),
        ({"none": [{"kind": "mla"}]}, False),
    ],
)
def test_meaning(data: dict[str, Any], holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(RegistrationError, match="branches: `max` takes a number"):
            Condition(data)
        return
    condition = Condition(data)
    assert condition.holds(FACTS) is holds
    assert (condition.failing(FACTS) is None) is holds


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": []}, "an empty list can never hold"),
        ({"branches": {"multiple": 0}}, "`multiple` takes a positive integer, got 0"),
        ({"branches": {"multiple": True}}, "`multiple` takes a positive integer, got True"),
        ({"kind": {"least": 3}}, "expected one of min, max, multiple, version, not, set, has, got least"),
        ({"kind": {"min": 1, "max": 2}}, "expected one of"),
        ({"any": {"kind": "mla"}}, "take a list of conditions"),
        ({"cuda": {"version": "newest"}}, "is no PEP 440 specifier"),
    ],
)
def test_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        Condition(data, where="here")


def test_a_failing_entry_is_named() -> None:
    assert Condition({"kind": "mla", "branches": {"max": 1}}).failing(FACTS) == "branches is 2, not at most 1"


@pytest.mark.parametrize(
    ("specifier", "version", "matches"),
    [
        (">=2.5.1", "2.4.0", False),
        (">=2.5.1", "2.13.0+cpu", True),
        (">=9.0", "9.0rc1", False),
        (">=8.3rc1", "8.3rc1", True),
        (">=1", "junk", False),
    ],
)
def test_versions(specifier: str, version: str, matches: bool) -> None:
    assert version_matches(specifier, version) is matches


words = st.sampled_from(["a", "b", "c"])
tests = st.one_of(
    words,
    st.lists(words, min_size=1, max_size=3),
    st.fixed_dictionaries({"not": st.lists(words, min_size=1, max_size=3)}),
)


@given(st.dictionaries(st.sampled_from(["p", "q"]), tests), st.dictionaries(st.sampled_from(["p", "q"]), words))
def test_none_is_the_opposite(data: dict[str, Any], facts: dict[str, str]) -> None:
    assert Condition({"none": [data]}).holds(facts) is not Condition(data).holds(facts)
    assert Condition({"any": [data]}).holds(facts) is Condition(data).holds(facts)
