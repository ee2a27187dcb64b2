"""The bag: values, provenance, decisions of a plan, overrides, fingerprint, pickling."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import Bag, ConfigError, UnresolvedError, load
from confbag.schema.config import Config
from confbag.schema.leaves import leaves
from confbag.words.provenance import Filled, Layer

VALUES: dict[str, list[Any]] = {
    "exec.deterministic": [True, False],
    "exec.graph": [True, False, "auto"],
    "exec.attention.decode": ["fa3", "triton", "auto"],
    "exec.kernels.pin": [{"kvcache.last_loc": "triton"}, {}],
    "exec.kernels.prefer": [["triton", "reference"], []],
    "parallel.tp_size": [1, 2, 8],
    "memory.fraction_static": [0.25, None],
    "memory.page_size": [1, 64, "auto"],
    "spec.algorithm": ["eagle", "none"],
}
settings_of = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in VALUES.items()})


def held(key: str, value: Any) -> Any:
    """The value as a bag holds it."""
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    if isinstance(value, list):
        return tuple(value)
    return value.upper() if key == "spec.algorithm" and value != "none" else value


def test_a_value_by_attribute_and_by_key() -> None:
    bag = load(env={}, overrides={"exec.attention.decode": "fa3"})
    assert bag.exec.attention.decode == bag["exec.attention.decode"] == bag.values()["exec.attention.decode"] == "fa3"
    assert bag.values() is bag.values()


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("exec.determinstic", "did you mean exec.deterministic"),
        ("exec", "namespace"),
        ("page_size", "did you mean memory.page_size"),
    ],
)
def test_an_unknown_key(key: str, says: str) -> None:
    bag = load(env={})
    for read in (bag.__getitem__, bag.chain, bag.setting, bag.origin, bag.is_set):
        with pytest.raises(KeyError, match=says):
            read(key)


def test_nothing_of_a_bag_can_be_changed() -> None:
    bag = load(env={})
    with pytest.raises(AttributeError, match="override"):
        bag.exec = bag.exec  # the assignment is what is tested
    with pytest.raises(AttributeError):
        del bag.exec
    with pytest.raises(AttributeError):
        bag.exec.graph = True
    with pytest.raises(TypeError):
        bag.values()["exec.graph"] = True
    with pytest.raises(AttributeError):
        _ = bag.exec.grahp
    assert not hasattr(bag.exec, "__dict__")


def test_what_is_still_auto_is_told_when_it_is_read() -> None:
    bag = load(env={})
    with pytest.raises(UnresolvedError, match=r"^exec\.attention\.decode is still auto: a plan fills it.*make_plan"):
        _ = bag.exec.attention.decode
    assert (bag["exec.attention.decode"], bag.values()["memory.page_size"]) == ("auto", "auto")
    assert "decode='auto'" in repr(bag.exec)
    again = pickle.loads(pickle.dumps(bag.exec))
    assert again == bag.exec
    with pytest.raises(UnresolvedError, match=r"exec\.graph"):
        _ = again.graph


def test_the_chain_begins_with_the_default_and_ends_with_the_winner(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("exec:\n  graph: false\n")
    bag = load(file, env={"CONFBAG__EXEC__GRAPH": "true"}, argv=["--set", "exec.graph=auto"])
    assert [(one.layer, one.value) for one in bag.chain("exec.graph")] == [
        (Layer.DEFAULT, "auto"),
        (Layer.FILE, False),
        (Layer.ENVIRONMENT, True),
        (Layer.ARGV, "auto"),
    ]
    assert bag.origin("exec.graph") == "--set"
    assert bag.chain("exec.graph")[1].origin == f"{file}:2:3"
    assert [one.layer for one in bag.chain("exec.compile")] == [Layer.DEFAULT]


def test_is_set_means_that_somebody_asked() -> None:
    bag = load(env={"CONFBAG__EXEC__GRAPH": "auto", "CONFBAG__EXEC__COMPILE": "false"})
    assert not bag.is_set("exec.graph")
    assert bag.is_set("exec.compile")
    assert not bag.is_set("exec.deterministic")
    assert not bag.resolve({"exec.graph": Filled(True, "r", "w")}).is_set("exec.graph")


PHASES = tuple(f"exec.attention.{phase}" for phase in ("prefill", "decode", "draft"))


@given(st.lists(settings_of, min_size=1, max_size=3))
def test_the_highest_source_wins_whatever_the_others_say(given_: list[dict[str, Any]]) -> None:
    bag = load(env={}, overrides=given_[0])
    for number, changes in enumerate(given_[1:]):
        bag = bag.override(f"number {number}", changes)
    merged: dict[str, Any] = {}
    for changes in given_:
        pins = {**merged.get("exec.kernels.pin", {}), **changes.get("exec.kernels.pin", {})}
        merged |= changes
        if "exec.kernels.pin" in changes:
            merged["exec.kernels.pin"] = pins
        if "exec.attention.backend" in changes:
            merged |= {key: "auto" for key in PHASES if key in merged and key not in changes}
    for key in leaves(Config):
        assert bag[key] == (held(key, merged[key]) if key in merged else leaves(Config)[key].default)
        assert bag.is_set(key) == (key in merged and merged[key] != "auto")
        assert [one.rank for one in bag.chain(key)] == sorted(one.rank for one in bag.chain(key))


@given(settings_of)
def test_a_bag_survives_pickle_and_copies(given_: dict[str, Any]) -> None:
    bag = load(env={}, overrides=given_)
    for again in (pickle.loads(pickle.dumps(bag)), copy.deepcopy(bag), copy.copy(bag)):
        assert again == bag
        assert hash(again) == hash(bag)
        assert again.fingerprint() == bag.fingerprint()
        assert again.values() == bag.values()
        assert [again.chain(key) for key in leaves(Config)] == [bag.chain(key) for key in leaves(Config)]
    namespace = pickle.loads(pickle.dumps(bag.exec))
    assert namespace == copy.deepcopy(bag.exec) == bag.exec
    assert type(namespace) is type(bag.exec)
    assert hash(namespace) == hash(bag.exec)


def test_bags_are_equal_by_values_and_schema() -> None:
    class Other(Config):
        pass

    one = load(env={}, overrides={"exec.graph": True})
    assert one == load(env={"CONFBAG__EXEC__GRAPH": "true"})
    assert one != load(env={})
    assert one != load(env={}, schema=Other, overrides={"exec.graph": True})
    assert one != "a bag"
    assert one.exec != one.device


def test_resolve_says_which_rule_and_why() -> None:
    bag = load(env={}).resolve({"exec.graph": Filled(True, "graphs-on-cuda", "cuda captures")})
    setting = bag.setting("exec.graph")
    assert (bag["exec.graph"], setting.layer, setting.origin, setting.why) == (
        True,
        Layer.RULE,
        "rule graphs-on-cuda",
        "cuda captures",
    )
    assert "exec.graph" not in bag.unresolved()
    assert bag.resolve({"exec.graph": Filled(False, "later", "x")}).chain("exec.graph")[-1].value is False
    assert len(bag.resolve({"exec.graph": Filled(False, "later", "x")}).chain("exec.graph")) == 2


def test_resolve_never_changes_what_somebody_set() -> None:
    bag = load(env={"CONFBAG__EXEC__GRAPH": "false"})
    with pytest.raises(
        ConfigError, match=r"env CONFBAG__EXEC__GRAPH: exec\.graph: .*rule speed.*would change it \(faster\)"
    ):
        bag.resolve({"exec.graph": Filled(True, "speed", "faster")})
    assert bag.resolve({"exec.graph": Filled(False, "speed", "x")}).origin("exec.graph") == "env CONFBAG__EXEC__GRAPH"


def test_a_rules_bad_value_names_the_rule_and_never_you() -> None:
    with pytest.raises(ConfigError) as caught:
        load(env={}).resolve({"exec.graph": Filled("sometimes", "odd", "it can"), "exec.nope": Filled(1, "odd", "x")})
    assert "rule odd: exec.nope: no key" in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        load(env={}).resolve({"exec.graph": Filled("sometimes", "odd", "it can")})
    assert str(caught.value).startswith(
        "rule odd: exec.graph: expected true, false, piecewise, full or auto, got the text 'sometimes'; it can;"
    )
    assert "you" not in str(caught.value)


def test_an_override_wins_over_a_rule_and_takes_its_place(planned: Bag) -> None:
    bag = planned.override("warm-up", {"exec": {"graph": False}})
    assert bag["exec.graph"] is False
    assert bag.origin("exec.graph") == "override warm-up"
    assert Layer.RULE not in {one.layer for one in bag.chain("exec.graph")}
    assert planned["exec.graph"] is True
    assert bag.override("again", {"exec.graph": "auto"}).unresolved() == ("exec.graph",)


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"exec.grap": 1}, "override x: .*did you mean exec.graph"), ({"exec.graph": 1}, "got the number 1")],
)
def test_an_override_that_is_wrong(planned: Bag, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        planned.override("x", changes)


def test_facts_read_for_one_path_never_answer_for_another(checkpoint: Callable[..., Path]) -> None:
    one = checkpoint("one", num_attention_heads=32, hidden_size=4096)
    two = checkpoint("two", num_attention_heads=8, num_key_value_heads=2, hidden_size=1024)
    bag = load(env={}, overrides={"model.path": str(one)})
    assert (bag["model.num_heads"], bag.chain("model.num_heads")[-1].layer) == (32, Layer.CHECKPOINT)
    other = bag.override("draft", {"model.path": str(two)})
    assert (other["model.num_heads"], other["model.num_kv_heads"]) == (8, 2)
    assert bag.override("hub", {"model.path": "meta/llama"})["model.num_heads"] is None
    assert bag.override("same", {"model.path": str(one)}) == bag
    assert bag.override("kept", {"exec.compile": True})["model.num_heads"] == 32


def test_another_checkpoint_drops_what_rules_decided_for_the_first(checkpoint: Callable[..., Path]) -> None:
    one, two = (checkpoint(name, num_attention_heads=heads) for name, heads in (("one", 32), ("two", 8)))
    bag = load(env={}, overrides={"model.path": str(one)}).resolve({"exec.graph": Filled(True, "r", "w")})
    assert bag.override("x", {"model.path": str(two)})["exec.graph"] == "auto"
    twin = checkpoint("twin", num_attention_heads=32)
    assert bag.override("x", {"model.path": str(twin)})["exec.graph"] is True


def test_a_checkpoint_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"config\.json"):
        load(env={}).override("x", {"model.path": str(tmp_path)})


def test_a_fingerprint_differs_with_every_value_that_counts() -> None:
    samples: dict[str, Any] = {
        "exec.kernels.pin": {"a": "b"},
        "exec.kernels.prefer": ["a"],
        "model.kind": "mla",
        "memory.fraction_static": 0.5,
    }
    base = load(env={})
    for key, leaf in leaves(Config).items():
        for value in (samples.get(key), True, 2, "other", "device", "run_to_run", "decode", "bfloat16", "warn"):
            try:
                changed = base.override(
                    "x", {"parallel.num_nodes": 3, key: value} if key == "parallel.node_rank" else {key: value}
                )
            except ConfigError:
                continue
            if changed[key] != leaf.default and leaf.fingerprint:
                assert changed.fingerprint() != base.fingerprint(), key
                break
        else:
            assert not leaf.fingerprint, key
    assert base.override("x", {"device.index": 3}).fingerprint() == base.fingerprint()


def test_a_fingerprint_does_not_know_who_set_a_value() -> None:
    assert (
        load(env={"CONFBAG__EXEC__GRAPH": "true"}).fingerprint()
        == load(env={}, overrides={"exec.graph": True}).fingerprint()
    )
    pins = [{"b": "x", "a": "y"}, {"a": "y", "b": "x"}]
    one, two = (load(env={}, overrides={"exec.kernels.pin": pin}) for pin in pins)
    assert one.fingerprint() == two.fingerprint()


def test_dump_is_what_a_file_would_say() -> None:
    bag = load(
        env={},
        overrides={
            "exec.kernels.pin": {"b": "x", "a": "y"},
            "exec.kernels.prefer": ["triton"],
            "spec.algorithm": "eagle",
        },
    )
    dump = bag.dump()
    assert dump["exec"]["kernels"]["pin"] == {"a": "y", "b": "x"}
    assert dump["exec"]["kernels"]["prefer"] == ["triton"]
    assert load(env={}, overrides=dump) == bag
