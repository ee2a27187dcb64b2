"""Presets are data, and each names only keys that exist."""

from __future__ import annotations

import pytest

from confbag.sources.keys import Keys
from confbag.sources.presets import list_presets, read_preset
from confbag.words.provenance import Layer


def test_the_presets(keys: Keys) -> None:
    assert list_presets() == ("debug", "deterministic", "reference")
    found = {name: read_preset(name, keys) for name in list_presets()}
    assert all(not one.faults for one in found.values())
    values = {name: {setting.key: setting.value for setting in one.settings} for name, one in found.items()}
    assert values == {
        "debug": {"exec.debug.bounds": True, "exec.debug.mirrors": True},
        "deterministic": {"exec.deterministic": True, "exec.determinism": "batch_invariant"},
        "reference": {"exec.graph": False, "exec.kernels.reference_only": True},
    }
    assert {(one.layer, one.origin) for one in found["debug"].settings} == {(Layer.PRESET, "preset debug")}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("determinstic", "did you mean deterministic?"),
        ("zzzzzz", "there are debug, deterministic, reference"),
        ("../presets/debug", "there are debug"),
        ("__init__.py", "unknown preset"),
        ("", "unknown preset"),
        ("a\0b", "unknown preset"),
    ],
)
def test_an_unknown_preset_is_a_fault_of_whoever_named_it(keys: Keys, name: str, told: str) -> None:
    found = read_preset(name, keys, "serve.yaml:1:1")
    (fault,) = found.faults
    assert not found.settings
    assert fault.where == "serve.yaml:1:1"
    assert told in fault.message
