"""The debug switch: off unless the published bag or the environment turns it on."""

import os
import subprocess
import sys

import pytest
import torch

from confbag import load
from confbag.kernels.checks.bounds import kernels_check_values, reference_checks_values
from confbag.kernels.last_loc import triton
from confbag.process.context import override, publish

ON_CPU = torch.empty(0)
ON_DEVICE = torch.empty(0, device="meta")


@pytest.fixture
def published(monkeypatch):
    """A published bag, gone again after the test."""
    for name in ("_bag", "_process", "_role"):
        monkeypatch.setattr(f"confbag.process.context.{name}", None)
    monkeypatch.setattr("confbag.process.context._swaps", [])
    publish(load(env={}), role="test", allow_auto=True)


def test_off_by_default(published):
    assert not kernels_check_values(ON_CPU)
    assert not reference_checks_values(ON_DEVICE)
    assert reference_checks_values(ON_CPU)


def test_the_published_bag_turns_it_on(published):
    table, outside, one = torch.zeros(2, 2, dtype=torch.int32), torch.tensor([5]), torch.tensor([1])
    assert triton.last_loc(table, outside, one).tolist() == [-1]
    with override("a test", {"exec.debug.bounds": True}):
        assert kernels_check_values(ON_CPU)
        assert reference_checks_values(ON_DEVICE)
        with pytest.raises(IndexError, match="found 5"):
            triton.last_loc(table, outside, one)
    assert triton.last_loc(table, outside, one).tolist() == [-1]


@pytest.mark.parametrize(("value", "on"), [("1", True), ("0", False)])
def test_the_environment_turns_it_on_without_a_bag(value, on):
    script = "import torch\nfrom confbag.kernels.checks.bounds import *\nprint(kernels_check_values(torch.empty(0)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "CONFBAG_DEBUG_BOUNDS": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(on)


def test_reading_the_switch_does_not_break_a_trace(published):
    def traced(value):
        return value + 1 if kernels_check_values(value) else value - 1

    torch.compiler.reset()
    with override("a test", {"exec.debug.bounds": True}):
        assert torch.compile(traced, fullgraph=True, backend="eager")(torch.tensor(3)).item() == 2
    torch.compiler.reset()
