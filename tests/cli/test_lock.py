"""`confbag lock`: written whole, checked with exit 4 and the diff, refused with the line and what repairs it."""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Called = Callable[..., "CompletedProcess[str]"]
HOPPER = ("--platform", "cuda:sm90")


@pytest.fixture
def serve(examples: Path) -> Path:
    """A configuration for Hopper."""
    return examples / "hopper-deepseek-v3.yaml"


@pytest.fixture
def lock(called: Called, serve: Path, tmp_path: Path) -> Path:
    """Its lock."""
    path = tmp_path / "serve.lock"
    ran = called("lock", serve, *HOPPER, "-o", path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"written: {path}\n", "")
    return path


def test_every_example_has_a_lock_that_holds(called: Called, examples: Path, tmp_path: Path) -> None:
    for config in sorted(examples.glob("*.yaml")):
        for platform in ("cuda:sm90", "npu:ascend910_93", "xpu:bmg", "cpu:x86_64_amx"):
            path = tmp_path / f"{config.name}.{platform.replace(':', '.')}.lock"
            ran = called("lock", config, "--platform", platform, "-o", path)
            assert ran.returncode in (0, 3), ran.stderr
            assert path.exists() is (ran.returncode == 0)
            if ran.returncode == 0:
                assert str(config.parent) not in path.read_text(encoding="utf-8")
                held = called("lock", "--check", path, config)
                assert (held.returncode, held.stderr) == (0, "")
                assert held.stdout.endswith("\nno difference\n")


def test_the_lock_is_printed_without_a_file(called: Called, serve: Path, lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert called("lock", serve, *HOPPER).stdout == text
    assert called("lock", "-o", "-", serve, *HOPPER).stdout == text
    assert called("lock", "--output", "-", *HOPPER, serve).stdout == text


def test_a_lock_that_no_longer_holds_exits_4_with_the_diff(called: Called, serve: Path, lock: Path) -> None:
    ran = called("lock", "--check", lock, serve, "--set", "exec.kernels.pin={kvcache.last_loc: reference}")
    assert ran.returncode == 4
    assert "kvcache.last_loc\n  A  triton, by rule last-loc-triton\n  B  reference, by pin\n" in ran.stdout
    assert "exec.kernels.pin" in ran.stdout
    again = f"confbag lock {serve} --platform cuda:sm90 --set ... -o {lock}"
    assert ran.stderr == f"confbag: the plan differs from {lock}; to accept that: {again}\n"
    shown = called("lock", "--check", lock, serve, "--set", "memory.page_size=64", "--format", "json")
    assert shown.returncode == 4
    assert [entry["name"] for entry in json.loads(shown.stdout)["settings"]] == ["memory.page_size"]


def test_what_the_check_says_to_run_repairs_it(called: Called, lock: Path, tmp_path: Path, serve: Path) -> None:
    other = tmp_path / "other config.yaml"
    other.write_text(serve.read_text(encoding="utf-8") + "disagg: {transfer_backend: mooncake}\n", encoding="utf-8")
    ran = called("lock", "--check", lock, other)
    assert ran.returncode == 4
    words = shlex.split(ran.stderr.partition("to accept that: ")[2])
    assert words[0] == "confbag"
    assert called(*words[1:]).returncode == 0
    assert called("lock", "--check", lock, other).returncode == 0
    lock.write_text("<<<<<<< ours\n" + lock.read_text(encoding="utf-8"), encoding="utf-8")
    ran = called("lock", "--check", lock, other)
    assert ran.returncode == 2
    (conflict, repair) = ran.stderr.splitlines()
    assert conflict == f"{lock}:1:1: a conflict of a merge was left here"
    assert called(*shlex.split(repair.partition("write it again: ")[2])[1:]).returncode == 0
    assert called("lock", "--check", lock, other).returncode == 0


def test_the_value_of_a_setting_is_not_repeated(called: Called, lock: Path) -> None:
    lock.write_text("confbag-lock: 9\n", encoding="utf-8")
    ran = called("lock", "--check", lock, "--set", "engine.token=hunter2")
    assert ran.returncode == 2
    assert "--set ..." in ran.stderr
    assert "hunter2" not in ran.stderr


def test_a_lock_is_checked_for_its_own_platform_unless_told(called: Called, serve: Path, lock: Path) -> None:
    ran = called("lock", "--check", lock, serve, "--platform", "cuda:sm100")
    assert ran.returncode == 3, "the configuration says sm90"
    ran = called("lock", "--check", lock, serve, "--platform", "cuda:sm100", "--set", "device.arch=auto")
    assert ran.returncode == 4
    assert "arch                               A sm90, B sm100" in ran.stdout


def test_a_lock_of_this_machine_is_checked_on_it_and_on_no_other(called: Called, tmp_path: Path) -> None:
    path = tmp_path / "here.lock"
    assert called("lock", "--set", "device.kind=cpu", "-o", path).returncode == 0
    assert "\nassumed: [packages" not in path.read_text(encoding="utf-8")
    assert called("lock", "--set", "device.kind=cpu", "--check", path).returncode == 0
    text = path.read_text(encoding="utf-8").replace("\nplatform: cpu:", "\nplatform: npu:ascend910b #")
    path.write_text(text, encoding="utf-8")
    ran = called("lock", "--check", path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(
        f"{path}: platform: was measured on a machine with npu:ascend910b, and this one is another; "
    )
    assert "confbag doctor --dump FILE" in ran.stderr
    assert "or --platform npu:ascend910b" in ran.stderr


def test_a_lock_of_a_machine_with_features_finds_its_name(called: Called, tmp_path: Path) -> None:
    path = tmp_path / "amx.lock"
    assert called("lock", "--platform", "cpu:x86_64_amx", "-o", path).returncode == 0
    assert "\nplatform: cpu:x86_64\nfeatures: [amx]\n" in path.read_text(encoding="utf-8")
    assert called("lock", "--check", path).returncode == 0


def test_nothing_is_written_when_nothing_satisfies_the_plan(
    called: Called, tmp_path: Path, lock: Path, serve: Path
) -> None:
    asked = ("--platform", "npu:ascend910_93", "--set", "exec.attention.decode=fa3")
    before = lock.read_text(encoding="utf-8")
    for path in (tmp_path / "new.lock", lock):
        ran = called("lock", *asked, "-o", path)
        assert ran.returncode == 3
        assert ran.stdout == ""
        assert "attention@decode: fa3: device: platform.device must be cuda" in ran.stderr
        assert "nothing satisfies this plan (1 fault)" in ran.stderr
    assert not (tmp_path / "new.lock").exists()
    assert lock.read_text(encoding="utf-8") == before
    ran = called("lock", "--check", lock, serve, "--set", "exec.attention.decode=ascend")
    assert ran.returncode == 3
    assert "NOTHING SATISFIES B" in ran.stdout


def test_what_is_no_lock_is_never_replaced(called: Called, tmp_path: Path, serve: Path) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text("exec: {graph: true}\n", encoding="utf-8")
    (tmp_path / "empty.lock").touch()
    assert called("lock", *HOPPER, "-o", tmp_path / "empty.lock").returncode == 0
    for path in (config, tmp_path, Path("/dev/null")):
        ran = called("lock", *HOPPER, "-o", path)
        assert ran.returncode == 2
        assert ran.stderr.startswith(f"-o: {path}: is there and is no lock; ")
    assert config.read_text(encoding="utf-8") == "exec: {graph: true}\n"
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    ran = called("lock", *HOPPER, "-o", tmp_path / "no" / "folder.lock")
    assert ran.returncode == 2
    assert "-o: " in ran.stderr
    assert "No such file or directory" in ran.stderr


def test_a_link_and_a_mode_are_kept_and_a_failure_leaves_the_old_lock(
    called: Called, lock: Path, serve: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock.chmod(0o640)
    link = lock.with_name("link.lock")
    link.symlink_to(lock.name)
    before = lock.read_bytes()
    assert called("lock", serve, *HOPPER, "--set", "exec.compile=true", "-o", link).returncode == 0
    assert link.is_symlink()
    assert stat.S_IMODE(lock.stat().st_mode) == 0o640
    after = lock.read_bytes()
    assert after != before

    def full(_source: str, _target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    ran = called("lock", serve, *HOPPER, "-o", lock)
    assert ran.returncode == 2
    assert f"-o: {lock}: cannot be written (No space left on device)" in ran.stderr
    assert lock.read_bytes() == after
    assert sorted(path.name for path in lock.parent.iterdir()) == ["link.lock", "serve.lock"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("lock", "--check"), "--check"),
        (("lock", "--check", "nope.lock"), "nope.lock: no such file"),
        (("lock", "--check", "README.md"), "README.md"),
        (("lock", "--check", "pyproject.toml", "-o", "x"), "not allowed with"),
        (("lock", *HOPPER, "--format", "json"), "--format: is for --check"),
        (("lock", *HOPPER, "--set", "exec.grph=1"), "did you mean exec.graph?"),
    ],
)
def test_wrong_usage_names_what_to_write(called: Called, argv: tuple[str, ...], said: str) -> None:
    ran = called(*argv)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_process_of_its_own_exits_4(confbag: Called, lock: Path, serve: Path) -> None:
    assert confbag("lock", "--check", lock, serve).returncode == 0
    ran = confbag("lock", "--check", lock, serve, "--set", "exec.graph=false")
    assert ran.returncode == 4
    assert "no difference" not in ran.stdout
