"""What importing confbag costs: nothing of pydantic, yaml or torch before they are used."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import confbag


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import confbag", "from confbag import get_exec, publish, override, ConfigError"]
)
def test_importing_loads_no_dependency(statement: str) -> None:
    assert not _loaded_by(statement) & {"pydantic", "pydantic_core", "yaml", "torch", "importlib.metadata"}


def test_loading_a_bag_loads_no_torch() -> None:
    loaded = _loaded_by("from confbag import load; load(env={})")
    assert "pydantic" in loaded
    assert not loaded & {"torch", "confbag.backends", "confbag.kernels", "confbag.cli"}


def test_every_public_name_is_there_and_listed() -> None:
    promised = {
        "Bag Config Secret load publish is_published get_exec get_device get_model get_parallel get_spec get_memory",
        "get_disagg attention_backends override use_context handoff adopt",
    }
    names = {name for line in promised for name in line.split()}
    errors = {name for name in vars(confbag.errors) if name.endswith("Error")}
    assert names | errors <= set(confbag.__all__)
    assert set(confbag.__all__) <= set(dir(confbag))
    for name in confbag.__all__:
        assert name in ("Auto", "auto") or getattr(confbag, name).__name__ == name


@pytest.mark.parametrize("package", ["confbag", "confbag.backends", "confbag.testing"])
def test_the_stub_has_the_names_of_the_package_and_where_they_are(package: str) -> None:
    """A type checker reads the stub, a process the table: each name stands in both, and means the same there."""
    module = importlib.import_module(package)
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    listed = {
        alias.asname: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(map(str, listed)) == module.__all__
    for name, (home, there) in listed.items():
        assert there == name
        assert getattr(module, name) is getattr(importlib.import_module(str(home)), name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = confbag.lod
