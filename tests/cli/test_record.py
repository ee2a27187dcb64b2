"""`--record KIND -- LAUNCH LINE`: an existing launch line through plan, why, diff and lock."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema
import pytest

from confbag.cli.schema import plan_schema

Run = Callable[..., "CompletedProcess[str]"]

SGLANG = [
    *["python", "-m", "sglang.launch_server", "--model-path", "examples/models/llama-3.1-8b", "--tp", "8"],
    *["--attention-backend", "fa3", "--enable-deterministic-inference", "--disable-cuda-graph"],
    *["--api-key", "hunter2", "--max-running-requests", "8"],
]
ON = ["--platform", "cuda:sm90", "--record", "sglang", "--"]


def test_plan_of_a_launch_line(confbag: Run) -> None:
    ran = confbag("plan", *ON, *SGLANG)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "config     checkpoint examples/models/llama-3.1-8b/config.json, record sglang\n" in ran.stdout
    assert "attention@decode              fa3 (mha)             setting" in ran.stdout
    assert "(record sglang --enable-deterministic-inference)" in " ".join(ran.stdout.split())
    below = ran.stdout.partition("NOT UNDERSTOOD\n")[2].splitlines()
    assert [line.split()[0] for line in below[:2]] == ["--api-key", "--max-running-requests"]
    assert "hunter2" not in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80


@pytest.mark.parametrize("format", ["table", "json", "markdown", "html"])
def test_no_format_repeats_what_it_does_not_understand(called: Run, format: str) -> None:
    ran = called("plan", "--format", format, *ON, *SGLANG)
    assert ran.returncode == 0
    assert "max-running-requests" in ran.stdout
    assert "hunter2" not in ran.stdout


def test_the_plan_in_json_names_the_flag_of_every_value(called: Run) -> None:
    data = json.loads(called("plan", "--format", "json", *ON, *SGLANG).stdout)
    jsonschema.validate(data, json.loads(plan_schema()))
    assert data["ignored"] == [
        {"name": name, "why": "no setting answers to it"} for name in ("--api-key", "--max-running-requests")
    ]
    config = data["config"]
    assert config["exec.graph"] == {"value": False, "origin": "record sglang --disable-cuda-graph"}
    assert config["parallel.tp_size"] == {"value": 8, "origin": "record sglang --tp"}
    assert config["exec.attention.backend"]["origin"] == "record sglang --attention-backend"
    assert config["model.architecture"] == {
        "value": "LlamaForCausalLM",
        "origin": "checkpoint examples/models/llama-3.1-8b/config.json",
    }


def test_files_and_set_go_above_a_record(called: Run, config: Callable[[str], Path]) -> None:
    path = config("parallel: {tp_size: 4}\n")
    asked = ["plan", "--format", "json", str(path), "--set", "exec.graph=true", *ON, *SGLANG]
    said = json.loads(called(*asked).stdout)["config"]
    assert said["parallel.tp_size"]["value"] == 4
    assert said["exec.graph"] == {"value": True, "origin": "--set"}


def test_a_launch_file(called: Run, tmp_path: Path) -> None:
    path = tmp_path / "launch.yaml"
    path.write_text("attention-backend: triton\ntp-size: 2\nenable-metrics: true\n")
    said = json.loads(called("plan", "--format", "json", *ON, "--config", path, "--tp", "4").stdout)
    assert said["config"]["exec.attention.backend"]["value"] == "triton"
    assert said["config"]["parallel.tp_size"]["value"] == 4
    assert [entry["name"] for entry in said["ignored"]] == ["enable-metrics"]
    assert said["config"]["exec.attention.backend"]["origin"] == f"record sglang attention-backend ({path}:1:1)"


def test_why_tells_the_flag(called: Run) -> None:
    story = called("why", "exec.attention.decode", *ON, *SGLANG)
    assert story.returncode == 0
    story = called("why", "exec.graph", *ON, *SGLANG)
    assert "false from record sglang --disable-cuda-graph" in story.stdout


def test_lock_and_check_of_a_launch_line(called: Run, tmp_path: Path) -> None:
    path = tmp_path / "confbag.lock"
    assert called("lock", "-o", path, *ON, *SGLANG).returncode == 0
    assert "hunter2" not in path.read_text()
    assert called("lock", "--check", path, *ON, *SGLANG).returncode == 0
    differs = called("lock", "--check", path, *ON, *[word.replace("fa3", "triton") for word in SGLANG])
    assert differs.returncode == 4
    assert "triton" in differs.stdout


def test_diff_of_two_platforms_for_a_launch_line(called: Run) -> None:
    ran = called("diff", "cuda:sm90", "cuda:sm100", "--record", "sglang", "--", "--tp", "2")
    assert ran.returncode == 0
    assert "fa3" in ran.stdout
    assert "trtllm_mha" in ran.stdout


def test_a_launch_line_of_vllm(called: Run) -> None:
    line = ["vllm", "serve", "examples/models/deepseek-v3", "--attention-backend", "FLASHMLA", "-tp", "8"]
    line += ["--gpu-memory-utilization", "0.9", "--enforce-eager"]
    on = ["--platform", "cuda:sm90", "--record", "vllm", "--"]
    said = json.loads(called("plan", "--format", "json", *on, *line).stdout)
    assert not said["faults"]
    decided = {(binding["op"], binding["phase"]): binding["provider"] for binding in said["bindings"]}
    assert decided["attention", "decode"] == "flashmla"
    assert said["config"]["exec.graph"] == {"value": False, "origin": "record vllm --enforce-eager"}
    assert [entry["name"] for entry in said["ignored"]] == ["--gpu-memory-utilization"]
    refused = called("plan", *on, "vllm", "serve", "m", "--attention-backend", "CUTLASS_MLA")
    assert "CUTLASS_MLA: no backend of the catalogue is the same" in " ".join(refused.stdout.split())


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["plan", "--", "--tp", "8"], "--: what follows it is an engine's launch line; say whose with --record sglang"),
        (["why", "attention", "--", "hunter2"], "say whose with --record"),
        (["plan", "--record", "sglang"], "--record: needs the launch line, last and after --"),
        (["plan", "--record", "sglan", "--", "--tp", "8"], "unknown kind of record; did you mean sglang?"),
        (["plan", "--record", "sglang", "--", "--tp", "hunter"], "record sglang --tp: parallel.tp_size: expected"),
        (["plan", "--record", "sglang", "--", "ls", "hunter2"], "argv must begin with a flag"),
        (
            ["plan", "--record", "sglang", "--", "--attention-backend", "fa33"],
            "record sglang --attention-backend: exec.attention.backend: unknown attention backend 'fa33'; "
            "did you mean fa3?",
        ),
        (["plan", "--record", "sglang", "--", "--config", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["plan", "--recrod", "sglang", "--", "--tp", "8"], "unknown option --recrod; did you mean --record?"),
    ],
)
def test_lines_that_are_wrong_exit_2(called: Run, argv: list[str], told: str) -> None:
    ran = called(*argv)
    assert ran.returncode == 2
    assert told in ran.stderr
    assert "hunter2" not in ran.stderr + ran.stdout


def test_every_fault_of_a_line_is_told_at_once(called: Run) -> None:
    ran = called("plan", *ON, "--tp", "x", "--pp", "y", "--attention-backend", "fa33")
    assert len(ran.stderr.splitlines()) == 3
