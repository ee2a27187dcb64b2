"""What the tests of the registry and the planner share: our registry, and bags from dotted settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import confbag.kernels
from confbag import Bag, load
from confbag.backends import Platform, Registry


@pytest.fixture
def registry() -> Registry:
    """A fresh registry that holds what we ship, and nothing of any plug-in."""
    made = Registry()
    confbag.kernels.register(made)
    made.check()
    return made


@pytest.fixture(scope="session")
def bag_of() -> Callable[..., Bag]:
    """A bag from dotted settings, blind to this machine's environment."""
    return lambda **_settings: load(env={}, overrides=_settings)


@pytest.fixture(scope="session")
def machine() -> Callable[..., Platform]:
    """A platform from a device, an architecture and whatever else matters to a test."""

    def make(device: str, arch: str | None = None, **facts: Any) -> Platform:
        facts.setdefault("packages", {"torch": "2.13.0", "triton": "3.6.0", "flashinfer-python": "0.7.2"})
        facts.setdefault("toolkit", {"cuda": "13.0"} if device == "cuda" else {})
        facts["features"] = frozenset(facts.get("features", ()))
        return Platform(device=device, arch=arch, **facts)

    return make
