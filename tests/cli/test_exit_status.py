"""The exit statuses of the command, and what it says with each: every fault at once, never a traceback."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from confbag.cli import COMMANDS

Run = Called = Callable[..., "CompletedProcess[str]"]
NPU = ("--platform", "npu:ascend910_93")
BOMB = "x-a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"x-{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def refused(ran: CompletedProcess[str]) -> list[str]:
    """The lines of a refusal: exit 2, nothing planned, no traceback."""
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    assert "internal error" not in ran.stderr
    lines = ran.stderr.splitlines()
    assert lines
    return lines


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("exec:\n  determinstic: true\n", ":2:3: exec.determinstic: unknown key; did you mean exec.deterministic?"),
        ("exec:\n  deterministic: yes\n", ":2:3: exec.deterministic: "),
        ("exec:\n  graph: true\n  graph: false\n", "graph: duplicate key, the first one is at "),
        (b"exec:\n  graph: \xff\xfe\n", "UTF-8"),
        (BOMB, "alias"),
        ("exec: [\n", ":2:1: "),
        ("attention_backend: fa3\n", ":1:1: attention_backend: "),
        ("attention_backend: fa3\n", "exec.attention.backend"),
        ("exec:\n  attention:\n    backend: flashinfr\n", ":3:5: exec.attention.backend: "),
        ("exec:\n  attention:\n    backend: flashinfr\n", "did you mean flashinfer?"),
        ("exec:\n  kernels:\n    pin:\n      kvcache.lastloc: triton\n", "did you mean kvcache.last_loc?"),
        ("exec:\n  kernels:\n    pin:\n      kvcache.last_loc: tritn\n", "did you mean triton?"),
        ("exec:\n  kernels:\n    pin:\n      attention@verify: fa3\n", "unknown phase of attention 'verify'"),
    ],
)
def test_a_wrong_file_is_refused_at_its_place(
    called: Called, config: Callable[[str | bytes], Path], content: str | bytes, said: str
) -> None:
    path = config(content)
    lines = refused(called("plan", path, *NPU))
    assert any(str(path) in line and said in line for line in lines), lines


def test_every_fault_is_said_at_once(confbag: Run, config: Callable[[str], Path]) -> None:
    path = config("exec:\n  determinstic: true\n  attention:\n    decode: fa33\nmemory:\n  page_size: big\n")
    env = {"CONFBAG__EXEC__GRPH": "true", "CONFBAG__ATTENTION_BACKEND": "fa3"}
    ran = confbag("plan", path, "--set", "spec.topk=0", "--preset", "debugg", "--platform", "npu:ascend910", env=env)
    said = "\n".join(refused(ran))
    for part in (
        f"{path}:2:3: exec.determinstic",
        f"{path}:4:",
        f"{path}:6:",
        "CONFBAG__EXEC__GRPH",
        "CONFBAG__EXEC__ATTENTION__BACKEND",
        "spec.topk",
        "preset: unknown preset 'debugg'; did you mean debug?",
        "--platform: ",
        "did you mean npu:ascend910b?",
    ):
        assert part in said


def test_what_is_no_file_is_refused(called: Called, confbag: Run, tmp_path: Path) -> None:
    assert "nope.yaml" in refused(called("plan", tmp_path / "nope.yaml"))[0]
    assert str(tmp_path) in refused(called("plan", tmp_path))[0]
    big = tmp_path / "big.yaml"
    with open(big, "wb") as file:
        file.truncate(100 * 1024 * 1024)
    assert "big.yaml" in refused(confbag("plan", big))[0]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["plan", "--platform", "npu:ascend910"], "npu:ascend910"),
        (["plan", "--platform", "nope.yaml"], "nope.yaml"),
        (["plan", "--preset", "deterministc"], "deterministic"),
        (["plan", "--set", "exec.graph"], "exec.graph"),
        (["plan", "--set", "exec.kernels.pin={kvcache.last_lc: triton}"], "kvcache.last_loc"),
        (["plan", "--model", "nope.json"], "nope.json"),
        (["plan", "--format", "xml"], "table"),
        (["plan", "--plat", "this"], "--platform"),
        (["why"], "SLOT|KEY"),
        (["why", "attention@verify"], "write one of decode, draft, prefill"),
        (["why", "exec.determinstic"], "exec.deterministic"),
        (["why", "kvcache.lastloc"], "kvcache.last_loc"),
        (["why", "exec.attention"], "exec.attention.decode"),
        (["why", "attention_backend"], "exec.attention.backend"),
        (["schema", "--plan", "--accessors"], "--accessors"),
        (["plna"], "plan"),
        (["rachet"], "did you mean ratchet?"),
    ],
)
def test_wrong_usage_names_what_to_write(called: Called, argv: list[str], said: str) -> None:
    assert said in "\n".join(refused(called(*argv)))


def test_an_unknown_option_is_named_without_its_value(confbag: Run) -> None:
    ran = confbag("plan", "--set", "exec.graph=false", "--token=hunter2", "--api-key=s3cret")
    assert refused(ran)[0].startswith("confbag plan: unknown options --token, --api-key; ")
    assert "hunter2" not in ran.stderr
    assert "s3cret" not in ran.stderr
    assert "hunter2" not in confbag("--token=hunter2").stderr


def test_no_command_is_usage(confbag: Run) -> None:
    assert any("plan" in line for line in refused(confbag()))


def test_help_and_version_are_done(confbag: Run, called: Called) -> None:
    ran = confbag("--help")
    assert ran.returncode == 0
    listed = re.findall(r"^    ([a-z]+)  ", ran.stdout, flags=re.MULTILINE)
    assert listed == list(COMMANDS)
    for command in listed:
        shown = called(command, "--help")
        assert shown.returncode == 0
        assert f"usage: confbag {command} " in shown.stdout
    assert called("--version").stdout == f"confbag {version('confbag')}\n"


def test_files_and_options_in_any_order(called: Called, config: Callable[[str], Path], tmp_path: Path) -> None:
    first = config("exec:\n  graph: true\n")
    second = tmp_path / "second.yaml"
    second.write_text("memory:\n  page_size: 64\n")
    one = called("plan", first, second, "--set", "exec.compile=true", *NPU, "--format", "json")
    other = called("plan", "--set", "exec.compile=true", first, "--format", "json", *NPU, second)
    assert one.stdout == other.stdout != ""
    config_of = json.loads(one.stdout)["config"]
    assert config_of["exec.graph"] == {"value": True, "origin": f"{first}:2:3"}
    assert config_of["memory.page_size"]["value"] == 64
    assert config_of["exec.compile"] == {"value": True, "origin": "--set"}


def test_nothing_satisfies_the_plan(confbag: Run, called: Called, config: Callable[[str], Path]) -> None:
    path = config("exec:\n  attention:\n    decode: fa3\n")
    ran = confbag("plan", path, *NPU)
    assert ran.returncode == 3
    assert "NOTHING SATISFIES THIS PLAN" in ran.stdout
    assert f"{path}:3:5" in ran.stdout.replace("\n", "").replace(" ", "")
    assert ran.stderr.startswith("confbag: nothing satisfies this plan (")
    for format in ("json", "markdown", "html"):
        again = called("plan", path, *NPU, "--format", format)
        assert again.returncode == 3
        assert "fa3" in again.stdout
    assert called("why", "attention@decode", path, *NPU).returncode == 3


def test_warnings_count_only_with_strict(called: Called) -> None:
    asked = ("plan", "--platform", "xpu:pvc", "--set", "exec.compile=true", "--preset", "reference")
    plain = called(*asked)
    assert plain.returncode == 0
    assert "\nWARNINGS\n" in plain.stdout
    assert plain.stderr == ""
    strict = called(*asked, "--strict")
    assert strict.returncode == 3
    assert strict.stdout == plain.stdout
    assert strict.stderr.startswith("confbag: --strict: ")
    assert called("plan", *NPU, "--strict").returncode == 0


def test_a_reader_that_leaves_is_no_error(environment: Callable[..., dict[str, str]], root: Path) -> None:
    command = [sys.executable, "-m", "confbag", "plan", "--format", "json", *NPU]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=root)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert said == b""


@pytest.mark.parametrize("argv", [("plan", *NPU), ("plan", *NPU, "--all"), ("why", "exec.graph"), ("schema", "--plan")])
def test_a_full_disk_is_said(environment: Callable[..., dict[str, str]], root: Path, argv: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "confbag", *argv]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(), cwd=root, check=False)
    assert ran.returncode == 74
    assert ran.stderr.decode().startswith("confbag: cannot write to standard output: ")
    assert ran.stderr.count(b"\n") == 1


def test_an_interrupt_ends_quietly(environment: Callable[..., dict[str, str]], root: Path) -> None:
    script = (
        "import sys, confbag.cli.plan as plan\n"
        "def run(args):\n"
        "    print('started', flush=True)\n"
        "    import time; time.sleep(60)\n"
        "plan.run = run\n"
        "from confbag.cli import main\n"
        "sys.exit(main(['plan']))\n"
    )
    command = [sys.executable, "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment(), cwd=root) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"started\n"
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert said == b""


def test_a_bug_is_told_apart_and_shows_no_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import confbag.cli.plan
    from confbag.cli import main

    def broken(_args: object) -> int:
        raise ValueError("hunter2")

    monkeypatch.setattr(confbag.cli.plan, "run", broken)
    monkeypatch.delenv("CONFBAG_TRACEBACK", raising=False)
    assert main(["plan"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("confbag: internal error: ValueError at test_exit_status.py:")
    assert "hunter2" not in said
    monkeypatch.setenv("CONFBAG_TRACEBACK", "1")
    assert main(["plan"]) == 70
    assert "Traceback" in capsys.readouterr().err
