"""`make test-transfer` says how many tests it did not run where what they need cannot be had; else it may fail."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def runner(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script behind it, with an environment of its own that holds nothing yet."""
    spec = importlib.util.spec_from_file_location("transfer_runner", root / "tests" / "transfer" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / "transfer")
    monkeypatch.setattr(module, "PYTHON", tmp_path / "transfer" / "bin" / "python")
    monkeypatch.setattr(module, "environment", lambda: None)
    monkeypatch.setattr(module, "LIBRARIES", {"libc.so.6": "libc6"})
    return module


def test_missing_libraries_without_root(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "LIBRARIES", {"libnot-there.so.7": "libnot-there7", "libc.so.6": "libc6"})
    monkeypatch.setattr(runner.os, "geteuid", lambda: 1000)
    assert runner.main() == 0
    said = capsys.readouterr().out
    number, _, rest = said.partition(" ")
    assert int(number) > 10
    assert rest == (
        "transfer tests not run: missing libraries; as root: "
        "apt-get install --yes --no-install-recommends libnot-there7\n"
    )


def test_a_wheel_that_cannot_be_had(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(runner, "ENVIRONMENT", tmp_path / "transfer")
    monkeypatch.setattr(runner, "PYTHON", tmp_path / "transfer" / "bin" / "python")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(runner, "count", lambda: 3)
    assert runner.main() == 0
    assert capsys.readouterr().out.startswith(f"3 transfer tests not run: {runner.pinned()} cannot be installed (")


def answers(runner: ModuleType, monkeypatch: pytest.MonkeyPatch, status: int, stderr: str) -> None:
    done = subprocess.CompletedProcess([], status, "", stderr)
    monkeypatch.setattr(runner, "told", lambda command: done)


def test_an_engine_that_lacks_a_library(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(runner, monkeypatch, 1, "Traceback\nImportError: libx.so.1: cannot open shared object file: No such file\n")
    monkeypatch.setattr(runner, "count", lambda: 3)
    assert runner.main() == 0
    assert capsys.readouterr().out == (
        "3 transfer tests not run: ImportError: libx.so.1: cannot open shared object file: No such file\n"
    )


def test_an_engine_that_is_broken_is_a_failure(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(runner, monkeypatch, 1, "SyntaxError: what is this\n")
    with pytest.raises(SystemExit, match="the transfer engine cannot be imported:\nSyntaxError"):
        runner.main()


def test_what_pytest_says_is_its_status(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): assert 0\n")
    monkeypatch.setattr(runner, "engine", lambda: None)
    monkeypatch.setattr(runner, "PYTHON", sys.executable)
    monkeypatch.setattr(runner, "TESTS", str(tmp_path))
    assert runner.main() == 1


def test_plain_make_test_does_not_collect_them(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "tests" / "transfer", tmp_path / "tests" / "transfer")
    shutil.copy(root / "tests" / "conftest.py", tmp_path / "tests")
    shutil.copy(root / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "test_other.py").write_text("def test_other(): pass\n")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    for arguments, collected in ([], "tests/test_other.py::test_other"), (["tests/transfer"], "tests/transfer/test_"):
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True)
        found = [line for line in done.stdout.splitlines() if "::" in line]
        assert found, done.stdout + done.stderr
        assert all(line.startswith(collected) for line in found)
