"""Nested and dotted keys, and what is said about every other one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.sources import Found
from confbag.sources.keys import Keys, same
from confbag.words.provenance import Layer
from confbag.words.suggest import nearest


def flat(keys: Keys, tree: dict[Any, Any]) -> Found:
    return keys.flatten(tree, lambda path: "/".join(map(str, path)), layer=Layer.FILE)


@pytest.mark.parametrize(
    "tree",
    [
        {"exec": {"attention": {"backend": "fa3"}}},
        {"exec.attention.backend": "fa3"},
        {"exec": {"attention.backend": "fa3"}},
        {"exec.attention": {"backend": "fa3"}},
    ],
)
def test_nested_and_dotted_are_the_same(keys: Keys, tree: dict[str, Any]) -> None:
    found = flat(keys, tree)
    assert not found.faults
    assert [(setting.key, setting.value) for setting in found.settings] == [("exec.attention.backend", "fa3")]


def test_the_same_value_twice_is_one_setting_and_another_value_a_fault(keys: Keys) -> None:
    tree = {"exec": {"graph": True}, "exec.graph": True}
    assert len(flat(keys, tree).settings) == 1
    assert not flat(keys, tree).faults
    (fault,) = flat(keys, {"exec": {"graph": True}, "exec.graph": False}).faults
    assert (fault.where, fault.key) == ("exec.graph", "exec.graph")
    assert "exec/graph" in fault.message
    (fault,) = flat(keys, {"exec": {"graph": True}, "exec.graph": 1}).faults
    assert "twice" in fault.message


def test_every_wrong_key_is_reported_at_once_and_no_value_with_it(keys: Keys) -> None:
    tree = {
        "exec": {"determinstic": "hunter2", "attention": "hunter2", "graph": True},
        "attention": "hunter2",
        "exec.kernels.pin.kvcache.last_loc": "hunter2",
        "memory": ["hunter2"],
        "spec": None,
        5: "hunter2",
    }
    found = flat(keys, tree)
    said = {fault.key: fault.message for fault in found.faults}
    assert said["exec.determinstic"] == "unknown key; did you mean exec.deterministic?"
    assert "section" in said["exec.attention"]
    assert "retired; write exec.attention.backend" in said["attention"]
    assert "exec.kernels.pin: {NAME: VALUE}" in said["exec.kernels.pin.kvcache.last_loc"]
    assert "section" in said["memory"]
    assert "section" in said["spec"]
    assert len(found.faults) == 7
    assert not any("hunter2" in str(fault) for fault in found.faults)
    assert [setting.key for setting in found.settings] == ["exec.graph"]


def test_a_key_that_reads_like_no_name_is_not_repeated(keys: Keys) -> None:
    (fault,) = keys.flatten({"sk-live-9f8A7b": "x"}, lambda path: "f.yaml:1:1", layer=Layer.FILE).faults
    assert fault.key is None
    assert "sk-live" not in str(fault)
    assert "exec" in fault.message


def test_an_empty_section_is_fine(keys: Keys) -> None:
    assert flat(keys, {"exec": {}, "memory": {}}) == Found()


def test_a_pin_is_one_setting(keys: Keys) -> None:
    pin = {"kvcache.last_loc": "reference", "attention@decode": "fa3"}
    (setting,) = flat(keys, {"exec": {"kernels": {"pin": pin}}}).settings
    assert setting.value == pin


def test_thousands_of_unknown_keys_are_counted_not_listed(keys: Keys) -> None:
    found = flat(keys, {f"key_{number}": 1 for number in range(5000)})
    assert len(found.faults) <= 201
    assert "4800" in found.faults[-1].message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(
    tree=st.dictionaries(st.sampled_from(["exec", "exec.graph", "attention", "x", "exec.attention.backend"]), VALUES)
)
def test_any_tree_gives_known_keys_once_and_never_raises(keys: Keys, tree: dict[str, Any]) -> None:
    found = flat(keys, tree)
    names = [setting.key for setting in found.settings]
    assert len(names) == len(set(names))
    assert set(names) <= set(keys.leaves)


def test_one_is_not_true_at_any_depth() -> None:
    assert same({"a": [1, 2.0]}, {"a": [1, 2.0]})
    assert not same({"a": [1]}, {"a": [True]})
    assert not same([1], [1, 2])
    assert same(float("nan"), float("nan"))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("exec.determinstic", "exec.deterministic"),
        ("deterministic", "exec.deterministic"),
        ("attention_backend", "exec.attention.backend"),
        ("exec.attention-backend", "exec.attention.backend"),
        ("EXEC.GRAPH", "exec.graph"),
        ("tp_size", "parallel.tp_size"),
        ("memory.pagesize", "memory.page_size"),
        ("kv_cache_dtype", "memory.kv_cache_dtype"),
        ("nothing_like_it_at_all", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_nearest(keys: Keys, word: str, meant: str | None) -> None:
    assert nearest(word, keys.leaves) == meant
