"""Places that a setting names only to take something back: they are held against the registry as all others are."""

from __future__ import annotations

from typing import Any

import pytest

from confbag import load
from confbag.backends import Platform, Registry, make_plan
from confbag.errors import ConfigError

CUDA = Platform(device="cuda", arch="sm90", packages={"torch": "2.13.0", "triton": "3.6.0"})
PIN, PREFER = "exec.kernels.pin", "exec.kernels.prefer"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (PIN, {"kvcache.last_locc": None}, "unknown op 'kvcache.last_locc'; did you mean kvcache.last_loc?"),
        (PIN, {"attention@decod": None}, "unknown phase of attention 'decod'; did you mean decode?"),
        (PIN, {"kvcache.last_loc/0-3": None}, "kvcache.last_loc declares no sites"),
        (PREFER, {"attentoin": None}, "unknown op 'attentoin'; did you mean attention?"),
        (PREFER, ["triton", {"attentoin": None}], "unknown op 'attentoin'; did you mean attention?"),
    ],
)
def test_a_null_names_a_place_too(registry: Registry, key: str, value: Any, told: str) -> None:
    bag = load({key: value}, env={})
    with pytest.raises(ConfigError, match=f"^load argument 1: {key}: ") as raised:
        make_plan(bag, CUDA, registry=registry)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    "settings",
    [
        ({PIN: {"kvcache.last_loc": None}},),
        ({PREFER: {"attention@decode": None}},),
        ({PIN: {"kvcache.last_loc": "reference"}}, {PIN: {"kvcache.last_loc": None}}),
        # What a null takes back is gone, whatever it was.
        ({PIN: {"kvcache.last_locc": "triton"}}, {PIN: {"kvcache.last_locc": None}}),
    ],
)
def test_a_null_of_a_place_that_is_there_or_was_named_is_none(registry: Registry, settings: tuple[Any, ...]) -> None:
    plan = make_plan(load(*settings, env={}), CUDA, registry=registry)
    assert plan["kvcache.last_loc"].provider == "triton"
    assert not plan.asked[PIN]


def test_a_null_is_told_beside_every_other_fault(registry: Registry) -> None:
    bag = load({PIN: {"kvcache.last_locc": None, "attention": "fa33"}, PREFER: {"attentoin": None}}, env={})
    with pytest.raises(ConfigError) as raised:
        make_plan(bag, CUDA, registry=registry)
    assert len(raised.value.faults) == 3
