"""The order of sources, on random configurations; the oracle stands beside the script that runs ten times as many."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "precedence.py"


@pytest.fixture(scope="module")
def precedence() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("precedence", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_random_configurations_are_what_the_documented_order_says(precedence: Any) -> None:
    differing = [text for seed in range(500) if (text := precedence.difference(seed)) is not None]
    assert differing == []


def test_the_oracle_sees_contradictions_and_every_source(precedence: Any) -> None:
    """What is compared is no empty set: sources decide, and some contradict themselves."""
    import random

    drawn = [precedence.drawn(random.Random(seed)) for seed in range(500)]
    wanted = [precedence.expected(sources) for sources in drawn]
    assert 50 < sum(one is None for one in wanted) < 250
    deciding = {place for sources in drawn for place, said in enumerate(sources) if said}
    assert deciding == set(range(len(precedence.SOURCES)))
