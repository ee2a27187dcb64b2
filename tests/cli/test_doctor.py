"""`confbag doctor`: a table of facts, a file to plan from elsewhere, and machines that lack things."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from confbag.backends import Platform
from confbag.cli import doctor, main
from confbag.errors import PlatformError

Run = Callable[..., "CompletedProcess[str]"]

CANN = (
    "torch_npu {} is installed but CANN is not loadable (libhccl.so not found); planning without it. "
    "Run 'source <CANN>/set_env.sh'."
)


def one_line(text: str) -> str:
    """The text with its wrapping undone."""
    return " ".join(text.split())


def test_doctor_says_what_this_machine_is(confbag: Run) -> None:
    ran = confbag("doctor")
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("platform: ")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in ran.stdout
    assert "LEARNT FROM" in ran.stdout
    assert "torch build" in ran.stdout
    assert "warnings" in ran.stdout


def test_the_text_is_the_same_without_colour(confbag: Run) -> None:
    assert confbag("doctor", env={"NO_COLOR": "1"}).stdout == confbag("doctor").stdout


def test_an_ascii_pipe_is_no_failure(confbag: Run) -> None:
    ran = confbag("doctor", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()


def test_a_dump_is_a_platform_elsewhere(confbag: Run, tmp_path: Path) -> None:
    path = tmp_path / "box.yaml"
    ran = confbag("doctor", "--dump", path)
    assert ran.returncode == 0, ran.stderr
    assert f"written: {path}" in ran.stdout
    assert os.listdir(tmp_path) == ["box.yaml"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
    assert Platform.load(path) == Platform.this()
    plan = confbag("plan", "--platform", path, "--format", "json")
    assert plan.returncode == 0, plan.stderr
    assert json.loads(plan.stdout)["platform"]["device"] == Platform.this().device


def test_a_dump_that_cannot_be_written_leaves_nothing(confbag: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "absent" / "box.yaml", tmp_path):
        ran = confbag("doctor", "--dump", path)
        assert ran.returncode == 2
        assert "cannot be written" in ran.stderr
        assert "Traceback" not in ran.stderr
    assert os.listdir(tmp_path) == []
    assert [name for name in os.listdir(tmp_path.parent) if name.startswith(f".{tmp_path.name}")] == []


def test_a_failed_dump_keeps_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "box.yaml"
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(PlatformError, match="No space left"):
        doctor.dump(Platform.known("npu:ascend950"), str(path))
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["box.yaml"]


def test_doctor_works_without_torch(no_torch: Path, confbag: Run, tmp_path: Path) -> None:
    ran = confbag("doctor", python=(str(no_torch / "python"),), cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "torch is not installed" in ran.stdout
    assert ran.stdout.rstrip().endswith("none")


def test_this_machine_is_planned_for_without_starting_a_child(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if Platform.this().device != "cpu":
        monkeypatch.setattr("confbag.backends.platforms.probe._LOOK", {})

    def started(*_: object, **__: object) -> None:
        raise AssertionError("a child was started")

    monkeypatch.setattr("subprocess.run", started)
    assert main(["plan", "--platform", "this"]) == 0
    assert "probing" not in capsys.readouterr().out


class TestTorchNpuWithoutCann:
    """torch_npu is installed and CANN is not: everything works, and one line says so."""

    def test_plan_and_doctor_say_it_in_one_line(self, confbag: Run, npu_environment: Path, tmp_path: Path) -> None:
        for command in (("plan", "--platform", "this"), ("doctor",)):
            ran = confbag(*command, python=(str(npu_environment),), cwd=tmp_path)
            assert ran.returncode == 0, ran.stderr
            assert ran.stderr == ""
            assert "Traceback" not in ran.stdout
            said = one_line(ran.stdout)
            version = said.partition("torch_npu ")[2].partition(" ")[0]
            assert said.count("torch_npu") - said.count("torch_npu-") - said.count("torch extension torch_npu") == 1
            assert CANN.format(version) in said

    def test_a_dump_has_both_packages_and_no_native_ops(
        self, confbag: Run, npu_environment: Path, tmp_path: Path
    ) -> None:
        ran = confbag("doctor", "--dump", tmp_path / "box.yaml", python=(str(npu_environment),), cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        platform = Platform.load(tmp_path / "box.yaml")
        assert platform.device == Platform.cpu().device
        assert platform.packages is not None
        assert {"torch", "torch-npu"} <= set(platform.packages)
        assert platform.native_ops is None
