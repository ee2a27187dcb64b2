"""What the mini engine's tests share: the example package, and the road from settings to a running engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from confbag import load
from confbag.process import context

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "examples" / "configs" / "cpu-laptop.yaml"


@pytest.fixture
def prompts() -> list[bytes]:
    """Repetitive ones, where looking up pays, and random ones, where it does not; lengths around the page sizes."""
    dice = random.Random(20)
    noise = [bytes(dice.randrange(256) for _ in range(length)) for length in (1, 2, 15, 16, 17, 40)]
    return [b"abcabcabcabcabc", b"one two one two one two one", b"Q" * 33, *noise]


@pytest.fixture
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is published when the test begins, and what it publishes is gone when it ends."""
    for name in ("_bag", "_process", "_role"):
        monkeypatch.setattr(context, name, None)


@pytest.fixture
def walk(monkeypatch: pytest.MonkeyPatch, unpublished: None) -> Callable[..., tuple[Any, Any]]:
    """The laptop's config with other settings, planned, bound and published: (plan, ops). Unpublished at the end."""
    from mini_engine.main import walk as road
    from mini_engine.settings import EngineConfig

    def walk(settings: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        monkeypatch.setattr(context, "_bag", None)
        overrides = {"exec.debug.mirrors": True, **(settings or {})}
        plan, ops = road(load(CONFIG, schema=EngineConfig, env={}, overrides=overrides))
        return plan, ops

    return walk


@pytest.fixture
def start(walk: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """An engine under other settings and those of `serve`; `replaced` puts other functions in the place of bound
    ones."""
    from mini_engine.engine import Engine

    def start(
        settings: Mapping[str, Any] | None = None,
        *,
        replaced: Mapping[str, Any] | None = None,
        **serve: int,
    ) -> Any:
        held = {"max_batch": 4, "pages": 96, "context": 256, **serve}
        _, ops = walk({**{f"serve.{name}": value for name, value in held.items()}, **(settings or {})})
        if replaced:
            names = (*(f"attention_{phase}" for phase in ("prefill", "decode", "draft")), "last_loc")
            names = (*names, "draft_extend_fill", "look_up")
            ops = SimpleNamespace(**{name: replaced.get(name) or getattr(ops, name, None) for name in names})
        return Engine(ops)

    return start


@pytest.fixture
def serve(start: Callable[..., Any]) -> Callable[..., tuple[list[bytes], Any]]:
    """Serve prompts to their end: (outputs, report)."""

    def serve(
        prompts: list[bytes],
        settings: Mapping[str, Any] | None = None,
        *,
        new: int = 24,
        temperature: float = 0.0,
        **kwargs: Any,
    ) -> tuple[list[bytes], Any]:
        engine = start(settings, **kwargs)
        for number, prompt in enumerate(prompts):
            engine.submit(prompt, new, temperature=temperature, seed=number)
        report = engine.run()
        return [request.output for request in report.requests], report

    return serve
