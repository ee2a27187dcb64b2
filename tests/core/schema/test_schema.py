"""The schema: its leaves, an engine's own namespaces, retired keys, and the JSON schema for editors."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import ClassVar, Literal

import jsonschema
import pytest
from pydantic import Field

from confbag import Config, ConfigError, RegistrationError, Secret, load
from confbag.namespaces.fields import Auto, Namespace, Positive
from confbag.schema.editor import json_schema
from confbag.schema.leaves import leaves, namespaces


class Colour(Enum):
    RED = "red"


class Mine(Namespace):
    answer: int = 42
    backend: Literal["auto", "fast"] = "auto"
    width: Auto[Positive] = Field(default=8, description="how wide")
    hosts: tuple[str, ...] = ()
    folder: Path | None = None
    colour: Colour = Colour.RED
    tags: frozenset[str] = frozenset()
    token: Secret | None = None
    noise: int = Field(default=0, json_schema_extra={"fingerprint": False})


class MyConfig(Config):
    retired: ClassVar[dict[str, str]] = {"mine.reply": "mine.answer"}

    mine: Mine = Mine(answer=7)


def test_every_field_is_described() -> None:
    assert [key for key, leaf in leaves(Config).items() if not leaf.description] == []


def test_defaults_are_what_a_bag_holds() -> None:
    values = load(env={}).values()
    assert {key: leaf.default for key, leaf in leaves(Config).items()} == dict(values)
    assert [key for key, leaf in leaves(Config).items() if leaf.auto] == list(load(env={}).unresolved())


def test_leaves_of_an_engine() -> None:
    known = leaves(MyConfig)
    assert known["mine.answer"].default == 7
    assert not known["mine.backend"].auto
    assert known["mine.width"].auto
    assert known["mine.token"].secret
    assert not known["mine.token"].fingerprint
    assert not known["mine.noise"].fingerprint
    assert not known["mine.answer"].auto
    assert "mine" in namespaces(MyConfig)
    assert "exec.attention" in namespaces(MyConfig)


def test_a_namespace_default_that_differs_from_the_fields() -> None:
    assert load(schema=MyConfig, env={}).mine.answer == 7
    assert load(schema=MyConfig, env={}, overrides={"mine.answer": 8})["mine.answer"] == 8


def test_types_that_text_can_say() -> None:
    bag = load(
        schema=MyConfig,
        env={"CONFBAG__MINE__HOSTS": "[a, b]", "CONFBAG__MINE__TAGS": "[y, x]"},
        argv=["--set", "mine.folder=/models", "--set", "mine.colour=red"],
        overrides={"mine": {"backend": "fast"}},
    )
    assert bag["mine.hosts"] == ("a", "b")
    assert bag["mine.tags"] == frozenset({"x", "y"})
    assert bag["mine.folder"] == Path("/models")
    assert bag["mine.colour"] is Colour.RED
    again = bag.override("objects", {"mine.folder": Path("/other"), "mine.colour": Colour.RED, "mine.hosts": ("c",)})
    assert (again["mine.folder"], again["mine.hosts"]) == (Path("/other"), ("c",))


def test_a_bag_has_no_mutable_values() -> None:
    class Loose(Namespace):
        hosts: list[str] = Field(default_factory=list)

    class LooseConfig(Config):
        loose: Loose = Loose()

    with pytest.raises(RegistrationError, match=r"loose\.hosts holds a list.*tuple"):
        leaves(LooseConfig)


def test_a_value_beside_the_namespaces_is_refused() -> None:
    class Flat(Config):
        answer: int = 1

    with pytest.raises(RegistrationError, match="put it into a namespace"):
        leaves(Flat)


def test_a_namespace_may_not_hide_what_a_bag_has() -> None:
    class Hidden(Config):
        values: Mine = Mine()

    with pytest.raises(RegistrationError, match="'values'"):
        load(schema=Hidden, env={})


def test_a_required_field_that_nothing_sets() -> None:
    class Needs(Namespace):
        name: str

    class NeedsConfig(Config):
        needs: Needs

    with pytest.raises(ConfigError, match=r"needs\.name: expected a text, but nothing sets it; write it in a file"):
        load(schema=NeedsConfig, env={})
    assert load(schema=NeedsConfig, env={}, overrides={"needs.name": "x"})["needs.name"] == "x"


def test_a_retired_key_names_its_replacement() -> None:
    with pytest.raises(ConfigError, match=r"mine\.reply.*retired.*mine\.answer"):
        load(schema=MyConfig, env={}, overrides={"mine.reply": 1})
    with pytest.raises(KeyError, match=r"retired; read mine\.answer"):
        load(schema=MyConfig, env={})["mine.reply"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("attention_backend", "exec.attention.backend"),
        ("nnodes", "parallel.num_nodes"),
        ("tensor_parallel_size", "parallel.tp_size"),
        ("exec.speculative-algorithm", "spec.algorithm"),
    ],
)
def test_an_engines_name_of_a_key_is_told_its_own(name: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"is what sglang calls {key}; write {key}"):
        load(env={}, overrides={name: 1})


def test_an_engines_own_rule_across_keys_names_who_set_them() -> None:
    with pytest.raises(ConfigError) as caught:
        load(env={"CONFBAG__PARALLEL__NODE_RANK": "3"}, argv=["--set", "parallel.num_nodes=2"])
    (fault,) = caught.value.faults
    assert fault.key == "parallel"
    assert fault.where is not None
    assert {"env CONFBAG__PARALLEL__NODE_RANK", "--set"} == set(fault.where.split(" and "))
    assert "node_rank 3" in fault.message


def test_the_json_schema_accepts_what_a_file_may_say() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = {
        "preset": "debug",
        "x-anchors": [1],
        "exec": {
            "graph": "auto",
            "attention": {"decode": "fa3"},
            "kernels": {"pin": {"attention@decode": "fa3"}, "prefer": ["triton"]},
        },
        "memory": {"page_size": 64, "fraction_static": 0.5},
        "model": {"num_heads": None},
    }
    assert list(validator.iter_errors(good)) == []
    for bad in (
        {"exec": {"graph": "yes"}},
        {"exec": {"grap": True}},
        {"exce": {}},
        {"memory": {"page_size": 0}},
        {"model": {"kind": "x"}},
    ):
        assert list(validator.iter_errors(bad)), bad


def test_the_json_schema_describes_every_key_and_none_of_our_marks() -> None:
    schema = json_schema(MyConfig)
    assert '"fingerprint"' not in repr(schema).replace("'", '"')
    assert (
        schema["$defs"]["Exec"]["properties"]["deterministic"]["description"]
        == leaves(Config)["exec.deterministic"].description
    )
    assert schema["$defs"]["Exec"]["properties"]["deterministic"]["default"] is False
