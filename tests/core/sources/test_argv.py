"""Settings from `--set`, and from a program's overrides."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from types import MappingProxyType

import pytest

from confbag.sources.argv import read_argv
from confbag.sources.keys import Keys
from confbag.sources.overrides import read_overrides
from confbag.words.provenance import Layer, Setting


def test_both_spellings_and_every_kind_of_value(keys: Keys) -> None:
    argv = [
        "--set",
        "exec.deterministic=true",
        "--set=exec.graph=false",
        "--set",
        "exec.attention={decode: fa3, draft: auto}",
    ]
    argv += [
        "--set",
        "exec.kernels.pin={kvcache.last_loc: reference}",
        "--set",
        "model.path=a=b",
        "--set",
        "model.dtype=null",
    ]
    found = read_argv(argv, keys)
    assert not found.faults
    assert {setting.key: setting.value for setting in found.settings} == {
        "exec.deterministic": True,
        "exec.graph": False,
        "exec.attention.decode": "fa3",
        "exec.attention.draft": "auto",
        "exec.kernels.pin": {"kvcache.last_loc": "reference"},
        "model.path": "a=b",
        "model.dtype": None,
    }
    assert found.settings[1] == Setting("exec.graph", False, Layer.ARGV, "--set", "false")


def test_the_order_of_arguments_never_matters(keys: Keys) -> None:
    pairs = ["exec.graph=false", "memory.page_size=64", "exec.attention.backend=fa3"]
    answers = {
        frozenset(
            (setting.key, setting.value) for setting in read_argv(["--set", a, "--set", b, "--set", c], keys).settings
        )
        for a, b, c in itertools.permutations(pairs)
    }
    assert len(answers) == 1


def test_twice_must_agree(keys: Keys) -> None:
    assert not read_argv(["--set", "exec.graph=true", "--set", "exec={graph: true}"], keys).faults
    for argv in (
        ["--set", "exec.graph=true", "--set", "exec.graph=false"],
        ["--set", "exec.graph=true", "--set=exec={graph: false}"],
    ):
        (fault,) = read_argv(argv, keys).faults
        assert str(fault) == "--set: exec.graph: is given twice with different values; keep one"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--set"], "last argument"),
        (["--set", "hunter2"], "KEY=VALUE"),
        (["--set", "exec.graph"], "exec.graph: lacks a value"),
        (["--set", "exec.graph="], "is empty"),
        (["hunter2"], "argument 1 is not a --set"),
        (["--set", "exec.graph=true", "--preset=hunter2"], "argument 3 is not a --set"),
        (["--set", "exec.grph=hunter2"], "did you mean exec.graph?"),
        (["--set", "attention=hunter2"], "is retired; write exec.attention.backend"),
        (["--set", "exec.kernels.pin.kvcache.last_loc=hunter2"], "exec.kernels.pin: {NAME: VALUE}"),
        (["--set", "exec=hunter2"], "is a section"),
        (["--set", "=hunter2"], "unknown key"),
        (["--set", "preset=debug"], "--preset"),
        (["--set", "exec.graph=[hunter2"], "closing bracket"),
    ],
)
def test_what_is_wrong_is_said_without_the_value(keys: Keys, argv: list[str], told: str) -> None:
    found = read_argv(argv, keys)
    (fault,) = found.faults
    assert told in str(fault)
    assert "hunter2" not in str(fault)


def test_every_fault_at_once(keys: Keys) -> None:
    assert len(read_argv(["x", "--set", "a", "--set", "exec.grph=1", "--set"], keys).faults) == 4


def test_overrides_take_dotted_and_nested_mappings_of_any_kind(keys: Keys) -> None:
    values = MappingProxyType({"exec": OrderedDict({"attention.decode": "fa3"}), "exec.graph": False})
    found = read_overrides("tuner", values, keys)
    assert not found.faults
    assert found.settings == (
        Setting("exec.attention.decode", "fa3", Layer.OVERRIDE, "override tuner"),
        Setting("exec.graph", False, Layer.OVERRIDE, "override tuner"),
    )


def test_overrides_that_are_none(keys: Keys) -> None:
    (fault,) = read_overrides("tuner", ["exec.graph"], keys).faults
    assert str(fault) == "override tuner: must be a mapping of keys to values, not a list; write {'exec.graph': False}"
    (fault,) = read_overrides("tuner", {"exec.grph": "hunter2"}, keys).faults
    assert str(fault) == "override tuner: exec.grph: unknown key; did you mean exec.graph?"
