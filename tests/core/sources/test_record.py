"""An engine's startup record as a source."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from confbag.sources import Found
from confbag.sources.fields import fields_of
from confbag.sources.keys import Keys
from confbag.sources.record import Record, read_record
from confbag.words.provenance import Layer, Setting


def argv(keys: Keys, line: str) -> Found:
    return read_record(Record("sglang", argv=line.split()), keys)


def values(found: Found) -> dict[str, Any]:
    return {setting.key: setting.value for setting in found.settings}


def test_launch_flags(keys: Keys) -> None:
    found = argv(
        keys,
        "--model-path meta/llama --tp 8 --ep-size=2 --attention-backend fa3 --decode-attention-backend=flashinfer "
        "--enable-deterministic-inference --disable-cuda-graph --disable-radix-cache --kv-cache-dtype bf16 "
        "--dtype half --mem-fraction-static 0.8 --speculative-algorithm EAGLE --speculative-eagle-topk 4 "
        "--revision 017 --disaggregation-mode prefill --base-gpu-id 2 --nnodes 2 --node-rank 0 "
        "--enable-torch-symm-mem --page-size 64",
    )
    assert not found.faults
    assert not found.ignored
    assert values(found) == {
        "model.path": "meta/llama",
        "parallel.tp_size": 8,
        "parallel.ep_size": 2,
        "exec.attention.backend": "fa3",
        "exec.attention.decode": "flashinfer",
        "exec.deterministic": True,
        "exec.graph": False,
        "memory.radix_cache": False,
        "memory.kv_cache_dtype": "bfloat16",
        "model.dtype": "float16",
        "memory.fraction_static": 0.8,
        "spec.algorithm": "EAGLE",
        "spec.topk": 4,
        "model.revision": "017",
        "disagg.mode": "prefill",
        "device.index": 2,
        "parallel.num_nodes": 2,
        "parallel.node_rank": 0,
        "parallel.symm_mem_all_reduce": True,
        "memory.page_size": 64,
    }
    assert found.settings[1] == Setting("parallel.tp_size", 8, Layer.RECORD, "record sglang --tp", "8", order=1)


@pytest.mark.parametrize("flag", ["--tp", "--tp-size", "--tensor-parallel-size", "--tp_size", "--tensor_parallel_size"])
def test_every_spelling_of_a_flag(keys: Keys, flag: str) -> None:
    assert values(argv(keys, f"{flag} 4")) == values(argv(keys, f"{flag}=4")) == {"parallel.tp_size": 4}


def test_what_nobody_answers_to_is_listed_by_name_only(keys: Keys) -> None:
    found = argv(
        keys, "--trust-remote-code --api-key hunter2 --cuda-graph-bs 1 2 4 --seed=-1 --x -1 --tp 2 --api-key hunter2"
    )
    assert tuple(found.ignored) == ("--trust-remote-code", "--api-key", "--cuda-graph-bs", "--seed", "--x")
    assert values(found) == {"parallel.tp_size": 2}
    assert not found.faults
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize("line", ["--dtype auto", "--kv-cache-dtype auto", "--disaggregation-mode null", ""])
def test_the_records_own_words_for_unset(keys: Keys, line: str) -> None:
    assert argv(keys, line) == Found()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--tp", "record sglang --tp: parallel.tp_size: needs a value"),
        ("--tp --pp 2", "needs a value"),
        ("--tp 2 hunter2", "takes one value"),
        ("--disable-cuda-graph true", "takes no value"),
        ("--disable-cuda-graph=hunter2", "takes no value"),
        ("python -m x --tp 2", "must begin with a flag"),
        (
            "--tp 2 --tensor-parallel-size 4",
            "is given twice with different values, the first time at record sglang --tp;",
        ),
        ("--tp 2 --tp 4", "is given twice"),
    ],
)
def test_flags_that_are_wrong(keys: Keys, line: str, told: str) -> None:
    found = argv(keys, line)
    (fault,) = found.faults
    assert told in str(fault)
    assert "hunter2" not in str(fault)


def test_aliases_that_agree_are_one_setting(keys: Keys) -> None:
    assert values(argv(keys, "--tp 2 --tensor-parallel-size 2")) == {"parallel.tp_size": 2}
    assert not read_record(Record("sglang", values={"tp_size": 2, "tensor_parallel_size": 2}), keys).faults


def test_a_value_of_the_wrong_type_comes_through_for_the_schema_to_refuse(keys: Keys) -> None:
    assert values(argv(keys, "--tp eight --mem-fraction-static 1")) == {
        "parallel.tp_size": "eight",
        "memory.fraction_static": 1.0,
    }


def test_a_mapping_is_taken_at_its_word(keys: Keys) -> None:
    given = {
        "disable_cuda_graph": False,
        "enable_torch_compile": False,
        "attention_backend": None,
        "dtype": "auto",
        "tp_size": 1,
    }
    found = read_record(
        Record("sglang", values={**given, "kv-cache-dtype": "fp8_e5m2", "chunked_prefill_size": 1}), keys
    )
    assert not found.faults
    assert tuple(found.ignored) == ("chunked_prefill_size",)
    assert values(found) == {
        "exec.graph": True,
        "exec.compile": False,
        "parallel.tp_size": 1,
        "memory.kv_cache_dtype": "fp8_e5m2",
    }
    assert found.settings[0].origin == "record sglang disable_cuda_graph"


def test_a_mapping_with_an_alias_that_contradicts(keys: Keys) -> None:
    (fault,) = read_record(Record("sglang", values={"tp_size": 2, "tensor_parallel_size": 4}), keys).faults
    assert fault.key == "parallel.tp_size"
    assert "the first time at record sglang tp_size" in fault.message


@dataclass
class ServerArgs:
    """The shape of an engine's record: every field is there, most with their defaults."""

    model_path: str
    tp_size: int = 1
    disable_cuda_graph: bool = False
    disable_radix_cache: bool = False
    attention_backend: str | None = None
    speculative_attention_mode: str = "prefill"
    disaggregation_mode: str = "null"
    page_size: int | None = 1
    api_key: str = "hunter2"


@pytest.mark.parametrize("wrap", [lambda args: args, lambda args: SimpleNamespace(**asdict(args)), None])
def test_a_field_of_an_object_that_holds_its_default_is_not_set(keys: Keys, wrap: Any) -> None:
    args = ServerArgs("m", disable_radix_cache=True, attention_backend="fa3", page_size=None)
    record = argparse.Namespace(**asdict(args)) if wrap is None else wrap(args)
    found = read_record(Record("sglang", values=record), keys)
    assert not found.faults
    assert values(found) == {"model.path": "m", "memory.radix_cache": False, "exec.attention.backend": "fa3"}
    assert tuple(found.ignored) == ("api_key",)
    assert "hunter2" not in repr(found)


def test_a_flag_must_hold_a_boolean(keys: Keys) -> None:
    (fault,) = read_record(Record("sglang", values={"disable_cuda_graph": "hunter2"}), keys).faults
    assert str(fault) == "record sglang disable_cuda_graph: exec.graph: must be true or false"


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (Record("sglnag", argv=[]), "did you mean sglang?"),
        (Record("zzz", argv=[]), "known: sglang"),
        (Record("sglang"), "exactly one"),
        (Record("sglang", argv=[], values={}), "exactly one"),
    ],
)
def test_records_that_are_none(keys: Keys, record: Record, told: str) -> None:
    (fault,) = read_record(record, keys).faults
    assert told in fault.message


def test_a_field_whose_key_an_engine_left_out_is_listed() -> None:
    keys = Keys(["exec.graph"])
    found = read_record(Record("sglang", argv=["--tp", "2", "--disable-cuda-graph"]), keys)
    assert values(found) == {"exec.graph": False}
    assert tuple(found.ignored) == ("--tp",)


def test_no_two_fields_set_one_key_and_every_key_is_known(keys: Keys) -> None:
    fields = fields_of("sglang")
    assert fields is not None
    known = {field.name: field.key for field in fields.values()}
    assert len(set(known.values())) == len(known)
    assert set(known.values()) <= set(keys.leaves)
