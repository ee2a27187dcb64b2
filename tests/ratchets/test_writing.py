"""No file is ever half written: not by a process that is killed, not by two at once, not where writing fails."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from confbag.ratchets.writing import sweep, write_whole

if TYPE_CHECKING:
    from conftest import Engine

OLD, NEW = b"old\n" * 200_000, b"new!\n" * 200_000
LOOP = """
import sys
from pathlib import Path
from confbag.ratchets.writing import write_whole
path, old, new = Path(sys.argv[1]), b"old\\n" * 200_000, b"new!\\n" * 200_000
print("ready", flush=True)
while True:
    write_whole(path, new)
    write_whole(path, old)
"""


def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "CB101.tsv"
    path.write_bytes(OLD)
    for number in range(6):
        with subprocess.Popen([sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.003 * number)
            process.send_signal(signal.SIGKILL)
        assert path.read_bytes() in (OLD, NEW)


def test_two_at_once_leave_one_of_two_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "CB101.tsv"
    path.write_bytes(OLD)
    both = [subprocess.Popen([sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE) for _ in range(2)]
    for process in both:
        assert process.stdout is not None
        process.stdout.readline()
    seen = {path.read_bytes() for _ in range(200)}
    for process in both:
        process.kill()
        process.communicate()
    assert seen <= {OLD, NEW}


def test_mode_and_link_stay(tmp_path: Path) -> None:
    target = tmp_path / "target.tsv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link.tsv"
    link.symlink_to(target)
    write_whole(link, b"new")
    assert (link.is_symlink(), target.read_bytes(), target.stat().st_mode & 0o777) == (True, b"new", 0o640)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.tsv", "target.tsv"]


def test_what_cannot_be_written_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("confbag.ratchets.writing.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["a.tsv"]
    assert path.read_bytes() == b"old"
    with pytest.raises(OSError, match="no regular file"):
        write_whole(tmp_path, b"new")


def test_a_disk_that_is_full_is_said_and_nothing_changes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.baseline("engine/a.py\tf\trecord.x")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("confbag.ratchets.writing.os.fsync", full)
    ran = engine.run("tighten")
    assert ran.status == 8
    assert "No space left on device" in ran.err
    assert engine.entries() == ["engine/a.py\tf\trecord.x"]


def litter(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*") if file.name.endswith(".new"))


def locked(folder: Path) -> list[str]:
    """Of the litter, what somebody is writing."""
    found = []
    for name in litter(folder):
        with (folder / name).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(name)
    return found


def test_what_a_killed_process_left_is_swept_by_the_next_and_what_one_writes_now_is_not(tmp_path: Path) -> None:
    path = tmp_path / "CB101.tsv"
    path.write_bytes(OLD)
    while not litter(tmp_path):
        with subprocess.Popen([sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            # A signal takes its time to arrive.
            os.waitpid(process.pid, os.WUNTRACED)
            # Stopped, not dead: what it holds stays. In the moment between opening a file and locking it it holds none.
            held = locked(tmp_path)
            sweep(tmp_path)
            kept = litter(tmp_path)
            process.kill()
            assert kept == held
    write_whole(tmp_path / "other", b"x")
    assert litter(tmp_path), "what is of another file is left to its own writer"
    write_whole(path, b"new")
    assert litter(tmp_path) == []
    assert path.read_bytes() == b"new"


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not swept:
            swept.extend(litter(tmp_path))
            sweep(tmp_path)
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write_whole(tmp_path / "CB101.tsv", b"new")
    assert len(swept) == 1
    assert ((tmp_path / "CB101.tsv").read_bytes(), litter(tmp_path)) == (b"new", [])


def test_what_a_killed_process_left_is_swept_by_tidy_and_read_by_nobody(engine: Engine) -> None:
    engine.baseline("engine/a.py\tf\trecord.x")
    left = engine.write(".ratchets/.CB101.tsv.0123456789abcdef.new", "half")
    theirs = engine.write(".ratchets/.CB101.tsv.new", "of somebody else")
    assert engine.run("check").status == 2
    assert engine.run("tidy").status == 0
    assert (left.exists(), theirs.exists()) == (False, True)


@pytest.mark.parametrize("name", ["x" * 255, "ö" * 127, "\udcff" * 255, ".new", "a.0123456789abcdef.new"])
def test_a_name_of_any_length(tmp_path: Path, name: str) -> None:
    for content in (b"one", b"two"):
        write_whole(tmp_path / name, content)
        assert (tmp_path / name).read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [name]


# Runs the command, and kills it at its Nth step in a folder of ours: an open, a rename, a removal, a change of mode.
KILLED = """
import os, sys
left = int(sys.argv[1])
def hook(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.scandir", "os.listdir", "fcntl.flock"):
        if any(".ratchets" in str(each) or event == "fcntl.flock" for each in arguments):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), 9)
from confbag.cli import main
sys.addaudithook(hook)
sys.exit(main(["ratchet", *sys.argv[2:]]))
"""


@pytest.mark.parametrize("command", ["tighten", "check"])
def test_killed_at_every_step_nothing_is_lost_and_the_next_run_is_right(engine: Engine, command: str) -> None:
    engine.write("engine/a.py", "def f():\n    return get_server_args().tp\n")
    old, new = ("engine/a.py\tf\trecord.tp", "engine/z.py\tf\trecord.tp"), ("engine/a.py\tf\trecord.tp",)
    before = engine.baseline(*old).read_bytes()
    steps = 0
    while True:
        steps += 1
        shutil.rmtree(engine.folder / ".ratchets" / "cache", ignore_errors=True)
        engine.baseline(*old)
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, str(steps), command],
            cwd=engine.folder, env=engine.environment, capture_output=True, check=False,
        )  # fmt: skip
        assert tuple(engine.entries()) in (old, new)
        if ran.returncode != -signal.SIGKILL:
            break
        for _ in range(2):
            report = engine.check()
            assert [each["state"] for each in report["findings"]] == ["baselined"]
            assert len(report["stale"]) == (engine.entries() == list(old))
        assert litter(engine.folder / ".ratchets" / "cache") == []
        assert engine.run("tighten").status == 0
        assert tuple(engine.entries()) == new
        assert litter(engine.folder) == []
    assert ran.returncode == (0 if command == "tighten" else 2), ran.stderr
    assert steps > 15
    assert before != engine.read(".ratchets/CB101.tsv").encode() or command == "check"
