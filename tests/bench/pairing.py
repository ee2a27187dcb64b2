"""Two processes timed in interleaved pairs, so that a busy machine slows both sides."""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path


def seconds(command: list[str], folder: Path | None = None) -> float:
    """Run one process to its end, which must be a success, and return how long it took."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def compare(
    base: tuple[str, list[str]], ours: tuple[str, list[str]], limit: float, pairs: int, folder: Path | None = None
) -> int:
    """Print both medians and the ratio of neighbours in time; 1 when its median is over the limit. Each side is a name
    and a command."""
    for _, command in (base, ours):
        seconds(command, folder)
    times = [(seconds(base[1], folder), seconds(ours[1], folder)) for _ in range(pairs)]
    ratios = sorted(second / first for first, second in times)
    median = statistics.median(ratios)
    first, second = (statistics.median(side) * 1000 for side in zip(*times, strict=True))
    print(f"{base[0]} {first:.0f} ms, {ours[0]} {second:.0f} ms")
    print(f"ratio min {ratios[0]:.2f}, median {median:.2f}, max {ratios[-1]:.2f} (at most {limit})")
    return 0 if median <= limit else 1
