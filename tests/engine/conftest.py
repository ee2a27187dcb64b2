"""What the mini engine's tests share: the example package, and the road from settings to a running engine."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from confbag import load
from confbag.process import context

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "examples" / "configs" / "cpu-laptop.yaml"


def _import_example() -> None:
    """The root is never on the path of a test run, so the example is imported from its folder, as `mini_engine`."""
    folder = ROOT / "examples" / "mini_engine"
    spec = importlib.util.spec_from_file_location(
        "mini_engine", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mini_engine"] = module
    spec.loader.exec_module(module)


_import_example()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors this small are slower on many threads, more so beside another test worker."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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

    def walk(settings: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        monkeypatch.setattr(context, "_bag", None)
        plan, ops = road(load(CONFIG, env={}, overrides={"exec.debug.mirrors": True, **(settings or {})}))
        return plan, ops

    return walk


@pytest.fixture
def start(walk: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """An engine under other settings and limits; `replaced` puts other functions in the place of bound ones."""
    from mini_engine.engine import Engine, Limits

    def start(
        settings: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        replaced: Mapping[str, Any] | None = None,
        **limits: int,
    ) -> Any:
        _, ops = walk(settings)
        if replaced:
            names = ("attention_prefill", "attention_decode", "attention_draft", "last_loc", "draft_extend_fill")
            ops = SimpleNamespace(**{name: replaced.get(name) or getattr(ops, name, None) for name in names})
        return Engine(ops, Limits(**{"max_batch": 4, "pages": 96, "max_context": 256, **limits}), seed=seed)

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
