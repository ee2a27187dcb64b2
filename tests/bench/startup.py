"""The whole-process time of `confbag plan` as a ratio of importing yaml and pydantic on the same interpreter.

Pairs are interleaved, so that a busy machine slows both sides. Exit status 1 when the median ratio is over the limit.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 3.0
CONFIG = Path(__file__).resolve().parents[2] / "examples" / "configs" / "ascend-deepseek-v4.yaml"
PLAN = ["-m", "confbag", "plan", str(CONFIG), "--platform", "npu:ascend910_93"]
BASELINE = ["-c", "import yaml; from pydantic import BaseModel"]


def seconds(python: str, arguments: list[str]) -> float:
    """Run one process to its end, which must be a success, and return how long it took."""
    start = time.perf_counter()
    subprocess.run([python, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Measure and print; the ratio is of two neighbours in time."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to measure (default: this one)")
    parser.add_argument("--pairs", type=int, default=15)
    args = parser.parse_args()
    for arguments in (BASELINE, PLAN):
        seconds(args.python, arguments)
    pairs = [(seconds(args.python, BASELINE), seconds(args.python, PLAN)) for _ in range(args.pairs)]
    ratios = sorted(plan / baseline for baseline, plan in pairs)
    median = statistics.median(ratios)
    baseline, plan = (statistics.median(side) * 1000 for side in zip(*pairs, strict=True))
    print(f"baseline {baseline:.0f} ms, plan {plan:.0f} ms")
    print(f"ratio min {ratios[0]:.2f}, median {median:.2f}, max {ratios[-1]:.2f} (at most {LIMIT})")
    return 0 if median <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
