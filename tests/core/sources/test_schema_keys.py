"""The data of the sources against the real schema: every key that a preset, record or checkpoint sets exists there."""

from __future__ import annotations

from pathlib import Path

import pytest

from confbag import Record, load
from confbag.bag.reading import keys_of
from confbag.schema.config import Config
from confbag.sources.fields import fields_of
from confbag.sources.presets import list_presets

MODELS = Path(__file__).parents[3] / "examples" / "models"


def test_every_field_of_a_record_answers_to_a_key() -> None:
    fields = fields_of("sglang") or {}
    assert {field.key for field in fields.values()} - set(keys_of(Config).leaves) == set()


@pytest.mark.parametrize("preset", list_presets())
def test_every_preset_loads(preset: str) -> None:
    bag = load(preset=preset, env={})
    origins = {bag.origin(key) for key in keys_of(Config).leaves}
    assert origins == {"default", f"preset {preset}"}


@pytest.mark.parametrize("name", sorted(folder.name for folder in MODELS.iterdir()))
def test_every_model_of_the_examples_loads(name: str) -> None:
    bag = load(model=MODELS / name, env={})
    assert bag.origin("model.kind") == f"checkpoint {MODELS / name / 'config.json'}"


def test_file_environment_and_arguments_in_their_order(tmp_path: Path) -> None:
    """A file's true, an environment's 2 and an argument's false each win over what is below."""
    path = tmp_path / "serve.yaml"
    path.write_text("exec: {deterministic: true, graph: true}\nparallel: {tp_size: 1}\npreset: reference\n")
    argv = ["--set", "exec.deterministic=false"]
    record = Record("sglang", argv=["--tp", "8", "--enable-torch-compile"])
    bag = load(path, env={"CONFBAG__PARALLEL__TP_SIZE": "2"}, argv=argv, record=record)
    assert (bag["exec.deterministic"], bag["exec.graph"], bag["parallel.tp_size"]) == (False, True, 2)
    assert bag["exec.compile"] is True
    chain = [setting.origin for setting in bag.chain("parallel.tp_size")]
    assert chain == ["default", "record sglang --tp", f"{path}:2:12", "env CONFBAG__PARALLEL__TP_SIZE"]
    assert bag["exec.kernels.reference_only"] is True
