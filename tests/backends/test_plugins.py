"""Plug-ins: found by their entry point, fatal when named, visible when only discovered, and never half-registered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = {
    "good": "from confbag.backends import Platform\n"
    "def register(registry):\n"
    "    registry.platform('good:one', Platform(device='good', arch='one', packages={'torch': '2.13.0'}))\n"
    "    registry.implement('kvcache.last_loc', 'good', 'good_kernels:last_loc', priority=50)\n",
    "broken": "import nowhere_to_be_found\n",
    "half": "def register(registry):\n"
    "    registry.implement('kvcache.last_loc', 'half', 'half_kernels:last_loc', priority=60)\n"
    "    raise RuntimeError('the second half is missing')\n",
    "tie": "def register(registry):\n    registry.implement('kvcache.last_loc', 'tie', 'tie:last_loc', priority=20)\n",
    "confbag": "def register(registry):\n    raise SystemError('not ours')\n",
}

PLAN = """
from confbag import load
from confbag.backends import Platform, make_plan
from confbag.errors import ConfbagError
try:
    cuda = Platform(device="cuda", arch="sm90", packages={"torch": "2.13.0", "triton": "3.6.0"})
    plan = make_plan(load(env={}), cuda)
    print(plan["kvcache.last_loc"].provider, sorted(plan.registry.providers("kvcache.last_loc")))
    for warning in plan.warnings:
        print("WARNING", warning)
except ConfbagError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def run(tmp_path: Path) -> object:
    """Install plug-ins as bare dist-info folders on the path of a child, and print what it plans."""

    def run(*names: str, named: str | None = None) -> str:
        for name in names:
            module = f"plugin_{name}"
            (tmp_path / f"{module}.py").write_text(PLUGINS[name])
            info = tmp_path / f"{name}_dist-1.0.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[confbag.backends]\n{name} = {module}:register\n")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        environment.pop("CONFBAG_PLUGINS", None)
        if named is not None:
            environment["CONFBAG_PLUGINS"] = named
        done = subprocess.run([sys.executable, "-c", PLAN], capture_output=True, text=True, env=environment, check=True)
        assert done.stderr == ""
        return done.stdout

    return run


def test_a_plugin_that_was_discovered_and_fails_is_a_visible_row(run: object) -> None:
    """vllm#48277: a plug-in raised while registering, and the engine ran on the CPU without a word."""
    assert callable(run)
    out = run("good", "broken")
    assert "WARNING plug-in broken (broken-dist) FAILED and is left out: ModuleNotFoundError" in out
    assert "'good'" in out


def test_a_plugin_that_was_named_and_fails_is_fatal(run: object) -> None:
    assert callable(run)
    assert run("good", "broken", named="broken").startswith(
        "PluginError plug-in broken (broken-dist) cannot be loaded: ModuleNotFoundError"
    )
    assert run("good", named="good, absent").startswith(
        "PluginError CONFBAG_PLUGINS names absent, which is not installed"
    )


def test_only_named_plugins_are_loaded(run: object) -> None:
    assert callable(run)
    assert "'good'" in run("good", "half", named="good")
    assert "half" not in run("good", "half", named="good")
    assert "'good'" not in run("good", named="")


@pytest.mark.parametrize("name", ["half", "tie"])
def test_a_plugin_that_fails_leaves_nothing_behind(run: object, name: str) -> None:
    assert callable(run)
    out = run(name)
    assert out.startswith("triton ['reference', 'triton', 'triton_int32_safe']")
    assert f"WARNING plug-in {name} ({name}-dist) FAILED" in out


def test_nobody_replaces_us_by_taking_our_name(run: object) -> None:
    assert callable(run)
    out = run("confbag")
    assert out.startswith("triton")
    assert (
        "WARNING plug-in confbag (confbag-dist) FAILED and is left out: confbag declares a plug-in of this name too"
        in out
    )
