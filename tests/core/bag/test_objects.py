"""Schemas made from what an engine has: a flat dataclass as SGLang's, and a nested pydantic config as vLLM's.

The classes here have the shape of theirs, and nothing of their content.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Optional, Union

import pydantic
import pytest
from pydantic import BaseModel, SecretStr
from pydantic import dataclasses as pydantic_dataclasses

from confbag import Bag, Config, ConfigError, RegistrationError, load, schema_from
from confbag.schema.identity import name_of
from confbag.schema.leaves import leaves


class Mode(Enum):
    """An enum of texts."""

    NULL = "null"
    PREFILL = "prefill"


@dataclasses.dataclass
class Tool:
    """No plain data: it is nested, and holds itself."""

    deeper: Optional[Tool] = None  # noqa: UP045 -- as engines write it
    width: int = 3


@dataclasses.dataclass
class ServerArgs:
    """Flat, some hundreds of fields, with the habits of such a class."""

    model_path: str
    tp_size: int = 1
    attention_backend: Optional[str] = None  # noqa: UP045
    mem_fraction_static: float | None = None
    random_seed: int = None  # type: ignore[assignment]
    disable_cuda_graph: bool = False
    cuda_graph_bs: list[int] | None = None
    json_model_override_args: str = "{}"
    mode: Mode = Mode.NULL
    kv_cache_dtype: Annotated[Literal["auto", "fp8_e4m3"], "help"] = "auto"
    hooks: dict[str, Any] = dataclasses.field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    api_key: str | None = None
    stop_token: str | None = None
    on_ready: Callable[[], None] | None = None
    odd: int = "three"  # type: ignore[assignment]
    tool: Tool = dataclasses.field(default_factory=Tool)
    _private: int = 3


class CacheConfig(BaseModel):
    """One of many."""

    block_size: int = 16
    cache_dtype: Literal["auto", "fp8"] = "auto"


@pydantic_dataclasses.dataclass
class ParallelConfig:
    """A pydantic dataclass, as vLLM's are."""

    tensor_parallel_size: int = pydantic.Field(default=1, ge=1)
    ranks: list[int] = pydantic.Field(default_factory=list)


class SpeculativeConfig(BaseModel):
    """Only there where somebody speculates."""

    method: Literal["ngram", "eagle"] | None = None
    num_speculative_tokens: int


@dataclasses.dataclass
class ModelConfig:
    """With names that pydantic keeps for itself."""

    model: str = "m"
    json: bool = False
    model_config: str = "x"
    token: SecretStr = dataclasses.field(default_factory=lambda: SecretStr("hunter2"))
    hf_config: Any = None


class VllmConfig(BaseModel):
    """Nested."""

    cache_config: CacheConfig = pydantic.Field(default_factory=CacheConfig)
    parallel_config: ParallelConfig = pydantic.Field(default_factory=ParallelConfig)
    speculative_config: SpeculativeConfig | None = None
    model: ModelConfig = pydantic.Field(default_factory=ModelConfig)
    additional_config: dict[str, Union[int, str]] = pydantic.Field(default_factory=dict)  # noqa: UP007
    instance_id: str = ""


FLAT = schema_from(ServerArgs, answers={"tp_size": "parallel.tp_size", "attention_backend": "exec.attention.backend"})
NESTED = schema_from(
    VllmConfig,
    answers={"parallel_config.tensor_parallel_size": "parallel.tp_size", "cache_config.block_size": "memory.page_size"},
)


def test_every_plain_field_is_a_key_of_its_own_type() -> None:
    known = {key: leaf for key, leaf in leaves(FLAT).items() if key.startswith("server_args.")}
    assert list(known) == [
        f"server_args.{name}"
        for name in (
            *("model_path", "tp_size", "attention_backend", "mem_fraction_static", "random_seed", "disable_cuda_graph"),
            *("cuda_graph_bs", "json_model_override_args", "mode", "kv_cache_dtype", "hooks", "paths", "api_key"),
            *("stop_token", "tool.width"),
        )
    ]
    assert known["server_args.model_path"].required
    assert known["server_args.random_seed"].default is None
    assert known["server_args.api_key"].secret
    assert not known["server_args.stop_token"].secret
    assert not any(leaf.auto for leaf in known.values()), "the text stays a value"
    assert FLAT.derived.left_out == {  # type: ignore[attr-defined]
        "on_ready": "collections.abc.Callable[[], None] | None is no plain data",
        "odd": "its default is not what int says",
        "tool.deeper": "Tool holds itself",
        "_private": "it is private",
    }


def test_what_an_object_holds_is_what_is_read() -> None:
    held = ServerArgs(
        "/m",
        tp_size=4,
        attention_backend="fa3",
        cuda_graph_bs=[1, 2],
        mode=Mode.PREFILL,
        hooks={"a": [1, {"b": None}]},
        paths=(PurePosixPath("/x"),),  # type: ignore[arg-type]
        api_key="hunter2",
        tool=Tool(width=9),
    )
    bag = Bag.of(held, FLAT)
    mine: Any = getattr(bag, "server_args")  # noqa: B009 -- the schema was made at run time
    assert (mine.model_path, mine.cuda_graph_bs, mine.mode, mine.paths) == ("/m", (1, 2), "prefill", ("/x",))
    assert (mine.kv_cache_dtype, mine.tool.width) == ("auto", 9)
    assert isinstance(mine.hooks, Mapping)
    assert mine.hooks == {"a": (1, {"b": None})}
    with pytest.raises(TypeError):
        mine.hooks["a"] = 1
    assert (bag["parallel.tp_size"], bag["exec.attention.backend"]) == (4, "fa3")
    assert bag.origin("parallel.tp_size") == bag.origin("server_args.tp_size") == "ServerArgs.tp_size"
    assert bag.origin("server_args.disable_cuda_graph") == "default"
    assert mine.api_key.reveal() == "hunter2"
    assert "hunter2" not in f"{bag!r}{bag.dump()}{bag.values()}{bag.chain('server_args.api_key')}"
    assert dict(bag.ignored) == dict(FLAT.derived.left_out)  # type: ignore[attr-defined]
    assert held.tool.width == 9, "nothing was changed"


def test_nested_classes_are_nested_namespaces() -> None:
    keys = [key for key in leaves(NESTED) if key.startswith("vllm_config.")]
    assert keys == [
        f"vllm_config.{name}"
        for name in (
            *("cache_config.block_size", "cache_config.cache_dtype", "parallel_config.tensor_parallel_size"),
            *("parallel_config.ranks", "speculative_config.method", "speculative_config.num_speculative_tokens"),
            *(
                "model.model",
                "model.json_",
                "model.model_config_",
                "model.token",
                "model.hf_config",
                "additional_config",
                "instance_id",
            ),
        )
    ]
    plain = Bag.of(VllmConfig(), NESTED)
    assert plain["vllm_config.speculative_config.num_speculative_tokens"] is None
    assert plain["memory.page_size"] == 16
    spec = SpeculativeConfig(method="eagle", num_speculative_tokens=3)
    full = Bag.of(VllmConfig(speculative_config=spec, additional_config={"x": 1}), NESTED)
    mine: Any = getattr(full, "vllm_config")  # noqa: B009
    assert (mine.speculative_config.method, mine.speculative_config.num_speculative_tokens) == ("eagle", 3)
    assert mine.additional_config == {"x": 1}
    assert mine.model.json_ is False
    assert full.origin("vllm_config.speculative_config.method") == "VllmConfig.speculative_config.method"
    assert "hunter2" not in str(full.dump())


def test_values_that_annotations_do_not_allow_are_faults_with_what_to_do() -> None:
    held = ServerArgs("/m", tp_size="four", random_seed=1.5, api_key=3, hooks={"f": print})  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        Bag.of(held, FLAT)
    told = {fault.key: fault for fault in caught.value.faults}
    assert set(told) == {
        "server_args.tp_size",
        "server_args.random_seed",
        "server_args.api_key",
        "server_args.hooks",
    } | {"parallel.tp_size"}
    assert str(told["server_args.tp_size"]) == (
        "ServerArgs.tp_size: server_args.tp_size: is annotated as a whole number, and holds the text 'four'; "
        "mend the annotation, or write leave_out=['tp_size'] in schema_from"
    )
    assert "3" not in told["server_args.api_key"].message
    shorter = schema_from(ServerArgs, leave_out=["tp_size", "random_seed", "api_key", "hooks"])
    assert Bag.of(held, shorter).ignored["hooks"] == "the schema leaves it out"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: schema_from(int), "takes a dataclass or a pydantic model, not int"),
        (lambda: schema_from(ServerArgs("/m")), "takes a dataclass or a pydantic model, not a ServerArgs"),  # type: ignore[arg-type]
        (lambda: schema_from(ServerArgs, name="exec"), "cannot be called 'exec'"),
        (lambda: schema_from(ServerArgs, name="model_dump"), "cannot be called 'model_dump'"),
        (lambda: schema_from(ServerArgs, name="a b"), "cannot be called 'a b'"),
        (lambda: schema_from(ServerArgs, leave_out=["tp_szie"]), "has no field 'tp_szie'; did you mean tp_size?"),
        (lambda: schema_from(ServerArgs, answers={"tp": "parallel.tp_size"}), "has no field 'tp'"),
        (lambda: schema_from(ServerArgs, answers={"tp_size": "parallel.tp_szie"}), "did you mean parallel.tp_size?"),
        (lambda: Bag.of(ServerArgs("/m"), Config), "takes a schema that schema_from made, and Config is none"),
    ],
)
def test_what_it_cannot_be_made_of(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(RegistrationError, match=told.replace("?", r"\?")):
        make()


def test_an_object_of_another_class_is_refused() -> None:
    with pytest.raises(TypeError, match="the schema is one of ServerArgs, and this is a VllmConfig"):
        Bag.of(VllmConfig(), FLAT)


@dataclasses.dataclass
class Sglang:
    """With names that SGLang's record has."""

    model_path: str = "/m"
    tp_size: int = 1
    attention_backend: str | None = None
    disable_cuda_graph: bool = False
    chunked_prefill_size: int | None = None


def test_a_known_kind_of_record_answers_by_itself(checkpoint: Callable[..., Path]) -> None:
    schema = schema_from(Sglang, record="sglang")
    path = checkpoint("one", num_attention_heads=24)
    held = Sglang(str(path), tp_size=8, attention_backend="triton", disable_cuda_graph=True, chunked_prefill_size=4096)
    bag = Bag.of(held, schema)
    assert (bag["parallel.tp_size"], bag["exec.attention.backend"], bag["exec.graph"]) == (8, "triton", False)
    assert bag["model.num_heads"] == 24, "the checkpoint is read"
    assert bag["sglang.chunked_prefill_size"] == 4096
    assert not bag.ignored
    assert bag.origin("parallel.tp_size").startswith("record sglang")
    assert Bag.of(Sglang(), schema, model=path)["model.num_heads"] == 24


def test_a_derived_schema_is_one_like_any_other() -> None:
    bag = load(
        {"vllm_config.cache_config.block_size": 32}, schema=NESTED, env={"CONFBAG__VLLM_CONFIG__INSTANCE_ID": "x"}
    )
    assert (bag["vllm_config.cache_config.block_size"], bag["vllm_config.instance_id"]) == (32, "x")
    with pytest.raises(ConfigError, match=r"did you mean vllm_config\.model\.json_\?"):
        load({"vllm_config.model.json": True}, schema=NESTED, env={})
    assert name_of(NESTED).endswith(":NESTED")
    assert json.dumps(bag.dump())
