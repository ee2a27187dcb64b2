"""Schemas made from an engine's classes: what fields answer to, the defaults, and nothing lost without a word."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, Optional, Union

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict

from confbag import Bag, ConfigError, RegistrationError, adopt, handoff, load, schema_from
from confbag.process.context import unpublish
from confbag.schema.identity import name_of
from confbag.schema.leaves import leaves


@dataclasses.dataclass
class Args:
    """Flat."""

    tp_size: int = 1
    attention_backend: str | None = None
    also_tp: int | None = None


ANSWERS = {"tp_size": "parallel.tp_size", "attention_backend": "exec.attention.backend"}
SCHEMA = schema_from(Args, answers=ANSWERS)
TWICE = schema_from(Args, name="twice", answers={**ANSWERS, "also_tp": "parallel.tp_size"})


@dataclasses.dataclass
class Inner:
    q: int = 1
    z: int = 2


@dataclasses.dataclass
class Outer:
    i: Inner = dataclasses.field(default_factory=lambda: Inner(q=9))
    k: Optional[Inner] = dataclasses.field(default_factory=Inner)  # noqa: UP045 - as engines write it
    absent: Inner = None  # type: ignore[assignment]


class ModelConfig(BaseModel):
    model: str = "m"
    layers: int = pydantic.Field(default=4, ge=1, le=8)


class EngineConfig(BaseModel):
    """vLLM's idiom: a config that a validator fills in."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    model_settings: ModelConfig = pydantic.Field(default=None)  # type: ignore[assignment]
    copy_: int = 2
    hooks: dict[Any, Any] = pydantic.Field(default_factory=dict)
    either: dict[Union[int, str], str] = pydantic.Field(default_factory=dict)  # noqa: UP007
    by_rank: dict[int, str] = pydantic.Field(default_factory=dict)


ENGINE = schema_from(EngineConfig)
OUTER = schema_from(Outer)


# What a field says of a key of ours


def test_what_a_file_says_of_an_answered_field_is_said_of_our_key() -> None:
    bag = load({"args": {"tp_size": 4, "attention_backend": "triton"}}, schema=SCHEMA, env={})
    assert (bag["args.tp_size"], bag["parallel.tp_size"], bag["exec.attention.backend"]) == (4, 4, "triton")
    assert bag.origin("parallel.tp_size") == bag.origin("args.tp_size") == "load argument 1"
    assert "args.tp_size answers to it" in str(bag.setting("parallel.tp_size").why)


def test_a_field_that_says_nothing_answers_nothing() -> None:
    bag = load({"args": {"attention_backend": None}}, schema=SCHEMA, env={})
    assert bag["exec.attention.backend"] == "auto"
    assert not bag.is_set("parallel.tp_size")


def test_the_higher_layer_wins_whichever_of_the_two_it_names() -> None:
    low, high = {"args.tp_size": 4}, ["--set", "parallel.tp_size=2"]
    assert load(low, schema=SCHEMA, env={}, argv=high)["parallel.tp_size"] == 2
    low, high = {"parallel.tp_size": 2}, ["--set", "args.tp_size=4"]
    assert load(low, schema=SCHEMA, env={}, argv=high)["parallel.tp_size"] == 4


def test_one_source_that_says_two_things_of_one_key_is_a_fault() -> None:
    with pytest.raises(ConfigError, match=r"args\.tp_size: says otherwise than parallel\.tp_size .*write one of them"):
        load({"args.tp_size": 4, "parallel.tp_size": 2}, schema=SCHEMA, env={})
    assert load({"args.tp_size": 4, "parallel.tp_size": 4}, schema=SCHEMA, env={})["parallel.tp_size"] == 4
    with pytest.raises(ConfigError, match=r"also_tp: says otherwise than parallel\.tp_size"):
        load({"twice.tp_size": 4, "twice.also_tp": 2}, schema=TWICE, env={})


def test_an_override_says_both() -> None:
    bag = Bag.of(Args(attention_backend="triton"), SCHEMA).override("test", {"args.attention_backend": "fa3"})
    assert (bag["args.attention_backend"], bag["exec.attention.backend"]) == ("fa3", "fa3")


def test_an_object_whose_fields_answer_one_key_differently_is_a_fault() -> None:
    with pytest.raises(ConfigError, match=r"Args\.also_tp: parallel\.tp_size: is answered by Args\.tp_size too"):
        Bag.of(Args(tp_size=2, also_tp=3), TWICE)
    assert Bag.of(Args(tp_size=2, also_tp=2), TWICE)["parallel.tp_size"] == 2


def test_a_class_of_settings_answers_to_nothing() -> None:
    with pytest.raises(RegistrationError, match=r"answers: i is a class of settings.*write i\.q or i\.z"):
        schema_from(Outer, answers={"i": "parallel.tp_size"})


# Defaults are the engine's


def test_what_an_engine_has_by_default_nobody_set() -> None:
    bag = Bag.of(Outer(), OUTER)
    assert {key: leaf.default for key, leaf in leaves(OUTER).items() if key.startswith("outer.")} == {
        "outer.i.q": 9,
        "outer.i.z": 2,
        "outer.k.q": 1,
        "outer.k.z": 2,
        "outer.absent.q": None,
        "outer.absent.z": None,
    }
    assert [setting.key for setting in bag.settings()] == []
    changed = Bag.of(Outer(i=Inner(q=1), k=None, absent=Inner(q=3)), OUTER)
    assert {setting.key: setting.value for setting in changed.settings()} == {
        "outer.i.q": 1,
        "outer.k.q": None,
        "outer.k.z": None,
        "outer.absent.q": 3,
        "outer.absent.z": 2,
    }
    assert load(schema=OUTER, env={})["outer.i.q"] == 9


def test_a_config_that_is_none_by_default_is_optional() -> None:
    assert Bag.of(EngineConfig(), ENGINE)["engine_config.model_settings.layers"] is None
    filled = EngineConfig(model_settings=ModelConfig(layers=3))
    assert Bag.of(filled, ENGINE)["engine_config.model_settings.layers"] == 3


def test_constraints_are_the_engines() -> None:
    class Bounded(BaseModel):
        n: int = pydantic.Field(default=4, ge=1, le=8)
        text: str = pydantic.Field(default="", max_length=3)
        odd: int = pydantic.Field(default=0, ge=1)

    schema = schema_from(Bounded)
    assert load({"bounded.n": 8}, schema=schema, env={})["bounded.n"] == 8
    for given in ({"bounded.n": 9}, {"bounded.n": 0}, {"bounded.text": "four"}):
        with pytest.raises(ConfigError, match="expected"):
            load(given, schema=schema, env={})
    assert load({"bounded.odd": -1}, schema=schema, env={})["bounded.odd"] == -1, "its own default breaks the rule"


# Nothing is lost without a word


@pytest.mark.parametrize("hooks", [{0: "a"}, {1: 2, "1": 3}, {None: 3}, {"deep": {1: 2}}])
def test_a_mapping_whose_keys_are_no_texts_is_a_fault(hooks: dict[Any, Any]) -> None:
    with pytest.raises(ConfigError, match=r"EngineConfig\.hooks: engine_config\.hooks: .*leave_out=\['hooks'\]"):
        Bag.of(EngineConfig(hooks=hooks), ENGINE)


def test_keys_that_an_annotation_names_are_kept() -> None:
    bag = Bag.of(EngineConfig(by_rank={0: "a", 1: "b"}, hooks={"a": [1, {"b": None}]}), ENGINE)
    assert bag["engine_config.by_rank"] == {0: "a", 1: "b"}
    assert bag["engine_config.hooks"] == {"a": (1, {"b": None})}


def test_names_that_pydantic_keeps_do_not_collide() -> None:
    @dataclasses.dataclass
    class Names:
        copy: int = 1
        copy_: int = 2
        json: int = 3

    bag = Bag.of(Names(copy=7), schema_from(Names))
    held = {key: value for key, value in bag.values().items() if key.startswith("names.")}
    assert held == {"names.copy__": 7, "names.copy_": 2, "names.json_": 3}


def test_what_a_subclass_or_an_extra_field_holds_is_listed() -> None:
    @dataclasses.dataclass
    class Deeper(Inner):
        y: int = 5

    @dataclasses.dataclass
    class Wider(Outer):
        more: int = 1

    bag = Bag.of(Wider(i=Deeper()), OUTER)
    assert set(bag.ignored) == {"more", "i.y"}
    assert "Outer has no such field" in bag.ignored["more"]
    assert set(Bag.of(EngineConfig(extra=1), ENGINE).ignored) == {"extra"}  # type: ignore[call-arg]


def test_an_attribute_that_was_never_set_is_a_fault() -> None:
    @dataclasses.dataclass
    class Late:
        x: int = dataclasses.field(init=False)
        y: int = 1

    with pytest.raises(ConfigError, match=r"Late\.x: late\.x: is not set on the object; set it before Bag\.of"):
        Bag.of(Late(), schema_from(Late))


# Its name


def test_a_schema_is_called_what_its_module_calls_it() -> None:
    bag = Bag.of(Args(tp_size=3), SCHEMA)
    assert name_of(SCHEMA) == f"{__name__}:SCHEMA"
    assert pickle.loads(pickle.dumps(bag)) == bag
    adopted = adopt(handoff(bag), role="test", allow_auto=True)
    assert (adopted.schema, adopted["parallel.tp_size"]) == (SCHEMA, 3)
    unpublish()


# What it refuses


def _raising() -> int:
    raise ZeroDivisionError


@dataclasses.dataclass
class Odd:
    x: int = dataclasses.field(default_factory=_raising)
    y: int = 1


def test_a_default_that_cannot_be_made_leaves_its_field_out() -> None:
    schema = schema_from(Odd)
    assert schema.derived.left_out == {"x": "its default cannot be made: ZeroDivisionError"}  # type: ignore[attr-defined]


def test_a_default_made_of_other_fields_is_read_of_the_object() -> None:
    class Made(BaseModel):
        x: int = 1
        y: int = pydantic.Field(default_factory=lambda values: values["x"] + 1)

    assert Bag.of(Made(x=3), schema_from(Made))["made.y"] == 4


@pytest.mark.parametrize("name", ["derived", "retired", "_x", "exec", "copy", "two words", "model_fields"])
def test_a_namespace_cannot_be_called_what_a_schema_has(name: str) -> None:
    with pytest.raises(RegistrationError, match=rf"a namespace cannot be called '{name}'; write another with name="):
        schema_from(Args, name=name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: schema_from(Args, name=3), "name"),  # type: ignore[arg-type]
        (lambda: schema_from(Args, answers=["tp_size"]), "answers"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_name_or_mapping_is_told_what_to_write(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()
