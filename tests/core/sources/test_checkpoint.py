"""model.* facts from config.json files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confbag.sources import Found
from confbag.sources.checkpoint import read_checkpoint
from confbag.words.provenance import Layer

MODELS = Path(__file__).parents[3] / "examples" / "models"
PLAIN = {"attention_sinks": False, "encoder_decoder": False, "multimodal": False}


def facts(found: Found) -> dict[str, Any]:
    assert [str(fault) for fault in found.faults] == []
    return {setting.key.removeprefix("model."): setting.value for setting in found.settings}


def read(folder: Path, **config: Any) -> Found:
    path = folder / "config.json"
    path.write_text(json.dumps(config, indent=1))
    return read_checkpoint(path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "llama-3.1-8b",
            {"architecture": "LlamaForCausalLM", "kind": "mha", "num_heads": 32, "num_kv_heads": 8, "head_dim": 128}
            | {"v_head_dim": 128},
        ),
        (
            "deepseek-v3",
            {"architecture": "DeepseekV3ForCausalLM", "kind": "mla", "num_heads": 128, "num_kv_heads": 128}
            | {"head_dim": 192, "v_head_dim": 128},
        ),
        (
            "deepseek-v4",
            {"architecture": "DeepseekV4ForCausalLM", "kind": "dsv4", "num_heads": 64, "num_kv_heads": 1}
            | {"head_dim": 512, "v_head_dim": 512, "sliding_window": 128, "attention_sinks": True},
        ),
        (
            "gpt-oss",
            {"architecture": "GptOssForCausalLM", "kind": "mha", "num_heads": 64, "num_kv_heads": 8, "head_dim": 64}
            | {"v_head_dim": 64, "sliding_window": 128, "attention_sinks": True},
        ),
    ],
)
def test_the_models_of_the_examples(name: str, expected: dict[str, Any]) -> None:
    found = read_checkpoint(MODELS / name)
    assert facts(found) == {"dtype": "bfloat16"} | PLAIN | expected
    assert facts(read_checkpoint(MODELS / name / "config.json")) == facts(found)
    origins = {(setting.layer, setting.origin) for setting in found.settings}
    assert origins == {(Layer.CHECKPOINT, f"checkpoint {MODELS / name / 'config.json'}")}


MLA = {
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "num_attention_heads": 16,
}


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"architectures": ["DeepseekV32ForCausalLM"], **MLA, "index_topk": 2048}, "dsa"),
        ({"architectures": ["GlmMoeDsaForCausalLM"], **MLA}, "dsa"),
        ({"architectures": ["NewDsaForCausalLM"], **MLA, "index_topk": 2048}, "dsa"),
        ({"architectures": ["NewMlaForCausalLM"], **MLA}, "mla"),
        ({"architectures": ["MiniCPM3ForCausalLM"]}, "mla"),
        ({"architectures": ["KimiK25ForConditionalGeneration"], "text_config": {**MLA}}, "mla"),
        ({"architectures": ["NewV4ForCausalLM"], "compress_ratios": [0, 4], "index_topk": 512}, "dsv4"),
        (
            {"architectures": ["DeepseekVLV2ForCausalLM"], "language_config": {"use_mla": False, "hidden_size": 8}},
            "mha",
        ),
        ({"architectures": ["LlamaForCausalLM"], "kv_lora_rank": None, "index_topk": 4}, "mha"),
        ({"architectures": ["Unheard"]}, "mha"),
        ({}, "mha"),
    ],
)
def test_kinds(tmp_path: Path, config: dict[str, Any], kind: str) -> None:
    assert facts(read(tmp_path, **config))["kind"] == kind


def test_an_explicit_head_dim_that_is_only_the_rotary_part(tmp_path: Path) -> None:
    """transformers 5 writes `head_dim: 64` beside the true dimensions of an MLA model."""
    got = facts(read(tmp_path, architectures=["DeepseekV3ForCausalLM"], head_dim=64, qk_head_dim=192, **MLA))
    assert (got["head_dim"], got["v_head_dim"]) == (192, 128)


def test_the_text_section_of_a_multimodal_model(tmp_path: Path) -> None:
    text = {
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "sliding_window": 1024,
        "dtype": "bfloat16",
    }
    layers = {"layer_types": ["sliding_attention", "full_attention"]}
    got = facts(
        read(tmp_path, architectures=["Gemma3"], text_config={**text, **layers}, vision_config={"hidden_size": 9})
    )
    assert got["multimodal"] is True
    assert (got["num_heads"], got["num_kv_heads"], got["head_dim"], got["sliding_window"]) == (32, 16, 128, 1024)
    nested = facts(read(tmp_path, thinker_config={"audio_config": {}, "text_config": text}))
    assert (nested["multimodal"], nested["num_heads"], nested["dtype"]) == (True, 32, "bfloat16")


@pytest.mark.parametrize(
    ("config", "window"),
    [
        ({"sliding_window": 4096}, 4096),
        ({"sliding_window": 4096, "use_sliding_window": True}, 4096),
        ({"sliding_window": 4096, "use_sliding_window": False}, None),
        ({"sliding_window": None}, None),
        ({"sliding_window": 0}, None),
        ({"sliding_window": 4096, "layer_types": ["full_attention"]}, None),
        ({"sliding_window_size": 128}, 128),
    ],
)
def test_windows(tmp_path: Path, config: dict[str, Any], window: int | None) -> None:
    assert facts(read(tmp_path, **config)).get("sliding_window") == window


def test_other_families_and_their_names(tmp_path: Path) -> None:
    whisper = facts(
        read(tmp_path, architectures=["WhisperForConditionalGeneration"], is_encoder_decoder=True, d_model=1280,
             decoder_attention_heads=20, torch_dtype="torch.float16")
    )  # fmt: skip
    assert (whisper["encoder_decoder"], whisper["num_heads"], whisper["num_kv_heads"]) == (True, 20, 20)
    assert (whisper["head_dim"], whisper["dtype"]) == (64, "float16")
    falcon = facts(read(tmp_path, n_head=71, hidden_size=4544, multi_query=True))
    assert (falcon["num_heads"], falcon["num_kv_heads"], falcon["head_dim"]) == (71, 1, 64)
    mimo = facts(read(tmp_path, num_attention_heads=64, head_dim=192, v_head_dim=128, add_swa_attention_sink_bias=True))
    assert (mimo["v_head_dim"], mimo["attention_sinks"]) == (128, True)
    uneven = facts(read(tmp_path, num_attention_heads=64, hidden_size=2881))
    assert "head_dim" not in uneven


def test_wrong_types_are_faults_with_their_places_and_without_their_values(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        architectures="hunter2",
        num_attention_heads="hunter2",
        torch_dtype=["hunter2"],
        is_encoder_decoder="hunter2",
        text_config={"num_key_value_heads": True, "head_dim": -1},
    )
    path = tmp_path / "config.json"
    assert {(fault.where, fault.key) for fault in found.faults} == {
        (f"{path}:2:2", "architectures"),
        (f"{path}:3:2", "num_attention_heads"),
        (f"{path}:4:2", "torch_dtype"),
        (f"{path}:7:2", "is_encoder_decoder"),
        (f"{path}:9:3", "text_config.num_key_value_heads"),
        (f"{path}:10:3", "text_config.head_dim"),
    }
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("content", "where", "told"),
    [
        (b'{"a": 1,\n "b": }', "2:7", "not valid JSON"),
        (b"[]", "1:1", "must be an object"),
        (b"", "1:1", "not valid JSON"),
        (b'{"a": "\xff"}', "1:8", "UTF-8"),
        (b"[" * 100_000, None, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", None, "number too long"),
    ],
)
def test_files_that_are_broken(tmp_path: Path, content: bytes, where: str | None, told: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    (fault,) = read_checkpoint(path).faults
    assert told in fault.message
    assert fault.where == (f"{path}:{where}" if where else str(path))


def test_files_that_are_none(tmp_path: Path) -> None:
    fifo, huge = tmp_path / "fifo", tmp_path / "huge.json"
    os.mkfifo(fifo)
    with huge.open("wb") as file:
        file.truncate(100 << 20)
    for path, told in {tmp_path: "no such file", fifo: "pipe or a device", huge: "larger than 8 MiB"}.items():
        (fault,) = read_checkpoint(path).faults
        assert told in fault.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "head_dim"]), inner, max_size=2),
    max_leaves=6,
)
NAMES = ["architectures", "text_config", "vision_config", "num_attention_heads", "head_dim", "hidden_size", "dtype"]
NAMES += [
    "kv_lora_rank",
    "qk_rope_head_dim",
    "index_topk",
    "compress_ratios",
    "layer_types",
    "sliding_window",
    "use_mla",
]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(config=st.dictionaries(st.sampled_from(NAMES), JSON))
def test_any_object_gives_facts_or_faults(tmp_path: Path, config: dict[str, Any]) -> None:
    found = read(tmp_path, **config)
    for setting in found.settings:
        name = setting.key.removeprefix("model.")
        wanted: type = str if name in ("architecture", "kind", "dtype") else bool if name in PLAIN else int
        assert type(setting.value) is wanted
        assert wanted is not int or setting.value > 0
    assert all("\n" not in fault.message for fault in found.faults)
