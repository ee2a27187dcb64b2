"""No file is ever half written: not by a process that is killed, not by two at once, not where writing fails."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from confbag.ratchets.writing import write_whole

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


def test_what_a_killed_process_left_is_swept_by_tidy(engine: Engine) -> None:
    engine.baseline("engine/a.py\tf\trecord.x")
    left = engine.write(".ratchets/.CB101.tsv.4242.new", "half")
    assert engine.run("check").status == 2
    assert engine.run("tidy").status == 0
    assert not left.exists()
