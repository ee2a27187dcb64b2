"""The ratchets on an unpacked SGLang wheel: findings, times, memory, a naive scan, and every read accounted for.

Run `python tests/bench/ratchets.py FOLDER`, where FOLDER holds `sglang/` (`pip download --no-deps sglang==0.5.23`,
unpacked). Each measurement is a process of its own on `sglang/srt`; `--naive` adds the scan that parses everything
with `ast`, keeps the trees and walks each (half a minute). `--account` only accounts: it exits 1 where a line of the
whole package that looks like a read of a record (`server_args.name`) is neither a finding nor explained: an owner, a
comment or string, an import, a receiver whose class declares the attribute as something else, a stand-in of a test.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import accounting

from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.analysis.engine import Analysis, analyse
from confbag.ratchets.config.file import load
from confbag.ratchets.configuration import DEFAULT_CODES, Configuration, RecordSpec

OWNERS = ("sglang/srt/runtime_context.py", "sglang/srt/server_args.py", "sglang/srt/arg_groups")
RECORD = RecordSpec(
    "server_args",
    accessors=("sglang.srt.runtime_context.get_server_args",),
    types=("sglang.srt.server_args.ServerArgs",),
    holders=("server_args",),
    owners=OWNERS,
)
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ratchets" / "sglang"


def files(root: Path) -> list[str]:
    """Every module of the package, as the engine names files."""
    return sorted(path.relative_to(root).as_posix() for path in (root / "sglang" / "srt").rglob("*.py"))


def analysed(root: Path, codes: tuple[str, ...], cache: Path | None) -> Analysis:
    """One full run with two workers."""
    configuration = Configuration(root=root, repository=root, codes=codes, records=(RECORD,))
    held = Cache(cache) if cache is not None else None
    return analyse(configuration, files(root), read=lambda path: (root / path).read_bytes(), cache=held, jobs=2)


def naive(root: Path) -> int:
    """Parse everything, keep the trees, walk each."""
    trees = [ast.parse((root / path).read_bytes()) for path in files(root)]
    return sum(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "server_args"
        for tree in trees
        for node in ast.walk(tree)
    )


def measured(root: Path, what: str, cache: str) -> dict[str, float]:
    """One measurement in a process of its own, and the most memory that it and its workers held together."""
    command = [sys.executable, __file__, str(root), "--measure", what, "--cache", cache]
    most = 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            most = max(most, held(process.pid))
            time.sleep(0.25)  # a look at shared memory stops the process that is looked at
        assert process.stdout is not None
        told = process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return {**json.loads(told), "together": most}


def held(pid: int) -> float:
    """MB of a process and its children, what they share counted once; 0 where there is no /proc or no process."""
    total = 0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (str(pid), *children):
            found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE)
            total += int(found[1]) if found else 0
    except OSError:
        # It ended while it was looked at.
        return 0.0
    return total / 1024


def measure(root: Path, what: str, cache: Path | None) -> None:
    """The life of such a process."""
    start = time.perf_counter()
    if what == "naive":
        found = naive(root)
    else:
        codes = DEFAULT_CODES if what == "all" else (what,)
        found = len(analysed(root, codes, cache).findings)
    seconds = time.perf_counter() - start
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    numbers = {
        "seconds": seconds,
        "user": own.ru_utime + children.ru_utime,
        "peak": max(own.ru_maxrss, children.ru_maxrss) / 1024,
        "found": found,
    }
    print(json.dumps(numbers))


def account(root: Path) -> int:
    """Each line of the whole package that looks like a read, and what became of it; how many are not explained."""
    configuration = replace(example(root), codes=DEFAULT_CODES)
    paths = sorted(path.relative_to(root).as_posix() for path in (root / "sglang").rglob("*.py"))
    analysis = analyse(configuration, paths, read=lambda path: (root / path).read_bytes(), jobs=2)
    print(f"{len(paths)} files, {len(analysis.unanalysed)} not analysed")
    for part in ("sglang/srt/", "sglang/multimodal_gen/", "sglang/"):
        found = Counter(each.code for each in analysis.findings if each.path.startswith(part))
        print(f"{part:24}", ", ".join(f"{code} {number}" for code, number in sorted(found.items())))
    counts, left = accounting.account(root, paths, configuration, analysis.findings)
    for kind, number in counts.most_common():
        print(f"{number:6} {kind}")
    left += [f"{each.path}: not analysed: {each.reason}" for each in analysis.unanalysed]
    print("\n".join(left))
    return len(left)


def example(root: Path) -> Configuration:
    """The configuration that is ready made for the package, as if it stood beside it."""
    with tempfile.TemporaryDirectory() as folder:
        for file in EXAMPLE.iterdir():
            shutil.copy(file, folder)
        Path(folder, "sglang").symlink_to(root / "sglang")
        loaded = load(Path(folder, "ratchets.toml"))
    return replace(loaded, root=root, repository=root)


def main() -> int:
    """Measure, compare and account."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--account", action="store_true")
    parser.add_argument("--measure")
    parser.add_argument("--cache", default="")
    args = parser.parse_args()
    root = args.folder.resolve()
    if args.measure:
        measure(root, args.measure, Path(args.cache) if args.cache else None)
        return 0
    if args.account:
        return 1 if account(root) else 0
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            "CB101 cold": measured(root, "CB101", f"{folder}/one"),
            "CB101 warm": measured(root, "CB101", f"{folder}/one"),
            "default rules cold": measured(root, "all", f"{folder}/all"),
            "default rules warm": measured(root, "all", f"{folder}/all"),
        }
        if args.naive:
            rows["naive scan"] = measured(root, "naive", "")
    base = rows.get("naive scan", {}).get("user")
    print(f"{'':20} {'seconds':>8} {'user s':>8} {'peak MB':>8} {'all MB':>8} {'findings':>9} {'times faster':>13}")
    for name, row in rows.items():
        ratio = f"{base / row['user']:13.1f}" if base else ""
        sizes = f"{row['peak']:8.0f} {row['together']:8.0f}"
        print(f"{name:20} {row['seconds']:8.2f} {row['user']:8.2f} {sizes} {row['found']:9.0f} {ratio}")
    return 1 if account(root) else 0


if __name__ == "__main__":
    raise SystemExit(main())
