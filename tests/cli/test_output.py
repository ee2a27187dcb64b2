"""What the command prints: 80 columns, the same in a pipe and a terminal, in any locale, and JSON after its schema."""

from __future__ import annotations

import importlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema
import pytest

Run = Called = Callable[..., "CompletedProcess[str]"]
NPU = ("--platform", "npu:ascend910_93")
WHY = (
    "attention",
    "attention@decode",
    "kvcache.last_loc",
    "exec.deterministic",
    "exec.attention.backend",
    "memory.page_size",
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(argv: Sequence[str | Path], env: dict[str, str], cwd: Path) -> tuple[int, str]:
    """Run a command whose stdout is a terminal; its exit status and what the terminal was sent."""
    parent, child = pty.openpty()
    process = subprocess.Popen([str(word) for word in argv], stdout=child, stdin=subprocess.DEVNULL, env=env, cwd=cwd)
    os.close(child)
    sent = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # how Linux says that the other end was closed
            break
        if not part:
            break
        sent += part
    os.close(parent)
    return process.wait(60), sent.decode().replace("\r\n", "\n")


def test_the_same_text_in_a_pipe_and_a_terminal(
    confbag: Run, examples: Path, root: Path, environment: Callable[..., dict[str, str]]
) -> None:
    asked = ("plan", examples / "ascend-deepseek-v4.yaml", *NPU)
    piped = confbag(*asked)
    assert piped.returncode == 0, piped.stderr
    command = [sys.executable, "-m", "confbag", *asked]
    status, coloured = on_a_terminal(command, environment({"TERM": "xterm-256color", "COLUMNS": "40"}), root)
    assert status == 0
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == piped.stdout
    for extra in ({"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}):
        assert on_a_terminal(command, environment(extra), root) == (0, piped.stdout)


@pytest.mark.parametrize("flags", [(), ("--all",)])
def test_every_line_fits_80_columns(called: Called, examples: Path, flags: tuple[str, ...]) -> None:
    for config in sorted(examples.glob("*.yaml")):
        for platform in ("npu:ascend910_93", "cuda:sm90", "xpu:bmg", "cpu:x86_64"):
            ran = called("plan", config, "--platform", platform, *flags)
            assert ran.returncode in (0, 3), ran.stderr
            assert [line for line in ran.stdout.splitlines() if len(line) > 80 or line != line.rstrip()] == []
            assert ran.stdout.isascii()


@pytest.mark.parametrize("subject", WHY)
def test_a_story_is_at_most_a_screen(called: Called, examples: Path, subject: str) -> None:
    ran = called("why", subject, examples / "ascend-deepseek-v4.yaml", *NPU)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(subject)


def test_a_reason_that_settings_share_is_given_once(called: Called, examples: Path) -> None:
    shown = called("plan", examples / "ascend-deepseek-v4.yaml", *NPU).stdout.partition("\nSETTINGS")[2]
    assert " ".join(shown.split()).count("attention-dsv4:") == 1
    for key in ("prefill", "decode", "draft", "backend"):
        assert re.search(rf"^  exec.attention.{key} +dsv4( |$)", shown, re.MULTILINE)


def test_phases_decided_apart_share_their_candidates(called: Called, examples: Path) -> None:
    ran = called("why", "attention", examples / "hopper-deepseek-v3.yaml", "--platform", "cuda:sm90")
    lines = ran.stdout.splitlines()
    assert lines[0] == "attention@prefill, attention@decode: fa3 (mla)"
    assert "attention@draft: fa3 (mla)" in lines
    assert " ".join(ran.stdout.split()).count("platform.device is cuda, must be hip for aiter, wave") == 1
    assert ran.stdout.count("candidates ") == ran.stdout.count("\nplatform ") == 1


def test_what_must_be_acted_upon_is_said_last(called: Called) -> None:
    ran = called("plan", *NPU, "--set", "exec.attention.decode=fa3")
    titles = [line for line in ran.stdout.splitlines() if line.isupper() or line.startswith("NOTHING")]
    assert titles[-1].startswith("NOTHING SATISFIES THIS PLAN")
    assert "NOT COVERED BY THIS PLAN" in titles[:-1]


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("--help",),
        ("--version",),
        ("plna",),
        ("plan", "--help"),
        ("plan", "--wrong"),
        ("plan", "absent.yaml"),
        ("plan", *NPU, "--set", "exec.nothing=1"),
        *(("plan", *NPU, "--format", format) for format in ("table", "json", "markdown", "html")),
        ("plan", *NPU, "--set", "exec.attention.decode=fa3", "--strict"),
        *(("why", subject, *NPU) for subject in (*WHY, "nothing")),
        ("diff", "cuda:sm90", NPU[1]),
        ("lock", *NPU),
        ("doctor",),
        ("schema",),
        ("schema", "--plan"),
        ("schema", "--accessors"),
    ],
    ids=" ".join,
)
def test_every_line_is_ended(called: Called, argv: tuple[str, ...]) -> None:
    ran = called(*argv)
    assert ran.stdout or ran.stderr
    for said in (ran.stdout, ran.stderr):
        assert not said or said.endswith("\n")


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_a_locale_that_lacks_a_character(confbag: Run, tmp_path: Path, env: dict[str, str]) -> None:
    path = tmp_path / "größe.yaml"
    path.write_text("exec:\n  attention:\n    decode: fa3\n", encoding="utf-8")
    for format in ("table", "json", "markdown", "html"):
        ran = confbag("plan", path, *NPU, "--format", format, env=env)
        assert ran.returncode == 3, ran.stderr
        assert "Traceback" not in ran.stderr
        assert "fa3" in ran.stdout
        assert ran.stdout.isascii()
    wrong = confbag("plan", path, "--set", "exec.größe=1", env=env)
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        ((), 0),
        (("--all",), 0),
        (("--set", "exec.attention.decode=fa3"), 3),
        (("--set", "exec.attention.decode=fa3", "--all"), 3),
        (("--set", "device.kind=cuda"), 3),
        (("--preset", "reference"), 0),
        (("--set", "exec.kernels.pin={kvcache.last_loc: reference}"), 0),
    ],
)
def test_json_is_valid_after_the_schema(called: Called, argv: tuple[str, ...], status: int) -> None:
    schema = json.loads(called("schema", "--plan").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    ran = called("plan", *NPU, *argv, "--format", "json")
    assert ran.returncode == status, ran.stderr
    plan = json.loads(ran.stdout)
    jsonschema.validate(plan, schema)
    assert plan["schema_version"] == 2
    assert (plan["fingerprint"] is None) is (status == 3) is bool(plan["faults"])
    for binding in plan["bindings"]:
        if not binding["used"]:
            assert binding["skipped_because"]
            continue
        others = [rejection["provider"] for rejection in binding["rejected"]]
        assert binding["provider"] not in others
        assert others if status == 0 else True
        assert "--all" in argv or len(others) == len(set(others))


def test_all_adds_reasons_and_changes_no_decision(called: Called) -> None:
    short, long = (json.loads(called("plan", *NPU, "--format", "json", *extra).stdout) for extra in ((), ("--all",)))
    assert short["fingerprint"] == long["fingerprint"] is not None
    for one, other in zip(short["bindings"], long["bindings"], strict=True):
        first: dict[str, object] = {}
        for rejection in other["rejected"]:
            first.setdefault(rejection["provider"], rejection)
        assert one["rejected"] == list(first.values())
    assert sum(len(b["rejected"]) for b in long["bindings"]) > sum(len(b["rejected"]) for b in short["bindings"])


def test_the_config_says_who_set_each_key(called: Called, config: Callable[[str], Path]) -> None:
    path = config("exec:\n  deterministic: false\n")
    ran = called("plan", path, *NPU, "--preset", "deterministic", "--set", "memory.page_size=128", "--format", "json")
    keys = json.loads(ran.stdout)["config"]
    assert keys["exec.deterministic"] == {"value": False, "origin": f"{path}:2:3"}
    assert keys["memory.page_size"] == {"value": 128, "origin": "--set"}
    assert keys["spec.algorithm"] == {"value": "none", "origin": "default"}
    assert keys["device.kind"] == {"value": "npu", "origin": "rule device-kind"}
    assert keys["exec.kernels.pin"] == {"value": {}, "origin": "default"}


def test_the_plan_names_every_other_provider(called: Called, examples: Path) -> None:
    asked = ("plan", examples / "ascend-deepseek-v4.yaml", *NPU)
    text = called(*asked).stdout
    for binding in json.loads(called(*asked, "--format", "json").stdout)["bindings"]:
        slot = binding["op"] + (f"@{binding['phase']}" if binding["phase"] else "")
        assert f"\n{slot if binding['used'] else '  ' + slot} " in text
        for rejection in binding["rejected"]:
            assert re.search(rf"[ \n]{rejection['provider']}[@,\s]", text)


def test_why_tells_the_chain_the_candidates_and_the_rule(
    called: Called, config: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config("memory:\n  page_size: 128\nexec:\n  kernels:\n    pin:\n      kvcache.last_loc: reference\n")
    monkeypatch.chdir(path.parent)
    story = called("why", "kvcache.last_loc", path.name, *NPU).stdout.splitlines()
    assert story[0] == "kvcache.last_loc: reference"
    assert "decided by  pin" in story
    assert "candidates  triton - device: platform.device must be cuda or xpu, is npu" in story
    assert "            triton_int32_safe - pinned-away: pin: reference decided" in story
    told = " ".join(" ".join(story).split())
    assert "exec.kernels.pin: {} (default) -> {kvcache.last_loc: reference} (config.yaml:5:5)" in told
    key = called("why", "memory.page_size", path.name, *NPU, "--set", "memory.page_size=256").stdout.splitlines()
    assert key[0] == "memory.page_size = 256"
    at = key.index("set by      auto from default")
    assert key[at + 1 : at + 3] == ["            128 from config.yaml:2:3", "            256 from --set"]
    ruled = called("why", "memory.page_size", "--set", "exec.attention.backend=ascend", *NPU).stdout
    assert "128 from rule page-size-of-backends" in ruled
    assert "because what ascend takes" in ruled


def test_the_schemas(called: Called, examples: Path) -> None:
    import yaml

    schema = json.loads(called("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in examples.glob("*.yaml"):
        jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"exec": {"determinstic": True}}, schema)


@pytest.fixture
def published() -> Iterator[None]:
    """A published bag, taken back afterwards."""
    from confbag import load, publish
    from confbag.backends import make_plan
    from confbag.process import context

    publish(make_plan(load(env={}), "cuda:sm90").bag, role="test")
    yield
    context.unpublish()


def test_accessors_are_expressions_that_read(called: Called, published: None) -> None:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table = toml.loads(called("schema", "--accessors").stdout)
    read = {"read": "get_exec().deterministic", "import": "from confbag import get_exec"}
    assert table["enable_deterministic_inference"] == read
    assert table["disable_cuda_graph"]["read"] == "not get_exec().graph"
    for row in table.values():
        names: dict[str, object] = {}
        exec(row["import"], names)
        eval(row["read"], names)  # an AttributeError here is a key that no namespace has
