"""What needs no torch works on every other Python that we name and this machine has."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.xdist_group("interpreters")

SUPPORTED = ("3.10", "3.11", "3.12", "3.13", "3.14")
OTHERS = [version for version in SUPPORTED if version != f"{sys.version_info[0]}.{sys.version_info[1]}"]
TOOLS = ("pytest", "hypothesis", "jsonschema")


def candidates(version: str, run: Callable) -> list[Path]:
    """Where an interpreter of this version may be: on the PATH, or among pyenv's."""
    found = [Path(path) for path in (shutil.which(f"python{version}"),) if path]
    if shutil.which("pyenv"):
        for name in run("pyenv", "versions", "--bare", cwd=Path.home()).stdout.split():
            if name.startswith(f"{version}."):
                found.append(Path(run("pyenv", "prefix", name, cwd=Path.home()).stdout.strip(), "bin", "python"))
    return found


def interpreter(version: str, run: Callable) -> Path | None:
    """An interpreter of this version that runs and can make environments."""
    script = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for path in candidates(version, run):
        if run(path, "-c", script, cwd=Path.home()).stdout.strip() == version:
            return path
    return None


def prepared(version: str, python: Path, root: Path, run: Callable) -> Path:
    """The bin folder of this version's environment, made anew only when what it must hold has changed."""
    folder = root / ".venvs" / f"python{version}"
    needed = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    wanted = "\n".join([*needed, *TOOLS, (root / "constraints.txt").read_text(encoding="utf-8")])
    stamp = folder / "holds"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        assert run(python, "-m", "venv", folder, cwd=root).returncode == 0
        pinned = ("-q", "-c", root / "constraints.txt", *needed, *TOOLS)
        ran = run(folder / "bin" / "python", "-m", "pip", "install", *pinned, cwd=root)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        stamp.write_text(wanted, encoding="utf-8")
    return folder / "bin"


def stands_alone(path: Path) -> bool:
    """Whether a test module needs neither torch nor the type checker, which these environments lack."""
    text = path.read_text(encoding="utf-8")
    return not re.search(r"^\s*(?:import|from) (?:torch|triton|numpy)\b|\bmypy\b", text, re.MULTILINE)


@pytest.mark.parametrize("version", OTHERS)
def test_another_python_plans_and_passes_the_core_tests(
    version: str, wheel: Path, root: Path, run: Callable, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    python = interpreter(version, run)
    if python is None:
        record_property("note", f"Python {version} is not on this machine: nothing was tried with it.")
        return
    place = prepared(version, python, root, run)
    again = ("--force-reinstall", "--no-deps", "--no-index", wheel)
    ran = run(place / "python", "-m", "pip", "install", "-q", *again, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr

    config = root / "examples" / "configs" / "ascend-deepseek-v4.yaml"
    for command in ((place / "confbag",), (place / "python", "-m", "confbag")):
        ran = run(*command, "plan", config, "--platform", "npu:ascend910_93", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert "kvcache.last_loc" in ran.stdout

    modules = sorted((root / "tests" / "core").rglob("test_*.py"))
    # What a Python reads by itself, and what libcst reads for it, differ from one to the next.
    modules += [root / "tests" / "ratchets" / f"test_{name}.py" for name in ("robust", "lowering", "rules", "cases")]
    chosen = [path for path in modules if stands_alone(path)]
    assert chosen
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COVERAGE_"))}
    ran = run(place / "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=short", *chosen, cwd=root, env=clean)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
