"""The mini engine as a process: what it prints, and how it ends when the configuration or the machine is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mini_engine.main import main

ROOT = Path(__file__).parents[2]
CONFIG = "examples/configs/cpu-laptop.yaml"
Fail = Callable[..., tuple[int, str]]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mini_engine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unpublished: None) -> Fail:
    """Run the command in this process and expect it to fail: (exit status, what it told). It prints nothing else."""
    monkeypatch.chdir(ROOT)

    def fail(*arguments: str) -> tuple[int, str]:
        try:
            status = main([CONFIG, *arguments])
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        out, told = capsys.readouterr()
        assert out == ""
        return status, told

    return fail


def test_it_serves_and_says_what_ran() -> None:
    ran = _run(
        CONFIG, "--prompt", "ab" * 12, "--prompt", "\N{SNOWMAN}\x1b[31m", "--requests", "3", "--max-new-tokens", "9"
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"attention@draft +torch_native", ran.stdout)
    assert re.search(r"speculative\.draft_extend_fill +reference", ran.stdout)
    assert ran.stdout.count("\n    -> b") == 3
    assert "b'abababababababababababab'" in ran.stdout
    assert r"b'\xe2\x98\x83\x1b[31m'" in ran.stdout
    assert ran.stdout.isascii()
    assert re.search(r"served 3 requests: 27 tokens in \d+ steps \(.*1 prefill.*\), \d+ tokens per second", ran.stdout)
    assert re.search(r"speculation: 4 tokens a window, \d+ of \d+ guesses right, acceptance rate \d+%", ran.stdout)


def test_without_speculation_the_same_text_in_more_steps() -> None:
    off = ["--set", "spec.algorithm=none", "--set", "spec.topk=null", "--set", "spec.num_draft_tokens=null"]
    guessed, plain = _run(CONFIG), _run(CONFIG, *off)
    assert (guessed.returncode, plain.returncode) == (0, 0), guessed.stderr + plain.stderr
    texts = [re.findall(r"^ +-> (b.*)$", ran.stdout, re.MULTILINE) for ran in (guessed, plain)]
    assert len(texts[0]) == 8
    assert texts[0] == texts[1]
    steps = [int(re.search(r"tokens in (\d+) steps", ran.stdout)[1]) for ran in (guessed, plain)]  # type: ignore[index]
    assert steps[0] < steps[1]
    assert "speculation: none" in plain.stdout
    assert "draft_extend_fill" not in plain.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "exec.deterministc=true"], "exec.deterministc"),
        (["no-such-file.yaml"], "no-such-file.yaml"),
        (["--set", "exec.kernels.pin={kvcache.last_lock: triton}"], "kvcache.last_loc"),
        (["--set", "model.path=meta-llama/Llama-3.1-8B"], "--set: model.path: is 'meta-llama/Llama-3.1-8B'; the mini"),
        (["--set", "parallel.tp_size=2"], "--set: parallel.tp_size: is 2; the mini engine is one process; write 1"),
        (
            ["--set", "memory.radix_cache=true", "--set", "exec.deterministic=false"],
            "the mini engine shares no prefixes",
        ),
        (["--set", "spec.algorithm=EAGLE"], "write NGRAM or none"),
        (["--set", "spec.num_draft_tokens=1"], "which leaves no guess; write 2 or more"),
        (["--set", "spec.num_steps=5"], "4 draft tokens are 3 steps"),
        (["--set", "model.head_dim=15"], "rotary positions turn pairs; write an even number"),
        (["--set", "model.num_heads=null"], "model.num_heads: is None; the mini engine needs a number"),
        (["--set", "model.num_kv_heads=3"], "it does not divide the 4 query heads"),
        (["--set", "model.num_heads=4096"], "4096 heads of 16 are wider than the 512"),
        (["--prompt", ""], "request 0: the prompt is empty"),
        (["--prompt", "x" * 2000], "do not fit a context of 1024"),
        (["--set", "serve.pages=1"], "the pool has 1; shorten it or raise serve.pages"),
        (["--requests", "0"], "'0' is not a number from 1"),
        (["--temperature", "nan"], "'nan' is not a number from 0"),
        (["--max-new", "3"], "unrecognized arguments: --max-new 3"),
    ],
)
def test_configuration_errors_exit_2(fail: Fail, arguments: list[str], message: str) -> None:
    status, told = fail(*arguments)
    assert status == 2
    assert message in told


def test_every_refusal_is_told_at_once(fail: Fail) -> None:
    settings = ["parallel.tp_size=2", "parallel.pp_size=4", "spec.algorithm=EAGLE"]
    # Another engine need not be installed to be told that this one sends nothing.
    settings += ["disagg.mode=decode", "disagg.transfer_backend=reference"]
    status, told = fail(*(part for setting in settings for part in ("--set", setting)))
    assert status == 2
    assert {line.split(": ")[1] for line in told.splitlines()} == {
        "parallel.pp_size",
        "parallel.tp_size",
        "disagg.mode",
        "spec.algorithm",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "exec.attention.backend=fa3"], "fa3"),
        (["--set", "exec.graph=true"], "exec.graph"),
        (["--set", "exec.kernels.pin={kvcache.last_loc: triton}"], "triton"),
        (["--set", "spec.topk=4"], "topk"),
    ],
)
def test_what_no_plan_satisfies_exits_3(fail: Fail, arguments: list[str], message: str) -> None:
    status, told = fail(*arguments)
    assert status == 3
    assert message in told


def test_a_process_ends_with_the_status_and_no_traceback() -> None:
    wrong = (
        (2, "exec.deterministc=true", "exec.deterministic"),
        (3, "exec.attention.backend=fa3", "attention@prefill"),
    )
    for status, setting, told in wrong:
        ran = _run(CONFIG, "--set", setting)
        assert (ran.returncode, ran.stdout) == (status, "")
        assert told in ran.stderr
        assert "Traceback" not in ran.stderr
