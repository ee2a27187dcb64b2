"""`--against REF`: the bar that a change may not raise, from the blobs of another commit."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Engine

READ = "def f():\n    return get_server_args().tp_size\n"
LINE = "engine/a.py\tf\trecord.tp_size"
TODAY = datetime.date.today()
SOON = (TODAY + datetime.timedelta(30)).isoformat()


def exception(path: str = "engine/b.py", **more: Any) -> str:
    values: dict[str, Any] = {"code": "CB101", "path": path, "qualname": "f", "reason": "r"}
    values |= {"owner": "@team", "until": SOON, **more}
    return "[[exception]]\n" + "".join(f"{key} = {value!r}\n" for key, value in values.items() if value is not None)


@pytest.fixture
def main(engine: Engine) -> Engine:
    """An engine whose main branch has one finding, in the baseline."""
    engine.write("engine/a.py", READ)
    engine.baseline(LINE)
    engine.commit("the bar")
    return engine


def refused(engine: Engine, *argv: str) -> list[str]:
    report = engine.check("--against", "main", *argv)
    assert bool(report["summary"]["status"] & 1) == bool(report["summary"]["refused"] or report["summary"]["new"])
    found: list[str] = report["summary"]["refused"]
    return found


def test_nothing_changed(main: Engine) -> None:
    assert refused(main) == []
    assert main.run("check", "--against", "main").status == 0


def test_a_finding_with_its_baseline_line_is_refused_twice(main: Engine) -> None:
    main.write("engine/b.py", READ)
    main.baseline(LINE, "engine/b.py\tf\trecord.tp_size")
    assert main.run("check").status == 0
    finding, line = refused(main)
    assert finding.startswith("engine/b.py:3:30: CB101 record.tp_size in f is not at main")
    assert line.startswith(".ratchets/CB101.tsv:2: not at main: engine/b.py\tf\trecord.tp_size")


def test_a_larger_number_is_refused(main: Engine) -> None:
    main.write("engine/a.py", READ.replace("tp_size", "tp_size + get_server_args().tp_size"))
    main.baseline(f"{LINE}\tx2")
    finding, line = refused(main)
    assert finding.startswith("engine/a.py:3:58: ")
    assert "x2" in line


def test_a_line_without_a_finding_may_not_come_either(main: Engine) -> None:
    main.baseline(LINE, "engine/z.py\tf\trecord.x")
    assert len(refused(main)) == 1


def test_a_comment_may_not_raise_the_number(main: Engine) -> None:
    main.write("engine/b.py", READ.replace("tp_size\n", "tp_size  # ratchet: allow CB101 -- quietly\n"))
    assert main.run("check").status == 0
    (finding,) = refused(main)
    assert "accept" in finding
    assert main.run("check", "--against", "main").status == 1


def test_a_rule_without_a_baseline_there_may_bring_its_first(main: Engine) -> None:
    main.git("rm", "-q", "--cached", ".ratchets/CB101.tsv")
    main.git("commit", "-q", "--amend", "-m", "no bar")
    assert refused(main) == []


def test_the_configuration_of_today_judges_both(main: Engine) -> None:
    main.write("engine/w.py", "def f(server_args):\n    server_args.x = 1\n")
    text = main.read("ratchets.toml")
    main.write("ratchets.toml", text.replace('"CB101", "CB102", "CB111"', '"CB101"'))
    main.commit("fewer rules")
    main.write("ratchets.toml", text)
    main.baseline("engine/w.py\tf\trecord.x", code="CB111")
    assert refused(main) == []
    assert main.run("check", "--against", "main").status == 0


def test_what_moved_is_no_growth(main: Engine) -> None:
    main.git("mv", "engine/a.py", "engine/moved.py")
    report = main.check("--against", "main")
    assert report["summary"]["refused"] == []
    assert (len(report["moved"]), report["summary"]["status"]) == (1, 2)
    assert main.run("tighten").status == 0
    assert main.run("check", "--against", "main").status == 0


def test_an_exception_with_reason_owner_and_until_is_raised(main: Engine) -> None:
    main.write("engine/b.py", READ)
    main.write(".ratchets/exceptions.toml", exception())
    ran = main.run("check", "--against", "main")
    assert ran.status == 0
    assert "RAISED" in ran.out
    assert f"raised by @team until {SOON}: CB101 engine/b.py::f (r)" in ran.out
    assert main.run("check", "--against", "main", "--no-raise").status == 1
    main.commit("raised")
    assert main.run("check", "--against", "main", "--no-raise").status == 0


FAR = (TODAY + datetime.timedelta(181)).isoformat()


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"owner": None}, "no owner"), ({"until": None}, "no until"), ({"until": FAR}, "180 days")],
)
def test_an_exception_that_lacks_something_is_refused(main: Engine, changes: dict[str, Any], words: str) -> None:
    main.write("engine/b.py", READ)
    main.write(".ratchets/exceptions.toml", exception(**changes))
    assert main.run("check").status == 0
    (fault,) = refused(main)
    assert fault.startswith(".ratchets/exceptions.toml:1:1: ")
    assert words in fault


def test_an_exception_that_grows_is_as_a_new_one(main: Engine) -> None:
    main.write("engine/b.py", READ)
    main.write(".ratchets/exceptions.toml", exception(max=1, owner=None))
    main.commit("before")
    assert refused(main) == []
    main.write(".ratchets/exceptions.toml", exception(max=2, owner=None))
    assert "no owner" in refused(main)[0]


def test_what_another_branch_has_is_named(main: Engine) -> None:
    main.git("branch", "feature")
    main.write("engine/b.py", READ)
    main.baseline(LINE, "engine/b.py\tf\trecord.tp_size")
    main.commit("main moves on")
    main.git("checkout", "-q", "feature")
    main.write("engine/b.py", READ)
    report = main.check("--against", "main")
    (finding,) = [each for each in report["findings"] if each["state"] == "new"]
    assert "its baseline entry exists on main; merge it" in finding["message"]
    assert report["summary"]["refused"] == []


def test_only_the_files_that_are_given_are_compared(main: Engine) -> None:
    main.write("engine/b.py", READ.replace("tp_size\n", "tp_size  # ratchet: allow CB101 -- r\n"))
    assert len(refused(main, "engine/b.py")) == 1
    assert refused(main, "engine/a.py") == []


def test_a_file_that_could_not_be_analysed_there_is_said(main: Engine) -> None:
    main.write("engine/b.py", "x = = 1  # get_server_args server_args\n")
    main.commit("broken")
    main.write("engine/b.py", READ.replace("tp_size\n", "tp_size  # ratchet: allow CB101 -- r\n"))
    report = main.check("--against", "main")
    assert report["summary"]["refused"] == []
    assert any("engine/b.py could not be analysed at main" in note for note in report["summary"]["notes"])


def test_odd_names_are_read_from_blobs(main: Engine) -> None:
    for name in ("a b.py", "tab\there.py", "line\nbreak.py", "é.py", "#x.py"):
        main.write(f"engine/{name}", READ)
    main.commit("odd names")
    main.baseline()
    assert refused(main) == []


@pytest.mark.parametrize("argv", [["nowhere"], ["HEAD~5"], ["--upload-pack=x"], ["HEAD:engine"]])
def test_a_ref_that_cannot_be_reached_is_eight(main: Engine, argv: list[str]) -> None:
    ran = main.run("check", f"--against={argv[0]}")
    assert (ran.status, ran.out) == (8, "")
    assert "--against" in ran.err


def test_a_shallow_clone_is_eight_and_says_how_to_fetch(main: Engine, new_engine: Callable[[str], Engine]) -> None:
    before = main.git("rev-parse", "HEAD").strip()
    main.commit("one more")
    clone = new_engine("clone")
    clone.git("clone", "-q", "--depth", "1", f"file://{main.folder}", ".")
    ran = clone.run("check", "--against", before)
    assert (ran.status, ran.out) == (8, "")
    assert "git fetch --unshallow" in ran.err
    assert clone.run("check", "--against", "HEAD").status == 0


def test_outside_a_repository_it_is_eight(main: Engine) -> None:
    (main.folder / ".git").rename(main.folder.parent / "elsewhere")
    ran = main.run("check", "--against", "main")
    assert ran.status == 8
    assert "no git repository" in ran.err


def test_inside_a_hook_of_a_commit(main: Engine) -> None:
    hook = main.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nenv | grep -q ^GIT_INDEX_FILE= || exit 99\n"
        f'exec "{sys.executable}" -m confbag ratchet check --against HEAD > hook.txt 2>&1\n',
    )
    hook.chmod(0o755)
    main.write("engine/a.py", "def f():\n    return 1\n")
    main.baseline()
    main.git("commit", "-q", "-a", "-m", "better")
    assert "0 new" in main.read("hook.txt")
    main.write("engine/a.py", READ)
    environment = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.invalid"}
    worse = subprocess.run(["git", "commit", "-a", "-m", "worse"], cwd=main.folder, env=environment, check=False)
    assert worse.returncode == 1
    assert "1 new" in main.read("hook.txt")


def test_variables_of_another_repository_are_not_obeyed(main: Engine, new_engine: Callable[[str], Engine]) -> None:
    other = new_engine("other")
    other.git("init", "-q")
    ran = main.command(
        "check", "--against", "main", env={"GIT_DIR": str(other.folder / ".git"), "GIT_WORK_TREE": str(other.folder)}
    )
    assert (ran.status, ran.err) == (0, "")
