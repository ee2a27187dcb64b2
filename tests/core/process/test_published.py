"""The fixture that an engine's tests publish with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from confbag import Bag, Config, Namespace, PlanError, get_exec, is_published
from confbag.backends import make_plan
from confbag.testing import published as published


class Serve(Namespace):
    """An engine's own."""

    pages: int = 3


class EngineConfig(Config):
    """Its settings."""

    serve: Serve = Serve()


def test_settings_a_bag_and_a_plan(published: Callable[..., Bag]) -> None:
    assert not is_published()
    assert published({"exec.graph": False}).exec is get_exec()
    assert published({"serve.pages": 4}, schema=EngineConfig)["serve.pages"] == 4
    plan = make_plan(published(), "cuda:sm90")
    assert published(plan) is plan.bag
    assert get_exec().graph is True
    refused = make_plan(published({"exec.attention.backend": "aiter"}), "cuda:sm90")
    with pytest.raises(PlanError):
        published(refused)
    with pytest.raises(TypeError, match="published takes a Bag or a Plan, not an int"):
        published(3)


def test_nothing_is_left_of_it() -> None:
    assert not is_published()
