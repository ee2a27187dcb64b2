"""What the tests of the bag share: a process that published nothing, a decided bag, checkpoints, scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from confbag import Bag, load
from confbag.process.context import unpublish
from confbag.words.provenance import Filled


@pytest.fixture(autouse=True)
def nothing_published() -> Iterator[None]:
    """Every test begins and ends in a process that has published nothing."""
    unpublish()
    yield
    unpublish()


def decide(bag: Bag) -> Bag:
    """The bag with every `auto` decided, as a plan leaves it."""
    words: dict[str, Any] = {
        "exec.graph": True,
        "exec.attention.num_splits": 0,
        "exec.metadata_placement": "host",
        "exec.kernels.fallback": "warn",
        "device.index": 0,
        "parallel.custom_all_reduce": False,
        "parallel.symm_mem_all_reduce": False,
        "memory.page_size": 64,
        "memory.radix_cache": True,
        "memory.kv_cache_dtype": "model",
    }
    return bag.resolve({key: Filled(words.get(key, "triton"), "test", "the test says so") for key in bag.unresolved()})


@pytest.fixture
def planned() -> Bag:
    """The defaults, decided."""
    return decide(load(env={}))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder that holds a checkpoint's config.json."""

    def make(name: str, **fields: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], **fields}))
        return folder

    return make


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script in an interpreter of its own, beside the modules written for it."""

    def run(
        text: str,
        *,
        modules: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
        options: tuple[str, ...] = (),
    ) -> Any:
        for name, source in (modules or {}).items():
            (tmp_path / f"{name}.py").write_text(source)
        script = tmp_path / "script.py"
        script.write_text(text)
        return subprocess.run(
            [sys.executable, *options, str(script)],
            capture_output=True,
            text=True,
            env=env,
            cwd=tmp_path,
            check=False,
            timeout=120,
        )

    return run
