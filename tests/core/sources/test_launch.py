"""Whole launch lines: what starts the engine is left out, and a file of flags lies below the flags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import load
from confbag.bag.loading import read
from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.keys import Keys
from confbag.sources.record import Record, read_record
from confbag.words.provenance import Layer


def line(keys: Keys, words: str, kind: str = "sglang") -> Found:
    return read_record(Record(kind, argv=words.split()), keys)


def values(found: Found) -> dict[str, Any]:
    return {setting.key: setting.value for setting in found.settings}


@pytest.mark.parametrize(
    "start",
    [
        "python -m sglang.launch_server",
        "/usr/bin/python3.11 -u -m sglang.launch_server",
        "CUDA_VISIBLE_DEVICES=0 SECRET=hunter2 nohup python3 -m sglang.launch_server",
        "sglang serve",
        "/opt/venv/bin/sglang serve",
        "docker run --gpus all -e KEY=hunter2 image python3 -m sglang.launch_server",
        "",
    ],
)
def test_what_starts_sglang_is_left_out(keys: Keys, start: str) -> None:
    found = line(keys, f"{start} --model-path m --tp 2")
    assert not found.faults
    assert values(found) == {"model.path": "m", "parallel.tp_size": 2}
    assert not found.ignored


@pytest.mark.parametrize(
    "start",
    [
        "vllm serve m",
        "vllm serve --model m",
        "/opt/bin/vllm serve m",
        "python -m vllm.entrypoints.openai.api_server --model m",
        "--model m",
    ],
)
def test_what_starts_vllm_is_left_out(keys: Keys, start: str) -> None:
    found = line(keys, f"{start} -tp 2", "vllm")
    assert not found.faults
    assert values(found) == {"model.path": "m", "parallel.tp_size": 2}


@pytest.mark.parametrize("words", ["vllm serve -tp 2 m", "vllm serve --enforce-eager m"])
def test_a_model_may_stand_behind_a_flag_that_is_known(keys: Keys, words: str) -> None:
    found = line(keys, words, "vllm")
    assert not found.faults
    assert values(found)["model.path"] == "m"


@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        ("vllm serve m -tp 2 hunter2", "vllm", "takes one value, not several"),
        ("vllm serve m hunter2 -tp 2", "vllm", "must begin with a flag or `vllm serve`"),
        ("hunter2 -tp 2", "vllm", "must begin with a flag or `vllm serve`"),
        ("ls hunter2 --tp 2", "sglang", "must begin with a flag or `-m sglang.launch_server` or `sglang serve`"),
        ("--config", "sglang", "needs the path of one YAML file"),
        ("--config a.yaml hunter2", "sglang", "needs the path of one YAML file"),
        ("--config nowhere.yaml", "sglang", "nowhere.yaml: no such file"),
        ("--config launch.json", "sglang", "not .yaml or .yml"),
    ],
)
def test_lines_that_are_wrong(keys: Keys, words: str, kind: str, told: str) -> None:
    found = line(keys, words, kind)
    assert told in str(found.faults[0])
    assert "hunter2" not in " ".join(map(str, found.faults))


@pytest.fixture
def launch_file(tmp_path: Path) -> Path:
    path = tmp_path / "launch.yaml"
    path.write_text(
        "model-path: meta/llama\ntp_size: 4\nattention-backend: fa3\nrevision: 017\nenable-metrics: true\n"
        "enable-deterministic-inference: true\ndisable-cuda-graph: false\napi-key: hunter2\ncuda-graph-bs: [1, 2]\n"
    )
    return path


def test_a_file_of_flags_lies_below_the_flags(keys: Keys, launch_file: Path) -> None:
    found = line(keys, f"--tp 2 --config {launch_file} --attention-backend triton --trust-remote-code")
    assert not found.faults
    assert values(found) == {
        "model.path": "meta/llama",
        "parallel.tp_size": 2,
        "exec.attention.backend": "triton",
        "model.revision": "017",
        "exec.deterministic": True,
    }
    assert list(found.ignored) == ["enable-metrics", "api-key", "cuda-graph-bs", "--trust-remote-code"]
    assert "hunter2" not in repr(found)


def test_the_provenance_of_a_file_of_flags_is_whole(launch_file: Path) -> None:
    bag = load(env={}, record=Record("sglang", argv=["--config", str(launch_file), "--tp", "2"]))
    chain = bag.chain("parallel.tp_size")
    assert [(setting.value, setting.layer) for setting in chain[1:]] == [(4, Layer.RECORD), (2, Layer.RECORD)]
    assert [setting.origin for setting in chain[1:]] == [
        f"record sglang tp_size ({launch_file}:2:1)",
        "record sglang --tp",
    ]
    assert bag.origin("exec.attention.backend") == f"record sglang attention-backend ({launch_file}:3:1)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- tp", "must be a mapping of flags"),
        ("tp: 2\ntensor-parallel-size: 4", "is given twice with different values"),
        ("tp: [1, 2]", "takes one value, not several"),
        ("disable-cuda-graph: on", "must be true or false"),
        ("tp: 2\ntp: 2", "2:1"),
    ],
)
def test_files_of_flags_that_are_wrong(keys: Keys, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "launch.yml"
    path.write_text(text)
    found = line(keys, f"--config {path}")
    assert told in " ".join(map(str, found.faults))


def test_two_files_of_flags_are_one_too_many(keys: Keys, launch_file: Path) -> None:
    (fault,) = line(keys, f"--config {launch_file} --config {launch_file}").faults
    assert "given twice" in fault.message


def test_a_file_of_vllms_flags_nests_and_denies(keys: Keys, tmp_path: Path) -> None:
    path = tmp_path / "vllm.yaml"
    path.write_text(
        "model: m\nenable-prefix-caching: false\nattention-config: {backend: FLASHMLA}\n"
        "speculative-config:\n  method: eagle3\n  num_speculative_tokens: 3\n"
    )
    found = line(keys, f"vllm serve other --config {path}", "vllm")
    assert not found.faults
    assert values(found) == {
        "model.path": "other",
        "memory.radix_cache": False,
        "exec.attention.decode": "flashmla",
        "spec.algorithm": "eagle3",
        "spec.num_steps": 3,
    }


def test_a_model_path_that_is_a_folder_is_read(tmp_path: Path) -> None:
    facts: Mapping[str, Any] = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 32, "hidden_size": 4096}
    (tmp_path / "config.json").write_text(json.dumps(facts))
    bag = load(env={}, record=Record("sglang", argv=["--model-path", str(tmp_path)]))
    assert bag["model.architecture"] == "LlamaForCausalLM"
    assert bag.read_from == str(tmp_path)


def test_what_is_not_understood_is_told_by_the_draft_and_the_bag() -> None:
    record = Record("sglang", argv=["--tp", "2", "--api-key", "hunter2", "--trust-remote-code"])
    draft = read(env={}, record=record)
    assert dict(draft.ignored) == dict.fromkeys(["--api-key", "--trust-remote-code"], "no setting answers to it")
    bag = draft.bag()
    assert bag.ignored == draft.ignored
    assert bag.override("test", {"exec.graph": False}).ignored == draft.ignored
    assert bag.fingerprint() == load(env={}, record=Record("sglang", argv=["--tp", "2"])).fingerprint()


WORDS = st.one_of(
    st.sampled_from(
        [
            *[
                "--tp",
                "-tp",
                "--config",
                "--attention-config",
                "-ac.backend",
                "--speculative-config",
                "--",
                "-",
                "=",
                "--=",
            ],
            *["vllm", "serve", "-m", "sglang.launch_server", "sglang", "--no-enforce-eager", "--enforce-eager", "-ac"],
            *["{}", '{"backend": []}', '{"backend": {"a": 1}}', "[1", "null", "NaN", "--attention-backend", "FLASHMLA"],
        ]
    ),
    st.text(max_size=12),
)


@given(st.sampled_from(["sglang", "vllm"]), st.lists(WORDS, max_size=8))
def test_no_launch_line_raises(kind: str, words: list[str]) -> None:
    draft = read(env={}, record=Record(kind, argv=words))
    assert all(isinstance(fault, Fault) for fault in draft.faults)
    assert all(name.isprintable() and why for name, why in draft.ignored.items())
