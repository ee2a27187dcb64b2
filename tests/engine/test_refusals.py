"""What the engine cannot honour is refused, naming who set it; what it can is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mini_engine.refusals import refuse

from confbag import ConfigError, load
from confbag.process import context

CONFIG = Path(__file__).parents[2] / "examples" / "configs" / "cpu-laptop.yaml"


def _refused(**settings: Any) -> str:
    bag = load(CONFIG, env={}, overrides={key.replace("__", "."): value for key, value in settings.items()})
    with pytest.raises(ConfigError) as refused:
        refuse(bag)
    return str(refused.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"exec__graph": True},
            "override load: exec.graph: is True; the mini engine captures no graph; write false",
        ),
        ({"exec__compile": True}, "exec.compile: is True"),
        ({"model__kind": "mla"}, "model.kind: is 'mla'"),
        ({"model__dtype": "bfloat16"}, "model.dtype: is 'bfloat16'; the mini engine computes in float32 or float64"),
        ({"model__sliding_window": 8}, "model.sliding_window: is 8"),
        (
            {"memory__kv_cache_dtype": "fp8_e4m3"},
            "memory.kv_cache_dtype: is 'fp8_e4m3'; the pool holds the model's own",
        ),
        ({"memory__fraction_static": 0.5}, "memory.fraction_static: is 0.5"),
        ({"spec__num_draft_tokens": None}, "spec.num_draft_tokens: is None; the verify step needs its width"),
        ({"spec__topk": 2}, "spec.topk: is 2; prompt look-up follows one branch; write 1"),
        ({"exec__attention__draft": "other"}, "guesses are verified by exec.attention.prefill, auto; leave it out"),
    ],
)
def test_refusals(settings: dict[str, Any], message: str) -> None:
    assert message in _refused(**settings)


def test_a_value_of_the_file_is_refused_with_its_place(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("parallel:\n  tp_size: 2\n")
    with pytest.raises(ConfigError, match=r"more\.yaml:2:3: parallel\.tp_size: is 2; the mini engine is one process"):
        refuse(load(CONFIG, more, env={}))


def test_nothing_is_published_when_something_is_refused(walk: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError):
        walk({"parallel.tp_size": 2})
    assert not context.is_published()


def test_the_example_is_not_refused() -> None:
    refuse(load(CONFIG, env={}))
