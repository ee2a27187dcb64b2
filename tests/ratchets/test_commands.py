"""The subcommands on a real repository: what they print, what they write, and their exit status."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Engine

READ = "def f():\n    return get_server_args().tp_size\n"
LINE = "engine/a.py\tf\trecord.tp_size"
SOON = (datetime.date.today() + datetime.timedelta(30)).isoformat()
ACCEPT = ("--reason", "it moves in March", "--owner", "@team", "--until", SOON)


# Usage


@pytest.mark.parametrize(
    "argv",
    [
        [], ["chek"], ["--nope"], ["check", "--nope"], ["check", "--format", "xml"], ["check", "--jobs", "0"],
        ["check", "--form", "json"], ["check", "gone.py"], ["check", "--no-raise"], ["check", "--against", "nowhere"],
        ["check", "--against", ""], ["check", "--against", "", "--no-raise"], ["check", "--jobs", "many"],
        ["accept"], ["accept", "CB101", "engine/a.py"], ["explain", "CB999"], ["blame"],
        ["trend", "--since", "nowhere"],
        ["accept", "CB999", "engine/a.py", *ACCEPT], ["accept", "CB101", "engine/gone.py", *ACCEPT],
        ["accept", "CB101", "engine/server_args.py::f", *ACCEPT], ["check", "--require-files", "ratchets.toml"],
    ],
)  # fmt: skip
def test_every_misuse_is_eight_and_says_what_to_write(engine: Engine, argv: list[str]) -> None:
    ran = engine.run(*argv)
    assert (ran.status, ran.out) == (8, "")
    assert ran.err.strip()
    assert "Traceback" not in ran.err


def test_help_is_no_misuse(engine: Engine) -> None:
    for argv in (["--help"], ["check", "--help"], ["accept", "--help"]):
        ran = engine.run(*argv)
        assert ran.status == 0
        assert "exit status, a sum" in ran.out


def test_the_command_starts_it_and_imports_nothing_heavy(engine: Engine) -> None:
    script = (
        "import sys; from confbag.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "print(*{'pydantic', 'torch', 'yaml', 'rich', 'libcst'}.intersection(sys.modules), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    for argv in (["ratchet", "--help"], ["ratchet", "--version"], ["ratchet", "check"], ["ratchet", "explain"]):
        ran = subprocess.run(
            [sys.executable, "-c", script, *argv], cwd=engine.folder, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr.strip()) == (0, ""), argv
        assert ran.stdout


def test_files_of_ours_are_named_from_the_top_of_the_repository(engine: Engine) -> None:
    """Wherever the configuration stands, and wherever the command runs: an annotation leads to the file."""
    (engine.folder / "ratchets.toml").unlink()
    text = 'roots = ["."]\n[[record]]\nname = "args"\nholders = ["server_args"]\n'
    engine.write("engine/sub/ratchets.toml", text)
    engine.write("engine/sub/deep/a.py", "")
    engine.write("engine/sub/.ratchets/CB102.tsv", "engine/sub/b.py\tf\trecord.x\nengine/sub/a.py\tf\trecord.x\n")
    out = engine.run("check", "--format", "github", within="engine/sub/deep").out
    assert out.count("file=engine/sub/.ratchets/CB102.tsv,line=") == 3
    assert "  engine/sub/.ratchets/CB102.tsv:2: not sorted" in engine.run("check", within="engine/sub").out
    assert "  engine/sub/.ratchets/CB102.tsv: engine/sub/a.py\tf" in engine.run("list", within="engine/sub").out
    engine.write("engine/sub/.ratchets/exceptions.toml", "[[exception]]\n")
    engine.write("engine/sub/ratchets.toml", text + "colour = 1\n")
    places = {line.split(": ")[0] for line in engine.run("check", within="engine/sub/deep").err.splitlines()}
    assert places == {"engine/sub/ratchets.toml:5:1", "engine/sub/.ratchets/exceptions.toml:1:1"}
    engine.write("engine/sub/ratchets.toml", "x = [\n")
    assert engine.run("check", within="engine/sub/deep").err.startswith("engine/sub/ratchets.toml:")


def test_a_mistake_in_the_configuration_is_all_that_is_said(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.write("ratchets.toml", engine.read("ratchets.toml") + 'owner = "x"\n')
    engine.baseline("rubbish")
    ran = engine.run("check")
    assert (ran.status, ran.out) == (8, "")
    assert ran.err.splitlines() == [
        "ratchets.toml:10:1: unknown key `owner`; did you mean `owners`?",
        ".ratchets/CB101.tsv:1: malformed: 1 part where path, qualname and symbol stand, parted by tabs; "
        "mend the line, or `confbag ratchet tidy` drops it",
    ]


@pytest.mark.parametrize("command", ["check", "tighten", "list"])
def test_faults_of_all_files_are_said_at_once(engine: Engine, command: str) -> None:
    engine.baseline("rubbish")
    engine.baseline("<<<<<<< ours", code="CB111")
    engine.baseline("a.py\tf\ts", code="CB999")
    engine.write(".ratchets/exceptions.toml", '[[exception]]\ncode = "CB101"\n')
    ran = engine.run(command)
    assert ran.status == 8
    for where in ("CB101.tsv:1", "CB111.tsv:1", "CB999.tsv", "exceptions.toml:1"):
        assert f".ratchets/{where}" in ran.err


# check


def test_new_baselined_and_stale(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    assert engine.check()["summary"]["status"] == 1
    engine.baseline(LINE)
    assert engine.check()["summary"]["status"] == 0
    engine.write("engine/a.py", "def f():\n    return 1\n")
    assert engine.check()["summary"]["status"] == 2
    engine.write("engine/b.py", "x = = 1  # server_args get_server_args\n")
    assert engine.check()["summary"]["status"] == 6


def test_text_shows_the_new_first_and_apart(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("engine/a.py\tgone\trecord.tp_size\tx2", "engine/z y#.py\tf\trecord.x")
    ran = engine.run("check")
    assert ran.status == 3
    assert ran.out.index("NEW: 1 finding") < ran.out.index("engine/a.py:3:30: CB101") < ran.out.index("STALE: 2")
    assert ".ratchets/CB101.tsv:1: nothing of it is left; `confbag ratchet tighten` removes it" in ran.out
    assert "\n      engine/z y#.py\tf\trecord.x\n" in ran.out
    assert ran.err == ""
    only = engine.run("check", "--only", "new")
    assert only.status == 3
    assert "STALE" not in only.out


def test_a_name_that_a_terminal_would_obey_is_escaped(engine: Engine) -> None:
    engine.write("engine/a\x1b[31m\n\tb é.py", READ)
    ran = engine.run("check")
    assert "engine/a\\x1b[31m\\n\\tb é.py:3:30" in ran.out
    engine.git("add", "-A")
    assert engine.check()["findings"][0]["path"] == "engine/a\x1b[31m\n\tb é.py"


def test_a_name_that_is_no_utf8(engine: Engine) -> None:
    path = os.path.join(os.fsencode(engine.folder), b"engine", b"\xff.py")
    with open(path, "wb") as file:
        file.write(b"from engine.runtime_context import get_server_args\nx = get_server_args().tp_size\n")
    assert engine.check()["findings"][0]["path"] == "engine/\udcff.py"
    engine.baseline("engine/\\xff.py\t<module>\trecord.tp_size")
    assert engine.check()["summary"]["status"] == 0


def test_every_format_tells_of_the_same(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("engine/b.py\tg\trecord.y")
    assert engine.run("check", "--format", "github").out.count("::error file=") == 2
    suites = ElementTree.fromstring(engine.run("check", "--format", "junit").out)
    assert (suites.get("failures"), suites.get("errors")) == ("2", "0")
    sarif = engine.run("check", "--format", "sarif").json["runs"][0]
    assert (sarif["columnKind"], len(sarif["results"])) == ("unicodeCodePoints", 1)


def test_given_files_folders_and_what_is_neither(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.write("engine/sub/b.py", READ)
    engine.write("other/c.py", READ)
    paths = [finding["path"] for finding in engine.check("engine/sub", "other/c.py", "ratchets.toml")["findings"]]
    assert paths == ["engine/sub/b.py"]
    assert [each["path"] for each in engine.check("b.py", within="engine/sub")["findings"]] == ["engine/sub/b.py"]
    assert [each["path"] for each in engine.check("./engine//a.py", ".\\engine\\a.py")["findings"]] == ["engine/a.py"]
    assert [each["path"] for each in engine.check(str(engine.folder / "engine"))["findings"]] == [
        "engine/a.py",
        "engine/sub/b.py",
    ]


ACROSS = """
[CB121]

[CB131]
predicates = ["engine.utils.is_npu"]

[CB141]
callees = ["engine.utils.configured"]

[[CB141.site]]
callee = "engine.utils.configured"
path = "engine/server_args.py"
qualname = "nobody"
reason = "it calls no more"

[CB142.names]
"engine.utils.old" = "new()"
"""
LINKED = {
    "engine/utils.py": """\
def is_npu():
    return False


def configured():
    return 1


def old():
    return 2


class Box:
    count = 0
""",
    "engine/flags.py": """\
from engine.utils import configured as size, is_npu, old as older

on_device = is_npu()
""",
    "engine/helper.py": """\
def current():
    return get_server_args()
""",
    "engine/a.py": """\
from engine.flags import older, on_device, size
from engine.helper import current
from engine.utils import Box

if on_device:
    from engine.x import rms
else:
    from engine.y import rms


def f():
    Box.count = older() + size()
    return current().tp_size
""",
}


def test_a_partial_run_finds_what_the_whole_run_finds_in_its_files(engine: Engine) -> None:
    """Of every rule that follows names from file to file, with the facts that the whole run kept."""
    engine.write("ratchets.toml", engine.read("ratchets.toml").replace("enable = ", "extend-enable = ") + ACROSS)
    for path, text in LINKED.items():
        engine.write(path, text)
    whole = [found for found in engine.check()["findings"] if found["path"] == "engine/a.py"]
    assert {found["code"] for found in whole} == {"CB101", "CB121", "CB131", "CB141", "CB142"}
    part = engine.check("engine/a.py")
    assert part["findings"] == whole
    assert part["summary"]["notes"] == []
    assert engine.check("engine/runtime_context.py")["findings"] == []


def test_without_facts_of_a_whole_run_nothing_is_called_stale_that_is_not(engine: Engine) -> None:
    for path in ("engine/helper.py", "engine/a.py"):
        engine.write(path, LINKED[path])
    engine.baseline(LINE)
    assert engine.check("engine/a.py")["stale"] == []
    engine.write("engine/a.py", "def f():\n    return get_server_args\n")
    for cache in ((), ("--no-cache",)):
        report = engine.check("engine/a.py", *cache)
        assert [each["qualname"] for each in report["stale"]] == ["f"]


def test_without_facts_of_a_whole_run_nothing_is_called_new_that_is_not(engine: Engine) -> None:
    engine.write("engine/request.py", "class Request:\n    def __init__(self):\n        self.server_args = {}\n")
    engine.write("engine/a.py", "def f(req):\n    return req.server_args.items()\n")
    assert engine.check("engine/a.py")["findings"] == []


def test_what_is_excluded_is_not_judged_even_when_it_is_given(engine: Engine) -> None:
    engine.write("ratchets.toml", 'exclude = ["engine/gen/", "engine/*_pb2.py"]\n' + engine.read("ratchets.toml"))
    engine.write("engine/gen/a.py", READ)
    engine.write("engine/x_pb2.py", READ)
    assert engine.check()["findings"] == []
    assert engine.check("engine/gen/a.py", "engine/x_pb2.py")["findings"] == []
    assert engine.run("check", "--require-files", "engine/gen/a.py").status == 8


def test_links_are_followed_to_files_once_and_to_folders_never(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    (engine.folder / "engine" / "loop").symlink_to(".")
    (engine.folder / "engine" / "again.py").symlink_to("a.py")
    (engine.folder / "engine" / "nothing.py").symlink_to("gone.py")
    for argv in ([], ["engine"], ["engine/loop/loop/a.py", "engine/again.py", "engine/a.py"]):
        assert [each["path"] for each in engine.check(*argv)["findings"]] == ["engine/a.py"]
    (engine.folder / ".git").rename(engine.folder / "hidden")
    assert [each["path"] for each in engine.check()["findings"]] == ["engine/a.py"]


def test_git_says_which_files_there_are(engine: Engine) -> None:
    engine.write("engine/ignored.py", READ)
    engine.write(".gitignore", "ignored.py\n")
    engine.write("engine/untracked.py", READ)
    engine.write("engine/deleted.py", READ)
    engine.git("add", "engine/deleted.py")
    (engine.folder / "engine" / "deleted.py").unlink()
    assert [each["path"] for each in engine.check()["findings"]] == ["engine/untracked.py"]


def test_an_unreadable_file_is_not_analysed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from confbag.ratchets.session import Reading

    engine.write("engine/a.py", READ)
    engine.baseline(LINE)
    read = Reading.__call__

    def refuse(self: Reading, path: str) -> bytes:
        if path == "engine/a.py":
            raise PermissionError(13, "Permission denied", path)
        return read(self, path)

    # Whoever runs the tests may be root, who reads everything.
    monkeypatch.setattr(Reading, "__call__", refuse)
    report = engine.check()
    assert [(each["path"], each["reason"]) for each in report["unanalysed"]] == [
        ("engine/a.py", "cannot be read: Permission denied")
    ]
    assert (report["stale"], report["summary"]["status"]) == ([], 4)


def test_a_suppression_is_used_or_found(engine: Engine) -> None:
    engine.write("engine/a.py", "x = get_server_args().tp_size  # ratchet: allow CB101 -- start-up\n")
    assert [(each["code"], each["state"]) for each in engine.check()["findings"]] == [("CB101", "suppressed")]
    engine.write("engine/a.py", "x = 1  # ratchet: allow CB101 -- start-up\n")
    report = engine.check()
    assert [(each["code"], each["symbol"], each["state"]) for each in report["findings"]] == [
        ("CB100", "allow CB101", "new")
    ]


def test_stats_and_notes_leave_stdout_alone(engine: Engine) -> None:
    ran = engine.run("check", "--stats", "--format", "json")
    assert ran.json["version"] == 1
    assert "files" in ran.err


# tighten, tidy


def test_tighten_shrinks_and_moves(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.write("engine/b.py", "class B:\n    def g(self):\n        return get_server_args().x\n")
    engine.baseline(
        "# kept", "engine/a.py\tf\trecord.tp_size\tx3", "engine/a.py\tg\trecord.x", "engine/a.py\th\trecord.y"
    )
    ran = engine.run("tighten")
    assert ran.status == 0
    assert engine.entries() == ["# kept", LINE, "engine/b.py\tB.g\trecord.x"]
    assert engine.run("check").status == 0
    assert engine.run("tighten").status == 0


def test_tighten_never_adds(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("engine/z.py\tf\trecord.x")
    assert engine.run("tighten").status == 1
    assert engine.entries() == []


def test_tighten_refuses_when_a_root_is_missing_or_a_file_cannot_be_analysed(engine: Engine) -> None:
    engine.baseline(LINE)
    engine.write("engine/b.py", "x = = 1  # get_server_args server_args\n")
    assert engine.run("tighten").status == 4
    assert engine.entries() == [LINE]
    engine.write("ratchets.toml", engine.read("ratchets.toml").replace('["engine"]', '["engine", "other"]'))
    assert engine.run("tighten").status == 8
    assert engine.entries() == [LINE]


def test_tighten_takes_the_entries_of_the_files_that_are_given(engine: Engine) -> None:
    """Another file decides all the same: an entry stands for what only that file tells, or looks stale without it."""
    engine.write("engine/helper.py", "def current():\n    return get_server_args()\n")
    engine.write("engine/a.py", "from engine.helper import current\n\n\ndef f():\n    return current().tp_size\n")
    engine.baseline(LINE, "engine/b.py\tf\trecord.tp_size", "engine/b.py\tg\trecord.tp_size")
    assert engine.run("tighten", "engine/a.py").out == "0 entries tightened, 0 moved, in 0 files\n"
    assert engine.run("tighten", "b.py", within="engine").out == "2 entries tightened, 0 moved, in 1 file\n"
    assert engine.entries() == [LINE]
    ran = engine.run("tighten", "engine/nowhere.py")
    assert (ran.status, ran.out) == (8, "")
    assert "engine/nowhere.py: no such file or folder" in ran.err
    engine.write("engine/broken.py", "x = = 1  # get_server_args server_args\n")
    engine.write("engine/a.py", "")
    assert engine.run("tighten", "engine/a.py").status == 4
    assert engine.entries() == [LINE]


def test_tidy_repairs_what_check_refuses(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("<<<<<<< ours", LINE, "=======", "engine/a.py\ta\trecord.x", ">>>>>>> theirs", "rubbish")
    assert engine.run("check").status == 8
    ran = engine.run("tidy")
    assert ran.status == 0
    assert ran.err == ".ratchets/CB101.tsv:6: dropped, malformed: rubbish\n"
    assert engine.entries() == ["engine/a.py\ta\trecord.x", LINE]
    assert engine.run("check").status == 2
    assert engine.run("tidy").out == "0 files tidied\n"


def test_what_is_unsorted_is_bit_two_until_it_is_tidied(engine: Engine) -> None:
    engine.write("engine/a.py", READ + "def a():\n    return get_server_args().x\n")
    engine.baseline(LINE, "engine/a.py\ta\trecord.x")
    ran = engine.run("check")
    assert ran.status == 2
    assert "CB101.tsv:2: not sorted; `confbag ratchet tidy` repairs it" in ran.out
    engine.run("tidy")
    assert engine.run("check").status == 0


# accept


def test_accept_is_the_way_up_and_pins_the_number(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    assert engine.run("accept", "CB101", "engine/a.py::f", *ACCEPT).status == 0
    assert engine.run("check").status == 0
    assert f'qualname = "f"\nmax = 1\nreason = "it moves in March"\nowner = "@team"\nuntil = {SOON}\n' in engine.read(
        ".ratchets/exceptions.toml"
    )
    engine.write("engine/a.py", READ.replace("tp_size", "tp_size + get_server_args().x"))
    ran = engine.run("check")
    assert ran.status == 2
    assert "over max" in ran.out


def test_accept_leaves_what_the_baseline_holds_to_the_baseline(engine: Engine) -> None:
    """One more of a key that stands there: the exception is of that one, and the check is green after it."""
    engine.write("engine/a.py", READ.replace("tp_size", "tp_size + get_server_args().tp_size"))
    engine.baseline(LINE)
    assert engine.run("check").status == 1
    assert engine.run("accept", "CB101", "engine/a.py::f", *ACCEPT).status == 0
    assert "max = 1\n" in engine.read(".ratchets/exceptions.toml")
    report = engine.check()
    assert [found["state"] for found in report["findings"]] == ["baselined", "excepted"]
    assert report["summary"]["status"] == 0
    engine.write("engine/a.py", READ.replace("tp_size", "tp_size + get_server_args().tp_size" * 3))
    assert "over max" in engine.check()["summary"]["exceptions"][0]
    assert engine.run("accept", "CB101", "engine/a.py::f", *ACCEPT).status == 0
    assert engine.check()["summary"]["status"] == 0


def test_accept_counts_what_the_new_entry_gets_and_no_narrower_one(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    assert engine.run("accept", "CB101", "engine/a.py::f", *ACCEPT).status == 0
    engine.write("engine/b.py", READ)
    assert engine.run("accept", "CB101", "engine/", *ACCEPT, "--issue", "https://example.invalid/1").status == 0
    engine.write("engine/c.py", READ)
    assert engine.run("accept", "CB101", "engine/", *ACCEPT).status == 0
    text = engine.read(".ratchets/exceptions.toml")
    assert (text.count("max = 1\n"), text.count("max = 2\n"), text.count("issue = ")) == (1, 1, 1)
    assert engine.check()["summary"]["status"] == 0


def test_accepting_anew_replaces_the_entry(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    for _ in range(2):
        assert engine.run("accept", "CB101", "a.py", *ACCEPT, within="engine").status == 0
    assert engine.read(".ratchets/exceptions.toml").count("[[exception]]") == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--reason", " "),
        ("--owner", ""),
        ("--until", "soon"),
        ("--until", "20990101"),
        ("--until", "2001-01-01"),
        ("--until", "2999-01-01"),
    ],
)
def test_accept_refuses_what_against_would_refuse(engine: Engine, option: str, value: str) -> None:
    engine.write("engine/a.py", READ)
    argv = list(ACCEPT)
    argv[argv.index(option) + 1] = value
    ran = engine.run("accept", "CB101", "engine/a.py", *argv)
    assert (ran.status, ran.out) == (8, "")
    assert option in ran.err
    assert not (engine.folder / ".ratchets" / "exceptions.toml").exists()


def test_an_exception_where_the_rule_never_looks_is_a_mistake(engine: Engine) -> None:
    engine.write(
        ".ratchets/exceptions.toml",
        '[[exception]]\ncode = "CB101"\npath = "engine/server_args.py"\nqualname = "f"\nreason = "r"\n',
    )
    ran = engine.run("check")
    assert ran.status == 8
    assert "exceptions.toml:3:1: CB101 engine/server_args.py::f can never match: it is an owner" in ran.err


# list, blame, trend, explain


def test_list_shows_the_live_places_of_every_entry(engine: Engine) -> None:
    engine.write(".github/CODEOWNERS", "* @all\n/engine/a.py @a @b  # whose\n")
    engine.write("engine/a.py", READ.replace("tp_size", "tp_size + get_server_args().tp_size"))
    engine.write("engine/sub/b.py", READ)
    engine.baseline(f"{LINE}\tx2", "engine/sub/b.py\tf\trecord.tp_size", "engine/sub/b.py\tg\trecord.tp_size")
    ran = engine.run("list")
    assert ran.status == 0
    assert ran.out == (
        "CB101 record-read: 4 findings\n"
        f"  .ratchets/CB101.tsv: {LINE}\tx2\n"
        "    engine/a.py:3:30\n"
        "    engine/a.py:3:58\n"
        "  .ratchets/CB101.tsv: engine/sub/b.py\tf\trecord.tp_size\n"
        "    engine/sub/b.py:3:30\n"
        "  .ratchets/CB101.tsv: engine/sub/b.py\tg\trecord.tp_size\n"
        "    1 not there any more; `confbag ratchet tighten`\n"
    )
    assert re.findall(r"^\S.*$", engine.run("list", "--by", "folder").out, re.MULTILINE) == [
        "engine: 2 findings",
        "engine/sub: 2 findings",
    ]
    assert re.findall(r"^\S.*$", engine.run("list", "--by", "owner").out, re.MULTILINE) == [
        "@a @b: 2 findings",
        "@all: 2 findings",
    ]


def test_list_says_what_it_cannot_know(engine: Engine) -> None:
    engine.write("engine/a.py", "x = = 1  # get_server_args server_args\n")
    engine.baseline(LINE, "engine/b.py\tf\trecord.x")
    ran = engine.run("list")
    assert ran.status == 4
    assert re.findall(r"^    (.*?)[:;]", ran.out, re.MULTILINE) == ["not known", "1 not there any more"]


@pytest.mark.parametrize(
    ("text", "path", "owner"),
    [
        ("* @all", "a/b.py", "@all"),
        ("* @all\n*.py @py", "a/b.py", "@py"),
        ("*.py @py\n* @all", "a/b.py", "@all"),
        ("/a.py @top", "b/a.py", ""),
        ("a.py @any", "b/a.py", "@any"),
        ("docs/ @any", "x/docs/y/a.py", "@any"),
        ("/docs/ @top", "x/docs/a.py", ""),
        ("docs @any", "docs.py", ""),
        ("docs/* @flat", "docs/a.py", "@flat"),
        ("docs/* @flat", "docs/more/a.py", ""),
        ("docs/** @deep", "docs/more/a.py", "@deep"),
        ("**/ops @ops", "a/b/ops/c.py", "@ops"),
        ("engine/*/ops/ @ops", "engine/x/ops/c/d.py", "@ops"),
        ("engine/*/ops/ @ops", "engine/x/y/ops/c.py", ""),
        ("* @all\n/engine/free/", "engine/free/a.py", ""),
        ("# * @all\n\n  \n/a.py @a a@b.example  # why", "a.py", "@a a@b.example"),
        ("with\\ space/ @s", "with space/a.py", "@s"),
    ],
)
def test_codeowners_are_read_as_their_host_reads_them(tmp_path: Path, text: str, path: str, owner: str) -> None:
    from confbag.ratchets.commands.codeowners import owners_of

    (tmp_path / "CODEOWNERS").write_text(text + "\n")
    assert owners_of(tmp_path)(path) == owner


@pytest.fixture
def burnt(engine: Engine) -> Engine:
    """An engine whose baseline went from three findings to one in three commits."""
    engine.write("engine/a.py", READ)
    for lines in ([f"{LINE}\tx2", "engine/b.py\tg\trecord.x"], [f"{LINE}\tx2"], [LINE]):
        engine.baseline(*lines)
        engine.commit(f"{len(lines)} lines")
        engine.write("README", "of no importance\n" + str(lines))
        engine.commit("something else")
    return engine


def test_blame_says_which_commits_changed_an_entry(burnt: Engine) -> None:
    for key in ([LINE], ["CB101", "engine/a.py::f"], ["record.tp_size"]):
        ran = burnt.run("blame", *key)
        assert ran.status == 0
        steps = [line.split(maxsplit=2)[2] for line in ran.out.splitlines()[1:]]
        assert steps == ["2 -> 1  A. Person: 1 lines", "0 -> 2  A. Person: 2 lines"]
    assert burnt.run("blame", "engine/none.py").status == 8


def test_trend_is_a_table_of_the_commits_that_changed_a_baseline(burnt: Engine) -> None:
    lines = burnt.run("trend").out.splitlines()
    assert [line.split()[2:4] for line in lines] == [["TOTAL", "CB101"], ["3", "3"], ["2", "2"], ["1", "1"]]
    since = burnt.run("trend", "--since", "HEAD~3").out.splitlines()
    assert [line.split()[2] for line in since] == ["TOTAL", "2", "1"]


def test_history_that_ends_early_is_said(burnt: Engine, new_engine: Callable[[str], Engine]) -> None:
    clone = new_engine("clone")
    clone.git("clone", "-q", "--depth", "1", burnt.folder.as_uri(), ".")
    for argv in (["trend"], ["blame", LINE]):
        ran = clone.run(*argv)
        assert ran.status == 0
        assert ran.err.startswith("this clone is shallow")
    assert burnt.run("trend").err == ""
    assert burnt.run("trend", "--since", "nowhere").err.startswith("--since: 'nowhere' cannot be reached")


def test_trend_draws_a_chart_that_is_xml(burnt: Engine) -> None:
    burnt.baseline("engine/a.py\tf\trecord.x\tx40", code="CB111")
    burnt.commit("one more <rule> & its baseline")
    assert burnt.run("trend", "--svg", "burn.svg").status == 0
    chart = ElementTree.fromstring(burnt.read("burn.svg"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in chart.iter(f"{space}text")]
    assert "CB101 record-read: 1" in texts
    assert "CB111 record-write: 40" in texts
    assert len(list(chart.iter(f"{space}polygon"))) == 2
    width, height = (float(chart.get(name) or 0) for name in ("width", "height"))
    for shape in chart.iter(f"{space}polygon"):
        for point in (shape.get("points") or "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_explain_prints_a_rule_by_code_or_name(engine: Engine) -> None:
    ran = engine.run("explain", "CB101")
    assert ran.status == 0
    assert ran.out == engine.run("explain", "record-read").out
    for words in ("CB101 record-read (on by default)", "Why", "What to write instead", "Finds `CB101 record."):
        assert words in ran.out


def test_explain_names_the_rule_that_was_meant(engine: Engine) -> None:
    assert "did you mean `record-read`?" in engine.run("explain", "record-reed").err
    assert "did you mean `CB1" in engine.run("explain", "CB10l").err


def test_explain_lists_every_rule_and_prints_the_page(engine: Engine) -> None:
    codes = [line.split()[0] for line in engine.run("explain").out.splitlines()]
    assert codes == sorted(codes)
    page = engine.run("explain", "--page").out
    assert all(f"\n## {code} " in page for code in codes)


# fix


@pytest.fixture
def fixable(engine: Engine) -> Engine:
    """An engine with a fields table, and one read of each kind."""
    engine.write(
        "fields.toml",
        'tp_size = {read = "get_parallel().tp_size", import = "from engine.bag import get_parallel"}\n'
        'eager = {read = "not get_exec().graph", import = "from engine.bag import get_exec"}\n',
    )
    engine.write("ratchets.toml", engine.read("ratchets.toml") + 'fields = "fields.toml"\n')
    return engine


BEFORE = b'''\
"""A module."""

from __future__ import annotations

from engine.runtime_context import get_server_args


def f():
    sa = get_server_args()
    x = get_server_args().other
    return -1 if not get_server_args().eager else sa.tp_size  # a comment,\tas it is


def g():
    return get_server_args().tp_size  # ratchet: allow CB101 -- it stays
'''


def test_fix_rewrites_what_has_a_replacement_and_nothing_else(fixable: Engine) -> None:
    file = fixable.write("engine/a.py", BEFORE)
    file.chmod(0o751)
    shown = fixable.run("fix", "--diff")
    assert (shown.status, file.read_bytes()) == (1, BEFORE)
    assert "+from engine.bag import get_parallel" in shown.out
    ran = fixable.run("fix")
    assert ran.status == 1
    assert "2 reads replaced in 1 file" in ran.err
    after = file.read_text()
    assert "return -1 if not (not get_exec().graph) else get_parallel().tp_size  # a comment,\tas it is\n" in (
        after.replace("not not get_exec", "not (not get_exec").replace(".graph else", ".graph) else")
    )
    assert after.count("from engine.bag import") == 2
    assert after.index("from __future__") < after.index("from engine.bag import")
    assert "sa = get_server_args()" not in after
    assert "x = get_server_args().other\n" in after
    assert "return get_server_args().tp_size  # ratchet: allow" in after
    assert file.stat().st_mode & 0o777 == 0o751
    again = fixable.run("fix")
    assert "0 reads replaced" in again.err
    assert file.read_text() == after


def test_fix_takes_only_the_files_that_are_given(fixable: Engine) -> None:
    fixable.write("engine/a.py", READ)
    fixable.write("engine/b.py", READ)
    assert fixable.run("fix", "engine/a.py").status == 0
    assert "get_parallel().tp_size" in fixable.read("engine/a.py")
    assert "get_parallel" not in fixable.read("engine/b.py")


def test_fix_says_what_could_not_be_analysed(fixable: Engine) -> None:
    fixable.write("engine/a.py", "x = = 1  # get_server_args server_args\n")
    assert fixable.run("fix").status == 4
