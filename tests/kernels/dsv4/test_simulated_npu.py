"""What runs on the simulated npu, each file in a process of its own: a device is renamed for good."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).with_name("simulated").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_on_the_simulated_npu(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
