"""Damaged configuration files through the command: it plans or refuses, and never fails or tells a secret.

A seed that ever failed stays in SEEDS.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

Run = Callable[..., "CompletedProcess[str]"]
SECRET = "hunter2-hunter2"
SEEDS = range(50)
CUDA = ("--platform", "cuda:sm90")
IN_PROCESS = range(1000, 1300)
TOKENS = (
    *(b"{", b"}", b"[", b"]", b": ", b"- ", b"&a ", b"*a", b"<<: *a", b"!!python/object:os.system ", b"|\n", b">-\n"),
    *(b"'", b'"', b"#", b"%YAML 1.1\n", b"---\n", b"...\n", b"\t", b"\r", b"\0", b"\x1b[2J", b"\xff", b"\xef\xbb\xbf"),
    *("\u2028".encode(), "\u202e".encode(), "é".encode(), b"null", b"~", b".inf", b".nan", b"1e999", b"9" * 400),
    *(b"0x", b"true", b"auto", b"exec:\n", b"  pin: {attention: 1}\n", b"preset: deterministic\n", b"x-a: &a [1]\n"),
)


def mutated(seed: int, texts: list[bytes]) -> bytes:
    """An example configuration, every second with a planted secret, and a few of its bytes or lines changed."""
    chance = random.Random(seed)
    planted = b"\nacme:\n  token: " + SECRET.encode() + b"\n"
    text = bytearray(chance.choice(texts) + (planted if seed % 2 else b""))
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(text) + 1)
        match chance.randrange(5):
            case 0:
                text[place:place] = chance.choice(TOKENS)
            case 1:
                del text[place : place + chance.randint(1, 12)]
            case 2 if place < len(text):
                text[place] = chance.randrange(256)
            case 3:
                lines = bytes(text).splitlines(keepends=True) or [b""]
                line = chance.randrange(len(lines))
                lines[line:line] = [chance.choice(lines)] * chance.randint(1, 3)
                text = bytearray(b"".join(lines))
            case _:
                lines = bytes(text).splitlines(keepends=True)
                chance.shuffle(lines)
                text = bytearray(b"".join(lines))
    return bytes(text)


def files(seeds: range, examples: Path, into: Path) -> Iterator[Path]:
    """A file for each seed."""
    texts = [path.read_bytes() for path in sorted(examples.glob("*.yaml"))]
    for seed in seeds:
        path = into / f"{seed}.yaml"
        path.write_bytes(mutated(seed, texts))
        yield path


def judge(ran: CompletedProcess[str], path: Path) -> None:
    """What holds for every file: a known exit status, an answer or reasons, one line a fault, nothing told."""
    said = f"{path.name}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    assert ran.returncode in (0, 2, 3), said
    assert "Traceback" not in ran.stderr, said
    assert SECRET not in ran.stdout + ran.stderr, said
    assert "\x1b" not in ran.stdout + ran.stderr, said
    if ran.returncode == 2:
        assert ran.stdout == "", said
        assert ran.stderr.strip(), said
        assert all(path.name in line for line in ran.stderr.splitlines()), said
    else:
        assert "OP  " in ran.stdout, said


def test_mutated_files_through_the_command(confbag: Run, examples: Path, tmp_path: Path) -> None:
    paths = list(files(SEEDS, examples, tmp_path))
    with ThreadPoolExecutor(2) as pool:
        for path, ran in zip(paths, pool.map(lambda path: confbag("plan", path, *CUDA), paths), strict=True):
            judge(ran, path)


def test_mutated_files_in_this_process(called: Run, examples: Path, tmp_path: Path) -> None:
    for path in files(IN_PROCESS, examples, tmp_path):
        judge(called("plan", path, "--platform", "npu:ascend910_93"), path)
