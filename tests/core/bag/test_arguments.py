"""What somebody gives in the place of something else: our error says which argument, and what to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from confbag import (
    Bag,
    Config,
    ConfigError,
    Fault,
    Namespace,
    Record,
    Secret,
    accessor,
    adopt,
    handoff,
    load,
    override,
    publish,
    schema_from,
    use_context,
)

Call = Callable[[], Any]
Refused = Callable[[Call, type[Exception], str], None]


@dataclass
class ServerArgs:
    """An engine's own settings."""

    tp: int = 1


def loading(**given: Any) -> Call:
    return lambda: load(**{"env": {}, **given})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            loading(schema="mini"),
            r"^load\(schema=...\) takes a schema.*not a str; write load\(schema=MyConfig\), the cl",
        ),
        (loading(schema=3), r"load\(schema=...\) takes a schema, .* not an int"),
        (loading(schema=None), r"load\(schema=...\) takes a schema, .* not None"),
        (loading(schema=Config()), r"load\(schema=...\) takes a schema, .* not a Config; .*the class itself"),
        (loading(schema=Namespace), r"not the class Namespace; .*schema_from\(Namespace\)"),
        (loading(schema=ServerArgs), r"not the class ServerArgs; .*schema_from\(ServerArgs\)"),
        (loading(preset=["deterministic"]), r"load\(preset=...\) takes the name of a preset, not a list"),
        (loading(model={"kind": "mla"}), r"load\(model=...\) takes the path .* not a dict; .*load\({'model.kind'"),
        (loading(model=3), r"load\(model=...\) takes the path .* not an int"),
        (loading(record="sglang"), r"load\(record=...\) takes a Record, not a str; .*Record\('sglang', argv="),
        (loading(record={"tp": 1}), r"load\(record=...\) takes a Record, not a dict; .*values={'tp_size': 8}"),
        (loading(record=["--tp", "1"]), r"load\(record=...\) takes a Record, not a list"),
        (loading(env=3), r"load\(env=...\) takes a mapping of variables to texts, not an int"),
        (loading(env="CONFBAG__EXEC__GRAPH=0"), r"load\(env=...\) takes a mapping of variables to texts, not a str"),
        (loading(env={"CONFBAG__EXEC__GRAPH": False}), r"CONFBAG__EXEC__GRAPH takes a text, .*not a bool; .*'false'"),
        (loading(env={"CONFBAG__PARALLEL__TP_SIZE": 8}), r"CONFBAG__PARALLEL__TP_SIZE takes a text, .*not an int"),
        (loading(env={3: "x"}), r"load\(env=...\) takes variables whose names are texts, not an int"),
        (loading(argv=None), r"load\(argv=...\) takes a list of texts, not None; .*or leave it out"),
        (loading(argv="--set x=1"), r"load\(argv=...\) takes a list of texts, not a str; write load\(argv=\['--set'"),
        (loading(argv=3), r"load\(argv=...\) takes a list of texts, not an int"),
        (loading(argv={"exec.graph": False}), r"load\(argv=...\) takes a list of texts, not a dict"),
        (loading(argv=["--set", 3]), r"load\(argv=...\) takes texts, not an int; write argument 2 in quotes"),
        (loading(argv=[None]), r"load\(argv=...\) takes texts, not None; write argument 1"),
        (loading(overrides=3), r"load\(overrides=...\) takes a mapping of keys to values, not an int"),
        (loading(overrides=["exec.graph"]), r"load\(overrides=...\) takes a mapping of keys to values, not a list"),
        (lambda: load(3), r"^load takes paths of YAML files and mappings .* not an int; write load\('serve.yaml'\)"),
        (lambda: load(Record("sglang", argv=[])), r"^load takes paths .* not a Record; .*load\(record="),
        (lambda: Record(3), r"Record takes first the kind of record, not an int; write Record\('sglang'"),
        (lambda: Record(ServerArgs()), r"Record takes first the kind of record, not a ServerArgs"),
        (lambda: Record("sglang", values=3), r"Record\(values=...\) takes a mapping of fields, .* not an int"),
        (lambda: Record("sglang", values=["--tp"]), r"Record\(values=...\) takes a mapping of fields, .* not a list"),
        (lambda: Record("sglang", values=ServerArgs), r"not the class ServerArgs; .*the object itself"),
        (lambda: Record("sglang", argv="--tp 8"), r"Record\(argv=...\) takes a list of the words .* not a str"),
        (lambda: Record("sglang", {"tp": 8}), r"Record\(argv=...\) takes a list of the words .* not a dict; .*values="),
        (lambda: Bag("mini"), r"^Bag takes a schema, .*not a str"),
        (lambda: Bag({"exec.graph": False}), r"^Bag takes a schema, .*not a dict; .*load\({'exec.graph': False}\)"),
        (lambda: Bag(Config, {"exec.graph": False}), r"^Bag\(settings=...\) takes Settings, not a dict; write load\("),
        (lambda: Bag.of(ServerArgs(), 3), r"^Bag.of takes a schema, .*not an int; .*schema_from\(ServerArgs\)"),
        (lambda: Bag.of(ServerArgs(), ServerArgs), r"^Bag.of takes a schema, .*not the class ServerArgs"),
        (
            lambda: Bag.of(ServerArgs, schema_from(ServerArgs)),
            r"one of ServerArgs, and this is the class ServerArgs; write Bag.of\(ServerArgs\(...\), schema\)",
        ),
        (lambda: load(env={})[3], r"^a bag takes a dotted key, not an int; write bag\['exec.graph'\]"),
        (lambda: load(env={})["exec", "graph"], r"^a bag takes a dotted key, not a tuple"),
        (lambda: load(env={})[["exec.graph"]], r"^a bag takes a dotted key, not a list"),
        (lambda: load(env={}).origin(3), r"^a bag takes a dotted key, not an int"),
        (lambda: load(env={}).chain(["exec.graph"]), r"^a bag takes a dotted key, not a list"),
        (lambda: load(env={}).override(3, {}), r"^override takes first a name for the change, .* not an int"),
        (lambda: accessor(Namespace, "x"), r"^accessor takes first the namespace's name, not the class Namespace"),
        (
            lambda: accessor("x", "y"),
            r"^accessor takes second the namespace's class, not a str; .*accessor\('mine', Mine",
        ),
        (lambda: ConfigError("no"), r"^ConfigError takes a list of Faults, not one str; write ConfigError\(\[Fault\("),
        (lambda: ConfigError(Fault(None, None, "no")), r"^ConfigError takes a list of Faults, not one Fault; write"),
        (lambda: ConfigError(3), r"^ConfigError takes a list of Faults, not one int; write"),
        (lambda: Secret(3), r"^Secret takes a text, not an int"),
        (lambda: adopt(load(env={})), r"^adopt takes what handoff gave, not a Bag; write adopt\(blob\)"),
        (lambda: adopt(None), r"^adopt takes what handoff gave, not None"),
        (lambda: adopt(handoff(load(env={})), schema=3), r"adopt\(schema=...\) takes a schema, .*not an int"),
        (lambda: handoff({"exec.graph": False}), r"^handoff takes a Bag or a Plan, not a dict"),
        (lambda: publish(load), r"^publish takes a Bag or a Plan, not a function"),
        (lambda: publish(load(env={}), declares="exec", allow_auto=True), r"declares takes a collection .* not a str"),
        (lambda: publish(load(env={}), declares=3, allow_auto=True), r"declares takes a collection .* not an int"),
        (lambda: use_context(3).__enter__(), r"^use_context takes a Bag or a Plan, not an int"),
        (lambda: schema_from(ServerArgs, name=3), r"schema_from\(name=...\) takes a text, not an int"),
        (lambda: schema_from(ServerArgs, record=ServerArgs), r"schema_from\(record=...\) takes a text, not the class"),
        (lambda: schema_from(ServerArgs, answers=["tp"]), r"schema_from\(answers=...\) takes a mapping .* not a list"),
    ],
)
def test_an_argument_of_another_kind_is_told_what_to_write(refused: Refused, call: Call, says: str) -> None:
    refused(call, TypeError, f"{says}.*; write " if "; " not in says else says)


def test_what_override_changes_is_judged_as_settings_are(refused: Refused) -> None:
    publish(load(env={}), allow_auto=True)
    said = r"^override warm-up: must be a mapping of keys to values, not an int; write {'exec.graph': False}"
    refused(lambda: override("warm-up", 3).__enter__(), ConfigError, said)


def test_no_error_shows_a_value() -> None:
    for call in (
        loading(env={"CONFBAG__EXEC__GRAPH": ("sesame",)}),
        loading(argv=[b"sesame"]),
        loading(record="sesame"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert "sesame" not in str(caught.value)


def test_words_come_from_anything_that_can_be_walked() -> None:
    assert load(env={}, argv=iter(["--set", "exec.graph=false"]))["exec.graph"] is False


def test_one_field_to_leave_out_needs_no_list() -> None:
    assert schema_from(ServerArgs, leave_out="tp").derived.left_out == {"tp": "the schema leaves it out"}
