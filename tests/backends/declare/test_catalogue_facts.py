"""The catalogue of attention backends against a second transcription of the facts that it was written from.

Three differences are decided: our torch_native takes speculation of one branch, and every phase, on a CPU, because its
own tests show it; it leaves fp4_e2m1 out, which it has no scales for; and some rows are split by device or by model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from confbag import Bag
from confbag.backends import Platform, Registry, make_plan
from confbag.backends.declare.columns import value_of
from confbag.backends.declare.implementation import Implementation

FP8, ALL = "fp8_e4m3 fp8_e5m2", "sm75 sm80 sm86 sm89 sm90 sm100 sm103 sm120"
# provider, kind: devices | architectures | phases | pages | KV | topk | features | batch invariant | graph
FACTS = f"""
flashinfer mha: cuda | {ALL} | p d s | any 1 | {FP8} | any | W E | p d | yes
flashinfer mla: cuda | {ALL} | p d s | 1 | fp4_e2m1 | 1 | - | p d | yes
fa3 mha: cuda | sm80 sm86 sm89 sm90 | p d s | any 1 | fp8_e4m3 | any | W S M | p d | yes
fa3 mla: cuda | sm90 | p d s | any 1 | - | 1 any@1 | - | p d | yes
fa4 mha: cuda | sm90 sm100 sm103 | p d s | any 1 128 | fp4_e2m1 | any | W S M | p d | yes
fa4 mla: cuda | sm100 sm103 | p d | any 1 | fp4_e2m1 | 1 | - | p d | yes
triton mha: cuda hip xpu musa | - | p d s | emulated 1 | {FP8} fp4_e2m1 | any | W S M | p d | yes
triton mla: cuda hip xpu musa | - | p d s | emulated 1 | - | 1 any@1 | - | p d | yes
flex_attention mha: cuda | - | p d | emulated 1 | fp4_e2m1 | - | - | - | no
flashmla mla: cuda | sm90 sm100 sm103 | p d s | 64 | {FP8} | 1 | - | - | yes
trtllm_mla mla: cuda | sm100 sm103 sm120 | p d s | 64 32 | fp8_e4m3 | 1 | - | - | yes
cutedsl_mla mla: cuda | sm100 sm103 | d | 64 32 | fp8_e4m3 | 1 | - | - | yes
trtllm_mha mha: cuda | sm90 sm100 sm103 sm120 | p d s | 64 16 32 128 | {FP8} fp4_e2m1 | 1 | W S | - | yes
hpc_ops mha: cuda | sm90 | p d | 64 | {FP8} | - | - | - | yes
dual_chunk_flash_attn mha: cuda | sm80 sm86 sm89 sm90 | p d | any 1 | - | - | - | - | yes
dsa dsa: cuda hip npu xpu | sm90 sm100 sm103 | p d s | 64 128 | {FP8} | 1 | - | - | yes
dsv4 dsv4: cuda hip npu | sm90 sm100 sm103 sm120 | p d s | 256 128 | - | 1 | W S | - | yes
aiter mha: hip | - | p d s | any 1 | {FP8} | any | W S M | - | yes
aiter mla: hip | - | p d s | any 1 | {FP8} | any | - | - | yes
wave mha: hip | - | p d | any 1 | - | - | - | - | yes
ascend mha: npu | - | p d s | 128 | - | 1 | W M | p d | yes
ascend mla: npu | - | p d s | 128 | - | 1 | W M | p d | yes
intel_xpu mha: xpu | - | p d s | 128 64 | - | - | W S | p d | yes
intel_xpu mla: xpu | - | p d s | 128 64 16 32 | - | - | W S | p d | yes
intel_amx mha: cpu | x86_64 x86_64_amx | p d s | emulated 1 | - | 1 | S | - | no
intel_amx mla: cpu | x86_64 x86_64_amx | p d s | emulated 1 | - | 1 | S | - | no
torch_native mha: cpu | - | p d s | emulated 1 | {FP8} | 1 - | M | p d s | no
torch_native mla: cpu | - | p d s | emulated 1 | {FP8} | 1 - | M | p d s | no
"""
SHORT = {"prefill": "p", "decode": "d", "draft": "s", "window": "W", "sinks": "S", "multimodal": "M"} | {
    "encoder_decoder": "E"
}


def said(rows: list[Implementation]) -> list[set[str]]:
    """The columns of one provider's variants for one kind, together."""

    def words(column: str) -> set[str]:
        return {word for row in rows for word in value_of(row, column)}

    pages = {
        str(size) for row in rows for size in (*value_of(row, "pages")["sizes"], *value_of(row, "branching_pages"))
    }
    pages |= {"emulated" if each["emulated"] else "any" for row in rows if (each := value_of(row, "pages"))["any"]}
    topk = {str(value_of(row, "topk")).replace("none", "-") for row in rows}
    topk |= {f"any@{size}" for size in words("topk_pages")}
    return [
        words("device"),
        words("arch") or {"-"},
        {SHORT[phase] for phase in words("phases")},
        pages,
        words("kv") or {"-"},
        topk,
        {SHORT[feature] for feature in words("features")} or {"-"},
        {SHORT[phase] for phase in words("deterministic")} or {"-"},
        {"no" if value_of(row, "graph") == "never" else "yes" for row in rows},
    ]


def test_every_row_says_what_its_source_says(registry: Registry) -> None:
    listed: dict[str, list[Implementation]] = {}
    for row in registry.rows("attention"):
        for kind in value_of(row, "kind"):
            listed.setdefault(f"{row.provider} {kind}", []).append(row)
    listed.pop("reference dsv4")  # ours, beside the catalogue
    facts = dict(line.split(": ") for line in FACTS.strip().splitlines())
    assert listed.keys() == facts.keys()
    for name, rows in listed.items():
        assert said(rows) == [set(column.split()) for column in facts[name].split(" | ")], name


def test_defaults_and_names_beside_the_columns(registry: Registry) -> None:
    rows = {(row.provider, row.variant): row for row in registry.rows("attention")}
    first = {name: value_of(row, "pages")["sizes"][:1] for name, row in rows.items()}
    assert (first["dsa", "cuda"], first["dsa", "hip"], first["dsa", "npu and xpu"]) == ([64], [64], [128])
    assert (first["dsv4", "cuda"], first["dsv4", "hip"], first["dsv4", "npu"]) == ([256], [256], [128])
    assert (first["fa4", "mha"], first["fa4", "mha blackwell"]) == ([1], [128])
    assert value_of(rows["fa4", "mha blackwell"], "branching_pages") == (1,)
    assert [
        row.provider for row in rows.values() if value_of(row, "topk") == "any" and value_of(row, "paged_topk")
    ] == [
        "flashinfer",
        "aiter",  # of kind mla, where pages do not bound it
    ]
    components = {row.provider: found for row in rows.values() if (found := value_of(row, "components"))}
    assert components == {
        "flashinfer": ("flashinfer",),
        "triton": ("triton",),
        "aiter": ("aiter",),
        "ascend": ("torch-npu",),
        "torch_native": ("torch",),
        "reference": ("torch",),
    }
    assert registry.aliases("attention") == {"tokenspeed_mla": "cutedsl_mla", "nsa": "dsa", "compressed": "dsv4"}
    features = {row.provider: found for row in rows.values() if (found := value_of(row, "device_features"))}
    assert features == {"intel_xpu": ("xmx",), "intel_amx": ("amx",)}
    assert value_of(rows["flashinfer", "mla absorbed"], "deterministic") == {}


@pytest.mark.parametrize(
    ("arch", "settings", "expected"),
    [
        ("sm90", {"memory.kv_cache_dtype": "fp8_e5m2"}, "triton"),
        ("sm90", {"memory.kv_cache_dtype": "fp8_e5m2", "exec.deterministic": True}, "triton"),
        ("sm86", {"memory.kv_cache_dtype": "fp8_e5m2", "exec.deterministic": True}, "triton"),
        ("sm86", {"memory.kv_cache_dtype": "fp8_e5m2"}, "flashinfer"),
        ("sm100", {"spec.algorithm": "EAGLE", "spec.topk": 4, "model.architecture": "GptOssForCausalLM"}, "triton"),
    ],
)
def test_what_is_chosen_where_the_first_choice_cannot_run(
    registry: Registry,
    bag_of: Callable[..., Bag],
    machine: Callable[..., Platform],
    arch: str,
    settings: dict[str, Any],
    expected: str,
) -> None:
    plan = make_plan(bag_of(**settings), machine("cuda", arch), registry=registry)
    assert not plan.faults
    assert plan["attention@decode"].provider == expected


def test_trtllm_mha_takes_one_draft_branch(
    registry: Registry, bag_of: Callable[..., Bag], machine: Callable[..., Platform]
) -> None:
    asked = {"exec.attention.backend": "trtllm_mha", "spec.algorithm": "EAGLE", "spec.topk": 4}
    plan = make_plan(bag_of(**asked), machine("cuda", "sm100"), registry=registry)
    assert {fault.code for fault in plan.faults} == {"feature"}
