"""A pre-commit run of the ratchets on five files without a trigger, as a ratio of `python -c pass`.

Both run on the interpreter of the console script beside this one, in interleaved pairs, so that a busy machine slows
both. All default rules are on. Exit status 1 when the median ratio is over the limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pairing import compare, seconds

LIMIT = 4.0
CONFIGURATION = """\
roots = ["engine"]

[[record]]
name = "server_args"
accessors = ["engine.context.get_server_args"]
holders = ["server_args"]
owners = ["engine/context.py"]
"""
CONTEXT = "def get_server_args():\n    return None\n"
MODULE = '''\
"""A module without a trigger."""

from __future__ import annotations

import math


class Shape:
    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: list[int] = []

    def area(self) -> float:
        self.rows.append(self.width)
        return math.sqrt(self.width)


def scaled(values, factor):
    found = []
    for value in values:
        found.append(value * factor)
    return found
'''


def main() -> int:
    """Measure and print; the ratio is of two neighbours in time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=21)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "engine").mkdir()
        (folder / "ratchets.toml").write_text(CONFIGURATION)
        (folder / "engine" / "context.py").write_text(CONTEXT)
        files = [f"engine/shape{number}.py" for number in range(5)]
        for file in files:
            (folder / file).write_text(MODULE)
        clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True, env=clean)
        script = [str(Path(sys.executable).with_name("confbag")), "ratchet", "check"]
        # The full run, whose facts the partial ones may ask for.
        seconds(script, folder)
        return compare(
            ("python -c pass", [sys.executable, "-c", "pass"]),
            ("confbag ratchet check of five files", [*script, *files]),
            limit=LIMIT,
            pairs=args.pairs,
            folder=folder,
        )


if __name__ == "__main__":
    raise SystemExit(main())
