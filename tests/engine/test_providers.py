"""One text under every provider: those that this machine runs, and the Triton kernels through their interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mini_engine.main import OPS

from confbag import load
from confbag.backends import Platform, make_plan
from confbag.errors import DeclaredOnlyError

CONFIG = Path(__file__).parents[2] / "examples" / "configs" / "cpu-laptop.yaml"


def _pairs() -> list[tuple[str, str]]:
    """Every (op, provider) of the ops that the engine calls: what the plan took, and what it did not."""
    plan = make_plan(load(CONFIG, env={}), Platform.find("cpu"))
    rows = [row for row in plan.bindings if row.op in OPS]
    taken = {(row.op, row.provider) for row in rows}
    return sorted(taken | {(row.op, rejection.provider) for row in rows for rejection in row.rejected})


@pytest.mark.parametrize(("op", "provider"), _pairs())
def test_a_pinned_provider_serves_the_same_or_the_plan_says_why_not(
    serve: Callable[..., tuple[list[bytes], Any]],
    walk: Callable[..., tuple[Any, Any]],
    prompts: list[bytes],
    op: str,
    provider: str,
) -> None:
    settings = {"exec.kernels.pin": {op: provider}} if op != "attention" else {"exec.attention.backend": provider}
    plan = make_plan(load(CONFIG, env={}, overrides=settings), Platform.find("cpu"))
    if plan.faults:
        assert provider in {fault.provider for fault in plan.faults}
        return
    if any(row.op == op and row.used and row.target is None for row in plan.bindings):
        with pytest.raises(DeclaredOnlyError, match=provider):
            walk(settings)
        return
    expected, _ = serve(prompts[:5])
    pinned, _ = serve(prompts[:5], settings)
    assert pinned == expected


def test_triton_kernels_serve_the_same(serve: Callable[..., tuple[list[bytes], Any]], prompts: list[bytes]) -> None:
    """In a process of their own, since Triton decides at import whether it interprets."""
    prompts = prompts[:4]
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("interpreted.py"))],
        input=json.dumps([prompt.hex() for prompt in prompts]),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    served = json.loads(ran.stdout)
    expected, report = serve(prompts, new=served["new"])
    assert report.steps["verify"] > 0
    for name, outputs in served["outputs"].items():
        assert [bytes.fromhex(output) for output in outputs] == expected, name
    assert served["calls"]["draft_extend_fill"] == report.steps["verify"] * len(served["outputs"])
