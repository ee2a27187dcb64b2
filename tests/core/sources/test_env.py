"""Settings from environment variables."""

from __future__ import annotations

import pytest

from confbag.sources.env import read_environment, variable
from confbag.sources.keys import Keys


def test_a_variable_is_a_key_and_its_value_yaml(keys: Keys) -> None:
    environ = {
        "CONFBAG__EXEC__ATTENTION__NUM_SPLITS": "4",
        "CONFBAG__EXEC__GRAPH": "false",
        "CONFBAG__MODEL__REVISION": "017",
        "CONFBAG__EXEC__KERNELS__PIN": "{kvcache.last_loc: reference}",
        "CONFBAG__MEMORY": "{page_size: 64}",
        "PATH": "/bin",
    }
    found = read_environment(environ, keys)
    assert not found.faults
    assert {setting.key: setting.value for setting in found.settings} == {
        "exec.attention.num_splits": 4,
        "exec.graph": False,
        "model.revision": "017",
        "exec.kernels.pin": {"kvcache.last_loc": "reference"},
        "memory.page_size": 64,
    }
    by_key = {setting.key: setting for setting in found.settings}
    assert by_key["exec.graph"].origin == "env CONFBAG__EXEC__GRAPH"
    assert by_key["exec.graph"].text == "false"


def test_every_leaf_has_a_variable(keys: Keys) -> None:
    for key in keys.leaves:
        (setting,) = read_environment({variable(key): "auto"}, keys).settings
        assert (setting.key, setting.value) == (key, "auto")


@pytest.mark.parametrize(
    "name",
    [
        "CONFBAG_SVC_PORT_8000_TCP_ADDR",
        "CONFBAG_PORT",
        "CONFBAG_SERVICE_HOST",
        "CONFBAG_EXEC_SERVICE_HOST",
        "CONFBAG_EXEC_SERVICE_PORT_HTTP",
        "CONFBAG_EXEC_PORT",
        "CONFBAG_EXEC_PORT_8000_TCP",
        "CONFBAG_IMAGE",
        "CONFBAG_DEBUG_BOUNDS",
        "XCONFBAG__EXEC",
    ],
)
def test_one_underscore_is_not_ours(keys: Keys, name: str) -> None:
    assert not read_environment({name: "1"}, keys).faults


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("CONFBAG__ATTENTION", "is retired; write CONFBAG__EXEC__ATTENTION__BACKEND (exec.attention.backend)"),
        ("CONFBAG__EXEC__DETERMINSTIC", "did you mean CONFBAG__EXEC__DETERMINISTIC?"),
        ("CONFBAG__TP_SIZE", "did you mean CONFBAG__PARALLEL__TP_SIZE?"),
        ("CONFBAG__EXEC_GRAPH", "did you mean CONFBAG__EXEC__GRAPH?"),
        ("confbag__exec__graph", "write CONFBAG__EXEC__GRAPH"),
        ("CONFBAG__Exec__Graph", "write CONFBAG__EXEC__GRAPH"),
        ("CONFBAG__EXEC__KERNELS__PIN__KVCACHE", "CONFBAG__EXEC__KERNELS__PIN={NAME: VALUE}"),
        ("CONFBAG__ZZZZZZZZZZZZZZ", "unknown variable"),
        ("CONFBAG__\x1b[31m", "unknown variable"),
        ("CONFBAG__", "unknown variable"),
    ],
)
def test_a_name_that_is_none_is_told_the_right_one(keys: Keys, name: str, told: str) -> None:
    found = read_environment({name: "hunter2"}, keys)
    (fault,) = found.faults
    assert not found.settings
    assert told in fault.message
    assert "hunter2" not in str(fault)
    assert str(fault).isprintable()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CONFBAG_EXEC_GRAPH", "CONFBAG__EXEC__GRAPH"),
        ("CONFBAG_EXEC", "CONFBAG__EXEC"),
        ("Confbag_Exec", "CONFBAG__EXEC"),
        ("CONFBAG_EXEC_ATTENTION", "CONFBAG__EXEC__ATTENTION"),
        ("CONFBAG_MEMORY", "CONFBAG__MEMORY"),
        ("CONFBAG_PLUGIN", "CONFBAG_PLUGINS"),
    ],
)
def test_one_underscore_where_a_variable_has_two_is_a_slip(keys: Keys, name: str, meant: str) -> None:
    found = read_environment({name: "{graph: false}"}, keys)
    (fault,) = found.faults
    assert not found.settings
    assert fault.message == f"is no variable of confbag; did you mean {meant}?"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("# x", "only a comment"),
        ("- hunter2", "flow syntax"),
        ("a: hunter2", "flow syntax"),
        ("|\n  hunter2", "flow syntax"),
        ("[hunter2", "closing bracket"),
        ("@hunter2", "quote"),
        ("hunter2\x07", "control character"),
        ("\udce9", "UTF-8"),
        ("x" * 70_000, "put it into a file"),
        ("{a: 1, a: 2}", "duplicate"),
    ],
)
def test_a_value_that_is_none(keys: Keys, value: str, told: str) -> None:
    (fault,) = read_environment({"CONFBAG__EXEC__KERNELS__PIN": value}, keys).faults
    assert told in fault.message
    assert (fault.where, fault.key) == ("env CONFBAG__EXEC__KERNELS__PIN", "exec.kernels.pin")
    assert "hunter2" not in str(fault)


def test_names_that_plug_ins_declare_are_known(keys: Keys) -> None:
    environ = {"CONFBAG__ACME__LIBRARY": "x", "CONFBAG__ACME__LIBRRY": "x"}
    (fault,) = read_environment(environ, keys, ["CONFBAG__ACME__LIBRARY"]).faults
    assert fault.where == "env CONFBAG__ACME__LIBRRY"
    assert "did you mean CONFBAG__ACME__LIBRARY?" in fault.message


def test_a_section_and_its_setting_must_agree(keys: Keys) -> None:
    environ = {"CONFBAG__EXEC": "{graph: true}", "CONFBAG__EXEC__GRAPH": "false"}
    (fault,) = read_environment(environ, keys).faults
    assert "the first time at env CONFBAG__EXEC;" in fault.message
    assert not read_environment({**environ, "CONFBAG__EXEC__GRAPH": "true"}, keys).faults
