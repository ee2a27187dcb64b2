"""The example of a vendor's plug-in, installed into a fresh environment, used there, and uninstalled again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Confbag = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def python(
    build_wheel: Callable[[Path, Path], Path],
    install: Callable[[Path], Path],
    wheel: Path,
    root: Path,
    run: Callable,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The interpreter of an environment that has the wheels of confbag and of the plug-in."""
    source = tmp_path_factory.mktemp("plugin") / "acme"  # setuptools leaves its build folder behind
    shutil.copytree(root / "examples" / "plugin", source, ignore=shutil.ignore_patterns("__pycache__"))
    built = build_wheel(source, tmp_path_factory.mktemp("plugin-wheel"))
    python = install(wheel) / "python"
    pip = [sys.executable, "-m", "pip", "--python", python]
    ran = run(*pip, "install", "-q", "--no-index", "--no-deps", built)
    assert ran.returncode == 0, ran.stderr
    return python


@pytest.fixture
def confbag(python: Path, run: Callable, tmp_path: Path) -> Confbag:
    """Run the command where the plug-in is, with a cache of its own and nothing of this environment's settings."""

    def call(*argv: str, env: dict[str, str] | None = None, **settings: object) -> subprocess.CompletedProcess[str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("CONFBAG", "PYTHON"))}
        kept |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NO_COLOR": "1", **(env or {})}
        return run(python, "-m", *argv, env=kept, cwd=tmp_path, **settings)

    return call


def test_a_plan_for_its_platform_shows_all_of_it(confbag: Confbag) -> None:
    ran = confbag("confbag", "plan", "--platform", "acme:a1", "--set", "exec.deterministic=true", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    plan = json.loads(ran.stdout)
    bindings = {(one["op"], one["phase"]): one for one in plan["bindings"]}
    attention = bindings["attention", "decode"]
    assert (attention["provider"], attention["rule"]) == ("acme_flash", "acme-attention")
    counts = bindings["moe.expert_counts", None]
    assert (counts["provider"], counts["target"]) == ("acme", "confbag_acme.expert_counts.native:expert_counts")
    assert [library["name"] for library in plan["libraries"]] == ["acme-ops"]
    assert plan["environment"] == {"ACME_QUEUES": "1"}
    assert not [warning for warning in plan["warnings"] if "plug-in" in warning]
    table = confbag("confbag", "plan", "--platform", "acme:a1").stdout
    for word in ("acme:a1", "acme_flash", "rule acme-attention", "moe.expert_counts", "acme-sampling"):
        assert word in table
    assert all(len(line) <= 80 for line in table.splitlines())


def test_why_says_what_the_plug_in_said(confbag: Confbag) -> None:
    ran = confbag("confbag", "why", "attention@decode", "--platform", "acme:a1")
    assert ran.returncode == 0, ran.stderr
    assert "acme-attention" in ran.stdout
    assert "the fused kernel of this device" in ran.stdout
    ran = confbag("confbag", "why", "memory.fraction_static", "--platform", "acme:a1")
    assert ran.returncode == 0, ran.stderr
    assert "plugin acme" in ran.stdout
    assert "0.85" in ran.stdout


def test_its_variable_is_known_and_its_probe_finds_the_device(confbag: Confbag) -> None:
    simulator = {"CONFBAG__ACME__SIMULATOR": "a1"}
    ran = confbag("confbag", "plan", "--platform", "this", "--format", "json", env=simulator)
    assert ran.returncode in (0, 3), ran.stderr  # the runtime is not installed, and the plan says so
    plan = json.loads(ran.stdout)
    assert plan["platform"]["device"] == "acme"
    assert "acme-runtime" in ran.stdout
    doctor = confbag("confbag", "doctor", env=simulator)
    assert doctor.stdout.startswith("platform: acme:a1\n"), doctor.stderr
    ran = confbag("confbag", "plan", "--platform", "acme:a1", env={"CONFBAG__ACME__SIMULATR": "a1"})
    assert ran.returncode == 2
    assert "CONFBAG__ACME__SIMULATOR" in ran.stderr


def test_its_op_is_verified_on_its_own_cases(confbag: Confbag) -> None:
    ran = confbag("confbag", "verify", "moe.expert_counts", "--set", "device.kind=cpu", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    found = {row["provider"]: row for row in json.loads(ran.stdout)["results"]}
    assert (found["reference"]["status"], found["reference"]["cases"]) == ("agrees", 23)
    assert (found["acme"]["status"], found["acme"]["rejection"]["code"]) == ("not run", "device")


def test_its_own_tests_pass_where_it_is_installed(confbag: Confbag, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "examples" / "plugin" / "tests", tmp_path / "tests")
    shutil.copy(root / "examples" / "plugin" / "pyproject.toml", tmp_path)
    ran = confbag("pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout
    assert "skipped" not in ran.stdout


def test_uninstalling_it_brings_ours_back(python: Path, run: Callable, tmp_path: Path) -> None:
    copied = tmp_path / "environment"
    shutil.copytree(python.parents[1], copied, symlinks=True)
    there = copied / "bin" / "python"
    env = {name: text for name, text in os.environ.items() if not name.startswith(("CONFBAG", "PYTHON"))}
    env["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def command(*argv: str) -> subprocess.CompletedProcess[str]:
        return run(there, "-m", "confbag", *argv, env=env, cwd=tmp_path)

    machine = tmp_path / "acme.yaml"
    machine.write_text("schema: 1\ndevice: acme\narch: a1\n", encoding="utf-8")
    assert command("plan", "--platform", str(machine)).returncode == 0
    ran = run(sys.executable, "-m", "pip", "--python", there, "uninstall", "-q", "-y", "confbag-acme")
    assert ran.returncode == 0, ran.stderr
    for spec in ("acme:a1", str(machine)):
        ran = command("plan", "--platform", spec)
        assert ran.returncode == 2
        assert "unknown" in ran.stderr
    ran = command("plan", "--platform", "cuda:sm90", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    plan = json.loads(ran.stdout)
    assert {one["provider"] for one in plan["bindings"] if one["op"] == "attention" and one["used"]} == {"fa3"}
    assert "acme" not in ran.stdout
    ran = run(there, "-m", "confbag", "plan", env={**env, "CONFBAG__ACME__SIMULATOR": "a1"}, cwd=tmp_path)
    assert ran.returncode == 2
    assert "CONFBAG__ACME__SIMULATOR" in ran.stderr
