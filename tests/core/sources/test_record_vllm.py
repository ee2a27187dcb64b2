"""vLLM's launch flags and config objects: mapped where they mean the same, listed with the reason where not."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from confbag.sources import Found
from confbag.sources.fields import kind_of
from confbag.sources.keys import Keys
from confbag.sources.record import Record, read_record


def argv(keys: Keys, *words: str) -> Found:
    return read_record(Record("vllm", argv=words), keys)


def values(found: Found) -> dict[str, Any]:
    return {setting.key: setting.value for setting in found.settings}


def test_flags_that_mean_the_same(keys: Keys) -> None:
    line = (
        "vllm serve meta/llama --dtype half -tp 8 --pipeline-parallel-size=2 --data_parallel_size 2 --block-size 16 "
        "--kv-cache-dtype fp8 --enforce-eager --revision main --no-enable-prefix-caching --nnodes 2 -r 1 "
        "--disable-custom-all-reduce"
    )
    found = argv(keys, *line.split())
    assert not found.faults
    assert not found.ignored
    assert values(found) == {
        "model.path": "meta/llama",
        "model.dtype": "float16",
        "parallel.tp_size": 8,
        "parallel.pp_size": 2,
        "parallel.dp_size": 2,
        "memory.page_size": 16,
        "memory.kv_cache_dtype": "fp8_e4m3",
        "exec.graph": False,
        "model.revision": "main",
        "memory.radix_cache": False,
        "parallel.num_nodes": 2,
        "parallel.node_rank": 1,
        "parallel.custom_all_reduce": False,
    }
    assert {setting.origin for setting in found.settings if setting.key == "exec.graph"} == {
        "record vllm --enforce-eager"
    }


def test_an_inverted_flag_that_is_denied_is_true(keys: Keys) -> None:
    assert values(argv(keys, "--no-enforce-eager")) == {"exec.graph": True}


BACKENDS = {
    "FLASHINFER": {"exec.attention.backend": "flashinfer"},
    "TRITON_ATTN": {"exec.attention.backend": "triton"},
    "FLEX_ATTENTION": {"exec.attention.backend": "flex_attention"},
    "ROCM_AITER_FA": {"exec.attention.backend": "aiter"},
    "FLASHMLA": {"exec.attention.decode": "flashmla"},
    "FLASHINFER_MLA": {"exec.attention.decode": "trtllm_mla"},
    "FLASH_ATTN_MLA": {"exec.attention.decode": "fa3"},
    "TRITON_MLA": {"exec.attention.decode": "triton"},
    "CUTLASS_MLA": {},
    "FLASH_ATTN": {},
    "FLASHMLA_SPARSE": {},
    "CPU_ATTN": {},
    "auto": {},
}


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(
    "spell",
    [
        lambda name: ["--attention-backend", name],
        lambda name: [f"--attention_backend={name.lower()}"],
        lambda name: ["--attention-config.backend", name],
        lambda name: [f"-ac.backend={name}"],
        lambda name: ["--attention-config", json.dumps({"backend": name})],
        lambda name: ["-ac", json.dumps({"backend": name})],
    ],
)
def test_attention_backends_by_every_spelling(keys: Keys, name: str, spell: Any) -> None:
    found = argv(keys, *spell(name))
    assert not found.faults
    assert values(found) == BACKENDS[name]
    if not BACKENDS[name] and name != "auto":
        ((spelling, why),) = found.ignored.items()
        assert "backend" in spelling
        assert why.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("backend", "beside", "key", "noted"),
    [
        ("FLASH_ATTN", "flash_attn_version=3", "fa3", ()),
        ("FLASH_ATTN", "flash_attn_version=4", "fa4", ()),
        ("FLASH_ATTN", "flash_attn_version=2", None, ("--attention-backend",)),
        ("FLASHINFER", "use_trtllm_attention=1", "trtllm_mha", ()),
        ("FLASHINFER", "use_trtllm_attention=false", "flashinfer", ()),
        ("FLASHINFER", "use_cudnn_prefill=1", "flashinfer", ("-ac.use_cudnn_prefill", "--attention-backend")),
        ("TRITON_ATTN", "flash_attn_version=3", "triton", ("-ac.flash_attn_version",)),
    ],
)
def test_a_backend_that_depends_on_another_flag(
    keys: Keys, backend: str, beside: str, key: str | None, noted: tuple[str, ...]
) -> None:
    found = argv(keys, "--attention-backend", backend, f"-ac.{beside}")
    assert values(found).get("exec.attention.backend") == key
    assert sorted(found.ignored) == sorted(noted)


def test_what_is_open_about_flashinfer_is_said(keys: Keys) -> None:
    why = argv(keys, "--attention-backend", "FLASHINFER").ignored["--attention-backend"]
    assert "trtllm_mha" in why
    assert "use_trtllm_attention" in why


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--attention-backend", "FLASHINFR"], "unknown backend 'FLASHINFR'; did you mean FLASHINFER?"),
        (["-ac.backend", "fa3"], "unknown backend 'fa3'"),
        (["--kv-cache-dtype", "fp8_e4m2"], "did you mean fp8_e4m3?"),
        (["--attention-config", "hunter2"], "must be a JSON object, or write --attention-config.NAME VALUE"),
        (["--attention-config", "[1]"], "must be a JSON object"),
        (["--attention-config"], "needs a value"),
        (["--attention-backend", "FLASHMLA", "-ac.backend", "TRITON_MLA"], "is given twice with different values"),
    ],
)
def test_values_that_are_wrong(keys: Keys, words: list[str], told: str) -> None:
    (fault,) = argv(keys, *words).faults
    assert told in str(fault)
    assert "hunter2" not in str(fault)


@pytest.mark.parametrize(
    ("given", "settings", "ignored"),
    [
        ({"method": "eagle", "num_speculative_tokens": 3}, {"spec.algorithm": "eagle", "spec.num_steps": 3}, ()),
        ({"method": "deepseek_mtp", "num_speculative_tokens": 1}, {"spec.algorithm": "NEXTN", "spec.num_steps": 1}, ()),
        ({"method": "ngram", "num_speculative_tokens": 5}, {"spec.algorithm": "ngram"}, ("num_speculative_tokens",)),
        (
            {"method": "eagle", "num_speculative_tokens": 5, "parallel_drafting": True},
            {"spec.algorithm": "eagle"},
            ("num_speculative_tokens", "parallel_drafting"),
        ),
        ({"model": "hub/draft", "num_speculative_tokens": 2}, {}, ("model", "num_speculative_tokens")),
        (
            {"method": "eagle", "attention_backend": "FLASHMLA"},
            {"spec.algorithm": "eagle", "exec.attention.draft": "flashmla"},
            (),
        ),
        (
            {"method": "eagle", "attention_backend": "FLASH_ATTN", "quantization": "fp8"},
            {"spec.algorithm": "eagle"},
            ("attention_backend", "quantization"),
        ),
    ],
)
def test_speculation(keys: Keys, given: dict[str, Any], settings: dict[str, Any], ignored: tuple[str, ...]) -> None:
    found = argv(keys, "--speculative-config", json.dumps(given))
    assert not found.faults
    assert values(found) == settings
    assert sorted(found.ignored) == sorted(f"--speculative-config.{name}" for name in ignored)


def test_the_short_flags_of_speculation(keys: Keys) -> None:
    found = argv(keys, "--spec-method", "eagle3", "--spec-tokens", "2", "--spec-model", "hub/draft")
    assert values(found) == {"spec.algorithm": "eagle3", "spec.num_steps": 2}
    assert "--spec-model" in found.ignored


def test_flags_that_only_read_the_same_are_listed_with_the_reason(keys: Keys) -> None:
    found = argv(keys, "--gpu-memory-utilization", "0.9", "--api-key", "hunter2", "--compilation-config", "{}", "-O3")
    assert not found.settings
    assert found.ignored == {
        "--gpu-memory-utilization": "it counts activations too, and memory.fraction_static only weights and KV cache",
        "--api-key": "no setting answers to it",
        "--compilation-config": "no setting answers to it",
        "-O3": "no setting answers to it",
    }
    assert "hunter2" not in repr(found)


class Backend(enum.Enum):
    FLASHMLA = "vllm.somewhere.FlashMLA"


@dataclass
class AttentionConfig:
    """The shape of vLLM's."""

    backend: Backend | None = None
    flash_attn_version: int | None = None
    use_prefill_decode_attention: bool = False


@dataclass
class EngineArgs:
    """The shape of vLLM's."""

    model: str = "facebook/opt-125m"
    tensor_parallel_size: int = 1
    enforce_eager: bool = False
    dtype: str = "auto"
    block_size: int | None = None
    attention_config: AttentionConfig = field(default_factory=AttentionConfig)
    speculative_config: dict[str, Any] | None = None


def test_an_object_of_fields_with_an_object_in_it(keys: Keys) -> None:
    config = AttentionConfig(Backend.FLASHMLA)
    args = EngineArgs("m", enforce_eager=True, attention_config=config, speculative_config={"method": "eagle"})
    found = read_record(Record("vllm", values=args), keys)
    assert not found.faults
    assert values(found) == {
        "model.path": "m",
        "exec.graph": False,
        "exec.attention.decode": "flashmla",
        "spec.algorithm": "eagle",
    }
    assert not read_record(Record("vllm", values=EngineArgs()), keys).settings
    assert "use_prefill_decode_attention" in "".join(found.ignored)


def test_a_mapping_of_fields(keys: Keys) -> None:
    given = {"model": "m", "attention_config": {"backend": "TRITON_ATTN"}, "enforce_eager": False}
    found = read_record(Record("vllm", values=given), keys)
    assert values(found) == {"model.path": "m", "exec.attention.backend": "triton", "exec.graph": True}
    assert [setting.origin for setting in found.settings][1] == "record vllm attention_config.backend"


def test_every_word_stands_for_a_backend_of_the_catalogue(keys: Keys) -> None:
    import confbag.kernels
    from confbag.backends import Registry

    registry = Registry()
    confbag.kernels.register(registry)
    known = {*registry.providers("attention"), *registry.aliases("attention")}
    kind = kind_of("vllm")
    assert kind is not None
    meant = set()
    for name in ("attention_config.backend", "speculative_config.attention_backend"):
        field = kind.fields[name]
        for word in field.words:
            for beside in ({}, *({"attention_config.flash_attn_version": str(version)} for version in (2, 3, 4))):
                meant |= set(field.meaning(word, beside).values.values())
    assert meant
    assert meant <= known
    assert {field.key for field in kind.fields.values()} - {None} <= set(keys.leaves)
