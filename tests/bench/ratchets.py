"""The ratchets on an unpacked SGLang wheel: findings, times, memory, a naive scan, and every read accounted for.

Run `python tests/bench/ratchets.py FOLDER`, where FOLDER holds `sglang/` (`pip download --no-deps sglang==0.5.23`,
unpacked). Each measurement is a process of its own on `sglang/srt`; `--naive` adds the scan that parses everything
with `ast`, keeps the trees and walks each (half a minute). It exits 1 where a line that looks like a read of the record
(`server_args.name`) is neither a finding nor explained: an owner, a comment or string, an import, or a receiver whose
class declares the attribute as something else.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from pathlib import Path

from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.analysis.engine import Analysis, analyse
from confbag.ratchets.configuration import DEFAULT_CODES, Configuration, RecordSpec

OWNERS = ("sglang/srt/runtime_context.py", "sglang/srt/server_args.py", "sglang/srt/arg_groups")
RECORD = RecordSpec(
    "server_args",
    accessors=("sglang.srt.runtime_context.get_server_args",),
    types=("sglang.srt.server_args.ServerArgs",),
    holders=("server_args",),
    owners=OWNERS,
)
READ = re.compile(r"\bserver_args\.[a-z_]")
DECLARED = re.compile(r"\breq\.server_args\.items\(\)")


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
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, str(root), "--measure", what, "--cache", cache]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


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
    """Each line that looks like a read, and what became of it; how many are not explained."""
    analysis = analysed(root, DEFAULT_CODES, None)
    print(f"{len(analysis.unanalysed)} files not analysed", dict(Counter(each.code for each in analysis.findings)))
    found = {(each.path, each.line) for each in analysis.findings if each.code in ("CB101", "CB102", "CB103", "CB111")}
    counts: Counter[str] = Counter()
    left: list[str] = []
    for path in files(root):
        text = (root / path).read_text(encoding="utf-8")
        if not READ.search(text):
            continue
        strings: set[int] = set()
        comments: dict[int, int] = {}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                strings.update(range(token.start[0], token.end[0] + 1))
            elif token.type == tokenize.COMMENT:
                comments[token.start[0]] = token.start[1]
        for number, line in enumerate(text.splitlines(), 1):
            match = READ.search(line)
            if match is None:
                continue
            if (path, number) in found:
                counts["finding"] += 1
            elif any(path == owner or path.startswith(owner + "/") for owner in OWNERS):
                counts["owner"] += 1
            elif comments.get(number, len(line)) <= match.start():
                counts["comment"] += 1
            elif number in strings:
                counts["string"] += 1
            elif re.match(r"\s*(from|import)\b", line):
                counts["import"] += 1
            elif DECLARED.search(line):
                counts["declared as a dict by the receiver's class"] += 1
            else:
                left.append(f"{path}:{number}: {line.strip()}")
    print("lines with server_args.x:", dict(counts), "not explained:", len(left))
    print("\n".join(left))
    return len(left)


def main() -> int:
    """Measure, compare and account."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--measure")
    parser.add_argument("--cache", default="")
    args = parser.parse_args()
    root = args.folder.resolve()
    if args.measure:
        measure(root, args.measure, Path(args.cache) if args.cache else None)
        return 0
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
    print(f"{'':20} {'seconds':>8} {'user s':>8} {'peak MB':>8} {'findings':>9} {'times faster':>13}")
    for name, row in rows.items():
        ratio = f"{base / row['user']:13.1f}" if base else ""
        print(f"{name:20} {row['seconds']:8.2f} {row['user']:8.2f} {row['peak']:8.0f} {row['found']:9.0f} {ratio}")
    return 1 if account(root) else 0


if __name__ == "__main__":
    raise SystemExit(main())
