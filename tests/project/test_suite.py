"""The suite itself: it passes where whoever starts it ignores SIGINT, as `nohup make test &` in a script does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize(
    "test",
    [
        "tests/cli/test_exit_status.py::test_an_interrupt_ends_quietly",
        "tests/ratchets/test_robust_process.py::test_ctrl_c_of_a_terminal_reaches_every_process",
        "tests/ratchets/test_init.py::test_whoever_stops_answering_gets_nothing[answers0-130]",
    ],
)
def test_an_interrupt_reaches_a_child_although_the_suite_ignores_it(test: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    ran = subprocess.run(command, cwd=ROOT, preexec_fn=ignore_interrupts, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout
