"""Fixtures for pytest, imported into a conftest.py: `from confbag.testing import published`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from confbag.bag.bag import Bag
from confbag.bag.loading import load
from confbag.process.context import Planned, bag_in, publish, unpublish
from confbag.schema.config import Config


@pytest.fixture
def published() -> Iterator[Callable[..., Bag]]:
    """Publish for one test, and forget it afterwards.

    `published(plan)` or `published(bag)` publishes that; `published({"exec.graph": False}, schema=MyConfig)` publishes
    a bag of these settings, whatever is still auto left so. It returns the bag, and may be called again.
    """

    def make(given: Bag | Planned | Mapping[str, Any] | None = None, *, schema: type[Config] = Config) -> Bag:
        if given is None or isinstance(given, Mapping):
            bag = load(given or {}, schema=schema, env={})
            publish(bag, "test", replace=True, allow_auto=True)
        else:
            bag = bag_in(given, "published")
            publish(bag, "test", replace=True)
        return bag

    unpublish()
    yield make
    unpublish()
