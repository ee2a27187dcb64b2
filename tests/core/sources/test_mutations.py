"""Two thousand damaged files: always an answer, never a traceback, never a secret, nothing that grows without bound."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from confbag.sources.keys import Keys
from confbag.sources.yaml import read_text

CORPUS = Path(__file__).parents[2] / "corpus" / "sources"
SECRETS = ("hunter2-S3cr3t", "sk-live-51HxQ")
SPLICES = [
    b"&a ",
    b"*a",
    b"<<: ",
    b": ",
    b"? ",
    b"- ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"'",
    b'"',
    b"|\n",
    b">-\n",
    b"!!int ",
    b"!x ",
]
SPLICES += [
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"#",
    b"\t",
    b"\r",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xc2\x85",
    b"\n" * 3,
]
SPLICES += [b"exec:\n  ", b"0x", b"1e999", b"\\U00110000", b"," * 20, b"[" * 40]


def seeds() -> list[bytes]:
    files = sorted(CORPUS.glob("*.yaml"))
    assert files
    return [file.read_bytes() for file in files]


def mutated(seed: int) -> bytes:
    """The same bytes for the same seed, so that a number is all that a failure needs to be told."""
    chance = random.Random(seed)
    content = bytearray(chance.choice(seeds()))
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(content) + 1)
        end = min(len(content), at + chance.choice((1, 2, 5, 30)))
        action = chance.randrange(6)
        if action == 0:
            content[at:end] = b""
        elif action == 1:
            content[at:at] = chance.choice(SPLICES)
        elif action == 2:
            content[at:end] = bytes(chance.randrange(*chance.choice(((32, 127), (0, 256)))) for _ in range(end - at))
        elif action == 3:
            content[at:at] = content[at:end] * chance.randint(1, 50)
        elif action == 4:
            content[at:end] = chance.choice(SPLICES) * chance.randint(1, 3)
        elif len(content) > 1:
            other = chance.randrange(len(content))
            content[at:end], content[other : other + 5] = content[other : other + 5], content[at:end]
    return bytes(content)


def check(content: bytes, keys: Keys) -> None:
    found = read_text(content, "f.yaml", keys)
    said = "\n".join(map(str, found.faults))
    assert not any(secret in said for secret in SECRETS)
    assert len(found.faults) <= 402
    assert all(fault.message and str(fault).isprintable() for fault in found.faults)
    assert {setting.key for setting in found.settings} <= set(keys.leaves)


@pytest.mark.parametrize("block", range(20))
def test_mutated_files(block: int, keys: Keys) -> None:
    for seed in range(block * 100, block * 100 + 100):
        try:
            check(mutated(seed), keys)
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.parametrize("block", range(3))
def test_mutated_files_without_libyaml(block: int, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    test_mutated_files(block, keys)


@given(content=st.binary(max_size=200))
@example(b"%YAML 1.1\n---\n- &a *a")
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
@example(b"a: \xf0\x90\x80\x80 \xed\xa0\x80")
def test_any_bytes(keys: Keys, content: bytes) -> None:
    check(content, keys)


@given(text=st.text(st.sampled_from("{}[]:,&*!|>'\"%@`#-?<>ab \n\t~01.e"), max_size=60))
def test_any_punctuation(keys: Keys, text: str) -> None:
    check(text.encode(), keys)


def test_the_mutations_reach_both_ends(keys: Keys) -> None:
    """Many of the mutated files must still be read, and many must not: else the test above tests one thing only."""
    found = [read_text(mutated(seed), "f", keys) for seed in range(300)]
    assert sum(bool(one.settings) for one in found) > 75
    assert sum(not one.settings for one in found) > 75
