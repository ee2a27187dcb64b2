"""The children that a probe starts: bounded, survivable, and with the parent's search path."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from confbag.backends.platforms.evidence import Evidence


@pytest.fixture
def here(tmp_path: Path) -> Evidence:
    """This process's evidence, with a folder of our own on the search path."""
    evidence = Evidence.here()
    return dataclasses.replace(evidence, search_path=(str(tmp_path), *evidence.search_path))


def write(folder: Path, text: str) -> None:
    (folder / "asked.py").write_text(text)


def test_a_child_answers_data_past_the_noise_of_libraries(here: Evidence, tmp_path: Path) -> None:
    write(
        tmp_path, "import os\nprint('noise')\ndef f(a, b):\n    os.write(1, b'more noise')\n    return {'sum': a + b}\n"
    )
    assert here.ask("asked:f", 60, a=1, b=2) == ({"sum": 3}, None)


def test_what_differs_in_the_childs_environment_differs_only_there(here: Evidence, tmp_path: Path) -> None:
    write(tmp_path, "import os\ndef f():\n    return os.environ.get('CONFBAG_TEST_CHILD')\n")
    assert here.ask("asked:f", 60, environ={"CONFBAG_TEST_CHILD": "x"}) == ("x", None)
    assert here.ask("asked:f", 60) == (None, None)
    assert "CONFBAG_TEST_CHILD" not in os.environ


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("os._exit(7)", "exit 7"),
        ("os.kill(os.getpid(), 9)", "signal 9"),
        ("raise RuntimeError('no driver')", "no driver"),
        ("os.close(1)", "exit"),
        ("return {1, 2}", "not JSON serializable"),
    ],
)
def test_a_child_that_dies_is_survived(here: Evidence, tmp_path: Path, body: str, problem: str) -> None:
    write(tmp_path, f"import os\ndef f():\n    {body}\n")
    answer, said = here.ask("asked:f", 60)
    assert answer is None
    assert said is not None
    assert problem in said


def test_a_child_that_hangs_is_ended(here: Evidence, tmp_path: Path) -> None:
    write(tmp_path, "import time\ndef f():\n    time.sleep(600)\n")
    assert here.ask("asked:f", 0.5) == (None, "took longer than 0.5 s")


def test_without_an_interpreter_there_is_no_answer(here: Evidence) -> None:
    answer, said = dataclasses.replace(here, python="").ask("asked:f", 1)
    assert answer is None
    assert said is not None


def test_an_interpreter_that_is_none_is_a_problem(here: Evidence, tmp_path: Path) -> None:
    answer, said = dataclasses.replace(here, python=str(tmp_path / "absent")).ask("asked:f", 1)
    assert answer is None
    assert said is not None
    assert "No such file" in said


def test_the_folder_that_the_child_starts_in_is_not_searched(
    here: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "asked.py").write_text("def f():\n    return 'trap'\n")
    (trap / "json.py").write_text("raise SystemExit(3)\n")
    write(tmp_path, "def f():\n    return 'ours'\n")
    monkeypatch.chdir(trap)
    assert here.ask("asked:f", 60) == ("ours", None)


def test_this_machine_is_this_process() -> None:
    evidence = Evidence.here()
    assert evidence.python == sys.executable
    assert evidence.exists("/dev/null") is Path("/dev/null").exists()
    assert evidence.text("/no/such/file") is None
    assert evidence.names("/no/such", "*") == []
    assert not evidence.exists("/a\0b")
