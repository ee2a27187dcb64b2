"""What users of other ratchets reported, each as a test; the name of each test holds the report's number."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Engine

IMPORT = "from engine.runtime_context import get_server_args\n"
READ = "def f():\n    return get_server_args().tp\n"


def line(path: str = "engine/a.py", qualname: str = "f", symbol: str = "record.tp") -> str:
    return f"{path}\t{qualname}\t{symbol}"


def test_01_one_fixed_and_one_added_in_a_function_do_not_cancel(engine: Engine) -> None:
    engine.baseline(line())
    engine.write("engine/a.py", READ.replace(".tp", ".dp"))
    report = engine.check()
    assert [(each["symbol"], each["state"]) for each in report["findings"]] == [("record.dp", "new")]
    assert [each["symbol"] for each in report["stale"]] == ["record.tp"]
    assert report["summary"]["status"] == 3


def test_02_a_union_merge_of_two_deletions_is_stale_and_tidy_keeps_it_valid(engine: Engine) -> None:
    engine.write(".gitattributes", ".ratchets/*.tsv merge=union text eol=lf\n")
    engine.write("engine/a.py", "x = 1\n")
    lines = [line(qualname=name) for name in "abcd"]
    engine.baseline(*lines)
    engine.commit("all")
    engine.git("checkout", "-q", "-b", "left")
    engine.baseline(lines[0], *lines[2:])
    engine.commit("left")
    engine.git("checkout", "-q", "main")
    engine.baseline(*lines[:2], lines[3])
    engine.commit("right")
    engine.git("merge", "-q", "left", "-m", "both")
    ran = engine.run("check")
    assert ran.status == 2
    assert "STALE" in ran.out
    assert engine.run("tidy").status == 0
    assert engine.run("tighten").status == 0
    assert engine.entries() == []


@pytest.mark.parametrize("content", [None, b"", b"# nothing yet\n"])
@pytest.mark.parametrize("command", ["check", "tighten", "tidy", "list"])
def test_04_empty_missing_and_comment_only_baselines_are_valid(
    engine: Engine, content: bytes | None, command: str
) -> None:
    if content is not None:
        engine.write(".ratchets/CB101.tsv", content)
    assert engine.run(command).status == 0


def test_04_an_entry_of_a_deleted_file_is_stale_and_tightened(engine: Engine) -> None:
    engine.baseline(line("engine/deleted.py"))
    assert engine.run("check").status == 2
    assert engine.run("tighten").status == 0
    assert engine.entries() == []


def test_06_and_52_eight_at_once_on_a_cold_cache_write_no_baseline(engine: Engine) -> None:
    for number in range(8):
        engine.write(f"engine/m{number}.py", READ)
    engine.baseline(*(line(f"engine/m{number}.py") for number in range(8)))
    before = engine.read(".ratchets/CB101.tsv")
    with ThreadPoolExecutor(8) as pool:
        chunks = [pool.submit(engine.command, "check", f"engine/m{number}.py") for number in range(8)]
    assert [(chunk.result().status, chunk.result().err) for chunk in chunks] == [(0, "")] * 8
    assert engine.read(".ratchets/CB101.tsv") == before
    assert engine.run("check").status == 0


def test_07_an_entry_that_another_branch_has_is_to_be_merged(engine: Engine) -> None:
    engine.baseline()
    engine.commit("an old copy")
    engine.git("branch", "feature")
    engine.write("engine/a.py", READ)
    engine.baseline(line())
    engine.commit("main moved on")
    engine.git("checkout", "-q", "feature")
    engine.git("checkout", "-q", "main", "--", "engine")
    ran = engine.run("check", "--against", "main")
    assert "its baseline entry exists on main; merge it" in ran.out


def test_08_17_and_27_parallel_branches_do_not_conflict(engine: Engine) -> None:
    engine.write(".gitattributes", ".ratchets/*.tsv merge=union text eol=lf\n")
    functions = {name: f"def {name}():\n    return get_server_args().tp\n\n\n" for name in "abcd"}
    engine.write("engine/a.py", "".join(functions.values()))
    engine.baseline(*(line(qualname=name) for name in "abcd"))
    engine.commit("all")
    for branch, gone in (("left", "b"), ("right", "c")):
        engine.git("checkout", "-q", "-b", branch, "main")
        engine.write(f"engine/{branch}.py", f"x = '{branch}'\n")
        text = "".join(body for name, body in functions.items() if name != gone)
        engine.write("engine/a.py", text)
        assert engine.run("tighten").status == 0
        engine.write("engine/a.py", "".join(functions.values()))
        engine.commit(branch)
    engine.git("merge", "-q", "left", "-m", "both")
    assert "<<<<" not in engine.read(".ratchets/CB101.tsv")


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n" + READ,
        "\n\n" + READ,
        "def f():\n    return (\n        get_server_args()\n        .tp\n    )\n",
        "def f(\n    a=1,\n    b=2,\n):\n    return get_server_args().tp\n",
        "def f():\n    x = 1\n    return get_server_args().tp  # here\n",
    ],
)
def test_10_11_22_and_26_reformatting_changes_no_key(engine: Engine, text: str) -> None:
    engine.baseline(line())
    before = engine.read(".ratchets/CB101.tsv")
    engine.write("engine/a.py", text)
    assert engine.run("check").status == 0
    assert engine.run("tighten").status == 0
    assert engine.read(".ratchets/CB101.tsv") == before


def test_12_one_new_finding_is_not_hidden_by_forty_stale_entries(engine: Engine) -> None:
    engine.baseline(*(line(qualname=f"g{number:02}") for number in range(40)))
    engine.write("engine/a.py", READ.replace("def f", "def h"))
    ran = engine.run("check")
    assert ran.status == 3
    assert ran.out.splitlines()[0] == "NEW: 1 finding that no baseline holds"
    assert len(engine.run("check", "--only", "new").out.splitlines()) == 5


def test_13_and_21_an_entry_of_a_file_that_was_not_given_is_left_alone(engine: Engine) -> None:
    engine.write("engine/a.py", "x = 1\n")
    engine.write("engine/b.py", "x = 1\n")
    engine.baseline(line("engine/a.py"), line("engine/b.py"))
    report = engine.check("engine/b.py")
    assert [each["path"] for each in report["stale"]] == ["engine/b.py"]
    assert engine.run("tighten", "engine/b.py").status == 0
    assert engine.entries() == [line("engine/a.py")]


def test_15_list_finds_the_sites_of_a_number(engine: Engine) -> None:
    engine.write("engine/a.py", "def f():\n    return get_server_args().tp + get_server_args().tp\n")
    engine.baseline(line() + "\tx2")
    out = engine.run("list").out
    assert "engine/a.py:3:30" in out
    assert "engine/a.py:3:53" in out


def test_16_the_line_of_the_file_is_printed_literally(engine: Engine) -> None:
    engine.write("engine/a.py", "x = 1\n")
    entry = line("engine/with space#\\\\.py")
    engine.baseline(entry)
    out = engine.run("check").out
    assert entry in out
    assert any(printed.strip() == entry for printed in out.splitlines())


def test_18_a_key_replaced_by_another_is_a_change_though_the_number_is_the_same(engine: Engine) -> None:
    engine.baseline(line())
    engine.write("engine/a.py", READ.replace(".tp", ".dp"))
    until = "--until", datetime.date.today().isoformat()
    assert engine.run("accept", "CB101", "engine/a.py::f", "--reason", "r", "--owner", "o", *until).status == 0
    report = engine.check()
    assert ([each["state"] for each in report["findings"]], report["summary"]["status"]) == (["excepted"], 2)
    assert engine.run("tighten").status == 0
    assert engine.entries() == []
    assert engine.run("check").status == 0


def test_20_a_similar_finding_elsewhere_is_new(engine: Engine) -> None:
    engine.write(
        "engine/a.py", "def g():\n    return get_server_args().tp\ndef h():\n    return get_server_args().tp\n"
    )
    engine.baseline(line(qualname="f"), line(qualname="g"))
    report = engine.check()
    assert [(each["qualname"], each["state"]) for each in report["findings"]] == [("g", "baselined"), ("h", "new")]
    assert (report["moved"], len(report["stale"]), report["summary"]["status"]) == ([], 1, 3)


def test_22_a_lambda_adds_nothing_to_a_key(engine: Engine) -> None:
    engine.write("engine/a.py", "def f():\n    return lambda: [get_server_args().tp for _ in ()]\n")
    engine.baseline(line())
    assert engine.run("check").status == 0


def test_23_from_a_folder_inside_the_paths_are_the_same(engine: Engine) -> None:
    engine.write("engine/sub/a.py", READ)
    engine.baseline(line("engine/sub/a.py"))
    assert engine.run("check", within="engine/sub").status == 0
    assert engine.run("check", "a.py", within="engine/sub").status == 0
    assert engine.check(within="engine/sub")["findings"][0]["path"] == "engine/sub/a.py"


def test_25_a_third_copy_is_not_free(engine: Engine) -> None:
    engine.write("engine/a.py", "def f():\n    a = get_server_args()\n    return a.tp, a.tp, a.tp\n")
    engine.baseline(line() + "\tx2")
    report = engine.check()
    assert [each["state"] for each in report["findings"]] == ["baselined", "baselined", "new"]
    assert "(3 here, 2 allowed)" in report["findings"][2]["message"]


def test_29_a_wide_exception_does_not_grow(engine: Engine) -> None:
    text = '[[exception]]\ncode = "CB101"\npath = "engine/models/*"\nreason = "r"\n'
    engine.write("engine/models/a.py", READ)
    engine.write(".ratchets/exceptions.toml", text)
    assert engine.run("check").status == 8
    engine.write(".ratchets/exceptions.toml", text + "max = 1\n")
    assert engine.run("check").status == 0
    engine.write("engine/models/b.py", READ)
    ran = engine.run("check")
    assert ran.status == 2
    assert "over max" in ran.out


def test_30_five_unused_exceptions_are_said_in_one_run(engine: Engine) -> None:
    entry = '[[exception]]\ncode = "CB101"\npath = "engine/{}.py"\nqualname = "f"\nreason = "r"\n'
    engine.write(".ratchets/exceptions.toml", "".join(entry.format(name) for name in "abcde"))
    ran = engine.run("check")
    assert ran.status == 2
    assert ran.out.count("unused: CB101") == 5


def test_31_an_exception_in_an_owner_is_a_mistake(engine: Engine) -> None:
    engine.write(
        ".ratchets/exceptions.toml",
        '[[exception]]\ncode = "CB101"\npath = "engine/runtime_context.py"\nqualname = "f"\nreason = "r"\n',
    )
    ran = engine.run("check")
    assert ran.status == 8
    assert "can never match" in ran.err


def test_32_inside_a_hook_with_an_index_of_its_own(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline(line())
    engine.commit("the bar")
    index = {"GIT_INDEX_FILE": ".git/next-index-1.lock", "GIT_DIR": ".git", "GIT_PREFIX": ""}
    assert engine.command("check", "--against", "HEAD", env=index).status == 0
    program = f'"{sys.executable}" -m confbag ratchet check --against HEAD'
    engine.write(".git/hooks/pre-commit", f"#!/bin/sh\necho index $GIT_INDEX_FILE\nexec {program}\n").chmod(0o755)
    for text, status in ((READ + "x = 1\n", 0), (READ + READ.replace("f()", "g()"), 1)):
        engine.write("engine/a.py", text)
        ran = subprocess.run(
            ["git", "commit", "-q", "-a", "-m", "in a hook"],
            cwd=engine.folder, env=engine.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == status, ran.stderr
        assert ".lock" in ran.stderr.splitlines()[0], "git made an index for this commit"
    assert "record.tp in g" in ran.stderr


def test_34_a_name_declared_before_its_import_is_followed(engine: Engine) -> None:
    engine.write(
        "engine/a.py",
        "g = None\nfrom engine.runtime_context import get_server_args as g\ndef f():\n    return g().tp\n",
    )
    assert [each["symbol"] for each in engine.check()["findings"]] == ["record.tp"]


def test_35_what_cannot_be_parsed_is_not_green(engine: Engine) -> None:
    engine.write("engine/a.py", IMPORT + "x = = 1\n")
    report = engine.check()
    assert [each["path"] for each in report["unanalysed"]] == ["engine/a.py"]
    assert report["summary"]["status"] == 4


def test_36_configuration_and_rules_are_read_once_whatever_the_number_of_files(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 41 000 files stand in test_robust_tree.py; here it is counted."""
    import confbag.ratchets.rules
    from confbag.ratchets.analysis import engine as analysis
    from confbag.ratchets.config import file as config_file

    for number in range(300):
        engine.write(f"engine/p{number}/__init__.py", "")
    engine.write("engine/a.py", READ)
    read: list[str] = []

    def counted(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **named: object) -> object:
            read.append(name)
            return function(*arguments, **named)

        return called

    monkeypatch.setattr(config_file, "load", counted("configuration", config_file.load))
    monkeypatch.setattr(analysis, "load", counted("rules", confbag.ratchets.rules.load))
    assert engine.check("--jobs", "1")["summary"]["new"] == 1
    assert sorted(read) == ["configuration", "rules"]


def test_37_five_hundred_reads_of_one_file_are_fixed_in_one_pass(engine: Engine) -> None:
    engine.write("fields.toml", 'tp = {read = "get_parallel().tp", import = "from confbag import get_parallel"}\n')
    engine.write("ratchets.toml", engine.read("ratchets.toml") + 'fields = "fields.toml"\n')
    reads = "".join(f"def f{number}(x):\n    return x + get_server_args().tp  # {number}\n" for number in range(500))
    engine.write("engine/a.py", IMPORT + reads)
    ran = engine.command("fix")
    assert (ran.status, ran.err.splitlines()[0]) == (0, "500 reads replaced in 1 file")
    fixed = engine.read("engine/a.py")
    assert fixed == "from confbag import get_parallel\n" + reads.replace("get_server_args().tp", "get_parallel().tp")
    assert engine.command("fix").err == "0 reads replaced in 0 files\n"
    assert engine.read("engine/a.py") == fixed


@pytest.mark.parametrize("source", ["+".join(["1"] * 10_000), "(" * 3000 + "1" + ")" * 3000])
def test_39_what_kills_a_parser_is_said_of_that_file_only(engine: Engine, source: str) -> None:
    engine.write("engine/a.py", READ)
    engine.write("engine/b.py", f"x = get_server_args().tp\ny = {source}\n")
    ran = engine.command("check", "--format", "json")
    assert (ran.status, ran.err) == (5, "")
    assert [(each["path"], each["reason"]) for each in ran.json["unanalysed"]] == [
        ("engine/b.py", "nested deeper than 1000")
    ]
    assert [each["path"] for each in ran.json["findings"]] == ["engine/a.py"]


@pytest.mark.parametrize(
    "expression",
    ["+".join(["1"] * 400), " ".join(["'a'"] * 2000), "f'{x}' " * 2000, "+".join(["'a' 'b'"] * 400), ".b" * 400],
)
def test_40_long_chains_are_analysed(engine: Engine, expression: str) -> None:
    text = f"x = a{expression}\n" if expression.startswith(".") else f"x = {expression}\n"
    engine.write("engine/a.py", text + "y = get_server_args().tp\n")
    report = engine.check()
    assert (report["unanalysed"], [each["line"] for each in report["findings"]]) == ([], [3])


def test_41_bytes_that_the_interpreter_takes_in_a_comment_are_taken(engine: Engine) -> None:
    engine.write("engine/a.py", IMPORT.encode() + b"# \x80\nx = get_server_args().tp\n")
    engine.write("engine/b.py", b"# \x80\n" + IMPORT.encode() + b"x = get_server_args().tp\n")
    report = engine.check()
    assert report["unanalysed"] == []
    assert [(each["path"], each["line"], each["column"]) for each in report["findings"]] == [
        ("engine/a.py", 3, 23),
        ("engine/b.py", 3, 23),
    ]


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("match 1:\n    case (\n c()\n):\n        x = get_server_args().tp", (6, 31)),
        ("match get_server_args():\n    case (\n C(\n  tp=1\n)):\n        pass", (5, 3)),
        ("match (\n get_server_args()\n .tp\n):\n    case _ if (\n 1):\n        pass", (4, 3)),
        ("match 1:\n    case [*_, {'a': -1 | 1j, **r}] if get_server_args(\n).tp:\n        pass", (4, 3)),
    ],
)
def test_42_match_statements_have_positions(engine: Engine, head: str, place: tuple[int, int]) -> None:
    engine.write("engine/a.py", f"{IMPORT}{head}\n")
    report = engine.check()
    assert report["unanalysed"] == []
    assert [(each["symbol"], each["line"], each["column"]) for each in report["findings"]] == [("record.tp", *place)]


def test_44_a_relative_import_is_resolved(engine: Engine) -> None:
    engine.write("engine/a.py", "from . import runtime_context as rc\nx = rc.get_server_args().tp\n")
    assert [each["qualname"] for each in engine.check()["findings"]] == ["<module>"]


def test_45_twenty_thousand_assignments_to_one_name_in_one_function(engine: Engine) -> None:
    lines = "".join(f"    x = {number}\n" for number in range(20_000))
    text = f"def f():\n    x = get_server_args()\n    y = x.dp\n{lines}    z = x.real\n    x = get_server_args()\n"
    engine.write("engine/a.py", text + "    return x.tp\n")
    ran = engine.command("check", "--format", "json")  # ended where it takes two minutes
    assert [(each["symbol"], each["line"]) for each in ran.json["findings"]] == [
        ("record.dp", 4),
        ("record.tp", 20_007),
    ]


def test_46_an_import_is_placed_before_its_first_use_and_not_where_it_would_go_round(engine: Engine) -> None:
    engine.write("engine/bag.py", "def get_parallel(): ...\n")
    engine.write("fields.toml", 'tp = {read = "get_parallel().tp", import = "from engine.bag import get_parallel"}\n')
    engine.write("ratchets.toml", engine.read("ratchets.toml") + 'fields = "fields.toml"\n')
    futures = "from __future__ import annotations\nfrom __future__ import division\n"
    code = f'{IMPORT}x = 1\ny = get_server_args().tp\n"a late string"\nz = get_server_args().dp\n'
    engine.write("engine/a.py", f'"""What it is for."""\n{futures}\n{code}')
    assert engine.run("fix").status == 1
    fixed = engine.read("engine/a.py")
    assert fixed == f'"""What it is for."""\n{futures}\nfrom engine.bag import get_parallel\n' + code.replace(
        "get_server_args().tp", "get_parallel().tp"
    )
    # The bag's module imports this one: at the top of it the name is not there yet.
    engine.write("engine/bag.py", "from engine import a\n\n\ndef get_parallel(): ...\n")
    engine.write("engine/a.py", code)
    ran = engine.run("fix")
    assert (ran.status, engine.read("engine/a.py")) == (1, code)
    assert re.search(r"left: engine/a.py:3:23: .*engine\.bag.*import", ran.err), ran.err


def test_47_the_version_needs_no_libcst(engine: Engine) -> None:
    script = "import sys; from confbag.ratchets.command import main\n"
    script += "try: main(['--version'])\nfinally: print('libcst' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert re.fullmatch(r"confbag ratchet [\d.]+\nFalse\n", ran.stdout), ran.stderr


def test_49_an_option_that_changes_what_is_found_is_not_hidden_by_the_cache(engine: Engine) -> None:
    engine.write("engine/a.py", "def f(server_args):\n    return server_args.tp\n")
    assert len(engine.check()["findings"]) == 1
    text = engine.read("ratchets.toml")
    engine.write("ratchets.toml", text.replace('holders = ["server_args"]', 'holders = ["other"]'))
    assert engine.check()["findings"] == []
    engine.write("ratchets.toml", text)
    engine.write("fields.toml", 'tp = {read = "get_parallel().tp", import = "from engine import get_parallel"}\n')
    before = engine.check()["findings"][0]["message"]
    engine.write("ratchets.toml", text + 'fields = "fields.toml"\n')
    assert engine.check()["findings"][0]["message"] != before


def test_50_a_comment_of_the_whole_file_that_allows_nothing_is_seen(engine: Engine) -> None:
    text = "# ratchet: allow-file CR999 -- gone\nx = 1  # noqa: F401\n"
    engine.write("engine/a.py", text)
    (finding,) = engine.check()["findings"]
    assert (finding["code"], finding["line"]) == ("CB100", 1)
    engine.run("tidy")
    assert engine.read("engine/a.py") == text


def test_51_a_path_is_one_path_however_it_is_written(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    for written in (".\\engine\\a.py", "./engine/a.py", "engine/./a.py", "engine/../engine/a.py"):
        assert [each["path"] for each in engine.check(written)["findings"]] == ["engine/a.py"]


def test_54_a_finding_shown_on_a_line_that_did_not_change_is_new(engine: Engine) -> None:
    before = "def f(local):\n    sa = local\n" + "    pass\n" * 6 + "    return sa.tp\n"
    engine.write("engine/a.py", IMPORT + before)
    engine.baseline()
    engine.commit("the bar")
    engine.write("engine/a.py", IMPORT + before.replace("sa = local", "sa = get_server_args()"))
    assert [each["line"] for each in engine.check("--against", "main")["findings"]] == [10]


def test_56_blame_names_the_commit_that_moved_an_entry(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline(line())
    engine.commit("brings it")
    engine.baseline()
    engine.commit("tightens it")
    out = engine.run("blame", line()).out
    assert "1 -> 0  A. Person: tightens it" in out.splitlines()[1]


def test_56_two_changes_green_alone_and_red_together_are_told_apart(engine: Engine) -> None:
    reads = ["    a = get_server_args().tp\n", "    b = get_server_args().tp\n"]
    other = "    pass\n" * 9
    engine.write("engine/a.py", f"{IMPORT}def f():\n{reads[0]}{other}{reads[1]}")
    engine.baseline(line() + "\tx2")
    engine.commit("the bar")
    engine.git("checkout", "-q", "-b", "left")
    engine.write("engine/a.py", f"{IMPORT}def f():\n{other}{reads[1]}")
    assert engine.run("tighten").status == 0
    assert engine.run("check", "--against", "main").status == 0
    engine.commit("takes one away")
    engine.git("checkout", "-q", "-b", "right", "main")
    engine.write("engine/a.py", f"{IMPORT}def f():\n{other}{reads[1]}    c = get_server_args().tp\n")
    assert engine.run("check", "--against", "main").status == 0
    engine.commit("moves one")
    engine.git("merge", "-q", "left", "-m", "both")
    ran = engine.run("check")
    assert ran.status == 1
    assert "(2 here, 1 allowed)" in ran.out
    out = engine.run("blame", "engine/a.py::f").out.splitlines()
    assert out[0] == f".ratchets/CB101.tsv: {line()}"
    assert any("2 -> 1  A. Person:" in step for step in out)


def test_55_and_57_every_key_has_its_own_bar_and_no_slack(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.write("engine/b.py", READ)
    engine.baseline(line() + "\tx5")
    report = engine.check()
    assert report["summary"]["status"] == 3
    assert [(each["allowed"], each["here"]) for each in report["stale"]] == [(5, 1)]


def test_59_a_shape_that_cannot_be_followed_hides_nothing_behind_it(engine: Engine) -> None:
    engine.write("ratchets.toml", engine.read("ratchets.toml").replace('"CB102"', '"CB102", "CB103"'))
    engine.write(
        "engine/a.py",
        "FIELDS = load()\ndef f():\n    for f in FIELDS:\n        getattr(get_server_args(), f)\n"
        "    for f in FIELDS: print(getattr(get_server_args(), f, 1))\n    return get_server_args().tp\n",
    )
    report = engine.check()
    assert [(each["code"], each["line"]) for each in report["findings"]] == [("CB103", 5), ("CB103", 6), ("CB101", 7)]
    assert report["unanalysed"] == []


def test_61_a_link_to_the_folder_above_is_not_followed(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    (engine.folder / "engine" / "loop").symlink_to(".")
    assert len(engine.check()["findings"]) == 1
    assert len(engine.check("engine/a.py", "engine/loop/a.py", "engine/loop/loop/a.py")["findings"]) == 1


@pytest.mark.parametrize("when", ["maybe", f"if=py>=3.{sys.version_info[1] + 1}"])
def test_62_a_comment_may_allow_nothing_where_it_says_so(engine: Engine, when: str) -> None:
    engine.write("engine/a.py", f"x = 1  # ratchet: allow CB101 {when} -- elsewhere it is a read\n")
    assert engine.run("check").status == 0
