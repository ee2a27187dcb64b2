"""The command as a process, and an environment without torch that the wheel is installed in."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGED = ("confbag", "backends", "kernels", "ratchets")
BESIDE = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without what changes the command's answers, plus what a test asks for."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONFBAG", "PYTHON", "COLUMNS"))}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return {**kept, **(extra or {})}


def run_command(
    *argv: str | Path, env: Mapping[str, str] | None = None, python: Sequence[str] = (sys.executable,), cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """`python -m confbag ARGV` to its end; stdout and stderr decoded as UTF-8."""
    return subprocess.run(
        [*python, "-m", "confbag", *map(str, argv)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        env=clean_environment(env),
        cwd=cwd,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="session")
def confbag() -> Run:
    """Run the command in a process of its own."""
    return run_command


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, where a process of its own would show nothing else."""
    from confbag.cli import main

    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    monkeypatch.chdir(ROOT)

    def run(*argv: str | Path) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in argv]
        capsys.readouterr()
        status = main(words)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, status, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def environment() -> Callable[..., dict[str, str]]:
    """A process's environment that no setting of the person who runs the tests has reached."""
    return clean_environment


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def examples(root: Path) -> Path:
    """The example configurations."""
    return root / "examples" / "configs"


@pytest.fixture
def config(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a configuration file and return its path."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "config.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(scope="session")
def no_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment without torch that this tree's wheel is installed in, kept between runs.

    The environment is made once for each pyproject.toml, the wheel once for each content of the packaged folders.
    """
    folder = ROOT / ".venvs" / "no-torch"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _renew(folder, tmp_path_factory)
    return folder / "bin"


def _renew(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    python = folder / "bin" / "python"
    wanted = {"environment": _digest([ROOT / "pyproject.toml"]), "wheel": _digest(_sources())}
    if _stamp(folder, "environment") != wanted["environment"]:
        shutil.rmtree(folder, ignore_errors=True)
        _to_success(sys.executable, "-m", "venv", folder)
    if _stamp(folder, "wheel") != wanted["wheel"]:
        copy = tmp_path_factory.mktemp("source")  # setuptools leaves build/ behind and would pack it the next time
        for name in PACKAGED:
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
        for name in BESIDE:
            if (ROOT / name).exists():
                shutil.copy2(ROOT / name, copy / name)
        wheels = tmp_path_factory.mktemp("wheels")
        _to_success(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", wheels, copy)
        (wheel,) = wheels.glob("*.whl")
        _to_success(python, "-m", "pip", "install", "-q", wheel)
        _to_success(python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel)
    for name, digest in wanted.items():
        (folder / f"{name}.stamp").write_text(digest, encoding="utf-8")


def _stamp(folder: Path, name: str) -> str | None:
    path = folder / f"{name}.stamp"
    return path.read_text(encoding="utf-8") if path.exists() else None


def _sources() -> list[Path]:
    found = [path for name in PACKAGED for path in (ROOT / name).rglob("*") if path.is_file()]
    return [*(path for path in found if "__pycache__" not in path.parts), ROOT / "pyproject.toml"]


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(paths):
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _to_success(*argv: str | Path) -> None:
    ran = subprocess.run([str(part) for part in argv], capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
