"""The example configs: each has a schema for editors, agrees with its checkpoint, and plans on its machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from confbag import load
from confbag.backends import Platform, make_plan

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIGS = sorted((EXAMPLES / "configs").glob("*.yaml"))
SCHEMA = EXAMPLES / "configs" / "confbag.schema.json"

MACHINES = {
    "ascend-deepseek-v4.yaml": "npu:ascend910_93",
    "cpu-deepseek-v4-mini.yaml": "cpu:x86_64",
    "cpu-laptop.yaml": "cpu:aarch64",
    "hopper-deepseek-v3.yaml": "cuda:sm90",
    "xpu-deterministic.yaml": "xpu:bmg",
}
PROVIDERS = {
    "ascend-deepseek-v4.yaml": ("dsv4", "dsv4", "dsv4", "triton_int32_safe", "reference"),
    "cpu-deepseek-v4-mini.yaml": ("reference",) * 5,
    "cpu-laptop.yaml": ("torch_native", "torch_native", "torch_native", "reference", "reference"),
    "hopper-deepseek-v3.yaml": ("fa3", "fa3", "fa3", "triton", "triton"),
    "xpu-deterministic.yaml": ("intel_xpu", "intel_xpu", None, "triton", None),
}
SLOTS = (
    "attention@prefill",
    "attention@decode",
    "attention@draft",
    "kvcache.last_loc",
    "speculative.draft_extend_fill",
)


def test_every_config_is_tested() -> None:
    assert {path.name for path in CONFIGS} == set(MACHINES) == set(PROVIDERS)


def test_the_schema_beside_them_is_fresh() -> None:
    printed = subprocess.run([sys.executable, "-m", "confbag", "schema"], capture_output=True, text=True, check=True)
    assert SCHEMA.read_text(encoding="utf-8") == printed.stdout, (
        "write `confbag schema > examples/configs/confbag.schema.json`"
    )


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_an_editor_finds_the_schema_and_agrees(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    comment, _, name = text.splitlines()[0].partition("$schema=")
    assert comment == "# yaml-language-server: "
    schema = json.loads((path.parent / name).read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(schema).validate(yaml.safe_load(text))
    broken = {**yaml.safe_load(text), "modle": {}}
    assert not validator(schema).is_valid(broken)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_plans_on_its_machine(path: Path) -> None:
    plan = make_plan(load(path, env={}), Platform.find(MACHINES[path.name]))
    assert plan.faults == ()
    assert tuple(plan[slot].provider for slot in SLOTS) == PROVIDERS[path.name]
    assert plan.bag.unresolved() == ()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_command_plans_it_from_anywhere_without_torch(path: Path, tmp_path: Path) -> None:
    program = "import sys; sys.modules['torch'] = None; from confbag.cli import main; sys.exit(main(sys.argv[1:]))"
    ran = subprocess.run(
        [sys.executable, "-c", program, "plan", str(path), "--platform", MACHINES[path.name]],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "attention@prefill" in ran.stdout


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("ascend-deepseek-v4.yaml", "deepseek-v4"),
        ("hopper-deepseek-v3.yaml", "deepseek-v3"),
        ("xpu-deterministic.yaml", "llama-3.1-8b"),
    ],
)
def test_the_facts_written_out_are_the_checkpoints(name: str, model: str) -> None:
    written = load(EXAMPLES / "configs" / name, env={}).values()
    read = load(model=EXAMPLES / "models" / model / "config.json", env={}).values()
    facts = {key for key in read if key.startswith("model.") and key not in {"model.path", "model.revision"}}
    assert {key: written[key] for key in facts} == {key: read[key] for key in facts}


def test_the_deterministic_one_is(tmp_path: Path) -> None:
    bag = make_plan(load(EXAMPLES / "configs" / "xpu-deterministic.yaml", env={}), Platform.find("xpu:pvc")).bag
    assert bag["exec.deterministic"] is True
    assert bag["exec.attention.num_splits"] == 1
    assert bag["memory.radix_cache"] is False
