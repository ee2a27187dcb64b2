"""The whole-process time of `confbag plan` as a ratio of importing yaml and pydantic on the same interpreter.

Pairs are interleaved, so that a busy machine slows both sides. Exit status 1 when the median ratio is over the limit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from pairing import compare

LIMIT = 2.5
CONFIG = Path(__file__).resolve().parents[2] / "examples" / "configs" / "ascend-deepseek-v4.yaml"
COMPILE = """
import compileall, confbag, confbag.backends, confbag.kernels
for package in (confbag, confbag.backends, confbag.kernels):  # the links are not followed
    compileall.compile_dir(package.__path__[0], quiet=2)
"""
PLAN = ["-m", "confbag", "plan", str(CONFIG), "--platform", "npu:ascend910_93"]
BASELINE = ["-c", "import yaml; from pydantic import BaseModel"]


def main() -> int:
    """Measure and print; the ratio is of two neighbours in time."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to measure (default: this one)")
    parser.add_argument("--pairs", type=int, default=21)
    args = parser.parse_args()
    # Where PYTHONDONTWRITEBYTECODE is set, what was edited would be compiled anew at every start.
    subprocess.run([args.python, "-c", COMPILE], check=True)
    return compare(
        ("baseline", [args.python, *BASELINE]), ("plan", [args.python, *PLAN]), limit=LIMIT, pairs=args.pairs
    )


if __name__ == "__main__":
    raise SystemExit(main())
