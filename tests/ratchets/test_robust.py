"""Files of every shape: analysed where CPython accepts them, named with a reason where they cannot be."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import pytest

from confbag.ratchets.analysis import workers
from confbag.ratchets.configuration import MAX_BYTES
from confbag.ratchets.source import newer

IMPORT = "from engine.runtime_context import get_server_args\n"
READ = "def f():\n    return get_server_args().tp_size\n"


def places(judged):
    return [(found.line, found.column, found.symbol) for found in judged.analysis.findings]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("bom", b"\xef\xbb\xbf" + (IMPORT + "x = get_server_args().a\n").encode(), [(2, 23, "record.a")]),
        (
            "bom on the line",
            b"\xef\xbb\xbfx = 1; get_server_args = None\n" + IMPORT.encode() + b"get_server_args().a",
            [(3, 19, "record.a")],
        ),
        ("crlf", (IMPORT + READ).replace("\n", "\r\n").encode(), [(3, 30, "record.tp_size")]),
        ("lone cr", (IMPORT + READ).replace("\n", "\r").encode(), [(3, 30, "record.tp_size")]),
        ("form feed", ("\x0c" + IMPORT + "\x0cx = get_server_args().a\n").encode(), [(2, 24, "record.a")]),
        ("form feed in the line", (IMPORT + "x = 1\x0c; y = get_server_args().a\n").encode(), [(2, 31, "record.a")]),
        (
            "latin-1",
            b"# -*- coding: latin-1 -*-\n" + (IMPORT + "x = '\xe9\xe9', get_server_args().a\n").encode("latin-1"),
            [(3, 29, "record.a")],
        ),
        (
            "undecodable comment",
            b"# \x80\n" + IMPORT.encode() + b"x = get_server_args().a # \x80\n",
            [(3, 23, "record.a")],
        ),
        ("wide characters", (IMPORT + "x = '日本語😀', get_server_args().a\n").encode(), [(2, 31, "record.a")]),
        ("no newline at the end", (IMPORT + "get_server_args().a").encode(), [(2, 19, "record.a")]),
        ("empty", b"", []),
        ("only a comment", b"# get_server_args", []),
        ("wide name", (IMPORT + "get_server_args().größe").encode(), [(2, 19, "record.größe")]),
        ("name in another normal form", (IMPORT + "get_server_args().ﬁeld").encode(), [(2, 19, "record.field")]),
    ],
)
def test_text(judge_files, name, source, expected):
    judged = judge_files({"engine/case.py": source})
    assert places(judged) == expected
    assert judged.analysis.unanalysed == ()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = = 1  # get_server_args\n", "syntax error"),
        ("x = 1\0get_server_args\n", "null bytes"),
        ("get_server_args\nx = " + "(" * 3000 + "1" + ")" * 3000, "nested"),
        ("get_server_args\nx = " + "[" * 3000 + "1" + "]" * 3000, "nested"),
        ("get_server_args\nx = " + "+".join(["1"] * 10_000), "nested"),
        ("get_server_args\nx = a" + ".b" * 10_000, "nested"),
        ("get_server_args\nx = " + "not " * 5000 + "1", "nested"),
    ],
)
def test_could_not_be_analysed(judge_files, source, reason):
    good = {"engine/good.py": IMPORT + READ}
    judged = judge_files({"engine/bad.py": source, **good})
    (bad,) = judged.analysis.unanalysed
    assert bad.path == "engine/bad.py"
    assert reason in bad.reason
    assert judged.symbols("engine/good.py") == ["CB101 record.tp_size"]
    assert judged.analysis.analysed == {"engine/good.py"}


@pytest.mark.parametrize("count", [400, 2000])
def test_many_elif(judge_files, count):
    chain = "".join(f"    elif x == {number}:\n        y = {number}\n" for number in range(count))
    source = f"{IMPORT}def f(x):\n    if x is None:\n        y = 0\n{chain}    else:\n        y = get_server_args().a\n"
    judged = judge_files({"engine/case.py": source + "    return y\n"})
    assert judged.symbols() == ["CB101 record.a"]
    assert judged.analysis.unanalysed == ()


@pytest.mark.parametrize(
    "expression",
    [
        "+".join(["get_server_args().a"] * 900),
        "get_server_args()" + ".b" * 900,
        "(" * 90 + "get_server_args().a" + ")" * 90,
    ],
)
def test_deep_but_not_too_deep(judge_files, expression):
    judged = judge_files({"engine/case.py": f"{IMPORT}x = {expression}\n"})
    assert judged.analysis.unanalysed == ()
    assert judged.symbols()


def test_many_assignments_to_one_name(judge_files):
    lines = "".join(f"    x = {number}\n" for number in range(20_000))
    source = f"{IMPORT}def f():\n    x = get_server_args()\n{lines}    return x.real\n"
    assert judge_files({"engine/case.py": source}).symbols() == []
    source = f"{IMPORT}def f():\n{lines}    x = get_server_args()\n    return x.a\n"
    assert judge_files({"engine/case.py": source}).symbols() == ["CB101 record.a"]


def test_many_names_and_branches(judge_files):
    lines = "".join(f"    if a:\n        x{number} = a\n" for number in range(1500))
    source = f"{IMPORT}def f(a):\n{lines}    return get_server_args().a\n"
    assert judge_files({"engine/case.py": source}).symbols() == ["CB101 record.a"]


def test_a_long_chain_of_functions_that_hand_a_record_on(judge_files):
    count = 3000
    chain = "".join(f"def f{number}(s):\n    return f{number + 1}(s)\n" for number in range(count))
    source = f"{IMPORT}{chain}def f{count}(s):\n    return s.a\nf0(get_server_args())\n"
    judged = judge_files({"engine/case.py": source}, codes=("CB101", "CB104"))
    assert judged.symbols() == ["CB104 record->f0(a)"]


def test_many_fetches_in_one_function(judge_files):
    """Whether each is only a test of presence is asked of the whole function; once for all of them."""
    count = 2000
    lines = "".join(
        f"    if a:\n        x{number} = get_server_args()\n    else:\n        x{number} = None\n"
        for number in range(count)
    )
    source = f"{IMPORT}def f(a):\n{lines}    return x0.a\n"
    assert judge_files({"engine/case.py": source}).symbols() == ["CB101 record.a"]


def test_nested_loops_cost_no_power(judge_files):
    depth = 19
    lines = "".join("    " * (level + 1) + f"for i{level} in xs:\n" for level in range(depth))
    body = "    " * (depth + 1) + "y = x.a if x else 0\n" + "    " * (depth + 1) + "x = get_server_args()\n"
    source = f"{IMPORT}def f(xs):\n    x = None\n{lines}{body}"
    assert judge_files({"engine/case.py": source}).symbols() == ["CB101 record.a"]


def test_a_large_generated_file(judge_files):
    rows = "".join(f"ROW_{number} = [{number}, '{'text' * 125}']\n" for number in range(20_000))
    source = f"{IMPORT}{rows}x = get_server_args().a\n"
    assert len(source) > 10 * MAX_BYTES
    judged = judge_files({"engine/case.py": source})
    assert judged.symbols() == ["CB101 record.a"]
    assert not any(found.fixable for found in judged.analysis.findings)


@pytest.mark.parametrize(
    "lines",
    [
        "type Alias[T] = list[T]\n",
        "def generic[T: int](x: T) -> T:\n    return x\n",
        "class Generic[T = int]:\n    pass\n",
        "x = f\"{'a' + f\"{'b'}\"}\"\n",
        "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
        "try:\n    pass\nexcept* ValueError:\n    pass\n",
        "def f(*args: *tuple[int]):\n    return args[*args]\n",
        'x = t"{a}"\n',
    ],
)
def test_syntax_newer_than_ours(judge_files, lines):
    source = f"{IMPORT}{lines}y = get_server_args().a\n"
    judged = judge_files({"engine/case.py": source})
    assert judged.analysis.unanalysed == ()
    assert places(judged) == [(source.count("\n"), 23, "record.a")]


@pytest.mark.parametrize("deep", ["(" * 3000 + "1" + ")" * 3000, "+".join(["1"] * 1500), "a" + ".b" * 1500])
def test_deep_code_in_newer_syntax_ends_a_process_of_its_own(judge_files, deep):
    """libcst's parser takes the process with it there; the tree would come from it where `ast` is too old."""
    newest = "x = t'{a}'" if sys.version_info < (3, 14) else "x = = 1"
    source = f"{IMPORT}{newest}\ny = get_server_args().a\nz = {deep}\n"
    judged = judge_files({"engine/bad.py": source, "engine/good.py": IMPORT + READ})
    assert [bad.path for bad in judged.analysis.unanalysed] == ["engine/bad.py"]
    assert judged.symbols("engine/good.py") == ["CB101 record.tp_size"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="no syntax is newer than this Python")
def test_a_file_that_libcst_does_not_come_back_with_is_told_from_one_with_a_mistake(judge_files, monkeypatch):
    monkeypatch.setattr(newer, "_SECONDS", 0.0001)
    judged = judge_files({"engine/newer.py": f"{IMPORT}x = t'{{a}}'\ny = get_server_args().a\n"})
    (reason,) = [bad.reason for bad in judged.analysis.unanalysed]
    assert "libcst did not read it within" in reason
    assert "exclude it, or run a newer Python" in reason


def test_libcst_rescues_only_newer_syntax():
    assert newer.read(b"1 = x\n") is None
    assert newer.read(b"x = 1\n") is None


def test_positions_inside_f_strings(judge_files):
    source = IMPORT + 'x = (\n    "a"\n    f"""{1}\n  {get_server_args().a:>{get_server_args().b}}"""\n)\n'
    assert places(judge_files({"engine/case.py": source})) == [(5, 22, "record.a"), (5, 44, "record.b")]


def test_an_unreadable_file(judge_files, monkeypatch):
    from confbag.ratchets.analysis import engine
    from confbag.ratchets.configuration import Configuration, RecordSpec

    spec = RecordSpec("r", ("engine.rc.get",))
    configuration = Configuration(root=Path("/tree"), repository=Path("/tree"), records=(spec,), codes=("CB101",))

    def read(path):
        raise PermissionError(13, "Permission denied")

    analysis = engine.analyse(configuration, ["engine/a.py"], read=read)
    assert [(one.path, one.reason) for one in analysis.unanalysed] == [
        ("engine/a.py", "cannot be read: Permission denied")
    ]
    assert analysis.analysed == frozenset()


@pytest.mark.parametrize(
    "path", ["engine/a b.py", "engine/a\tb.py", "engine/a\nb.py", "engine/größe 日本.py", "engine/-x.py"]
)
def test_paths(judge_files, path):
    assert judge_files({path: IMPORT + READ}).symbols(path) == ["CB101 record.tp_size"]


def test_warnings_of_a_file_are_not_ours(judge_files):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = judge_files({"engine/case.py": IMPORT + "x = '\\d' is 1, get_server_args().a\n"})
    assert judged.symbols() == ["CB101 record.a"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
def test_a_worker_that_dies_takes_one_file_with_it():
    def work(number):
        if number == 3:
            os.kill(os.getpid(), 9)
        return number * 2

    answers = dict(workers.each(list(range(8)), work, jobs=2, weight=lambda number: 1))
    assert isinstance(answers.pop(3), workers.Died)
    assert answers == {number: number * 2 for number in range(8) if number != 3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.parametrize("what", ["fork", "pipe"])
@pytest.mark.parametrize("had", [0, 1])
def test_where_no_process_is_to_be_had_the_work_is_done_here(monkeypatch, what, had):
    real, left = getattr(os, what), [had]

    def refused():
        if left[0]:
            left[0] -= 1
            return real()
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, what, refused)
    before = len(os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else 0
    answers = dict(workers.each(list(range(8)), lambda number: number * 2, jobs=2, weight=lambda number: 1))
    assert answers == {number: number * 2 for number in range(8)}
    assert not before or len(os.listdir("/dev/fd")) == before


def test_match_positions(judge_files):
    source = (
        IMPORT
        + "match get_server_args():\n    case (\n        A(\n            a = 1\n        )\n    ):\n        pass\n"
    )
    assert places(judge_files({"engine/case.py": source})) == [(5, 13, "record.a")]
    assert sys.version_info >= (3, 10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.parametrize("killing", [(), (0, 1), tuple(range(0, 200, 7)), tuple(range(200))])
def test_every_task_is_answered_whatever_its_process_meets(killing):
    def work(number):
        if number in killing:
            os.kill(os.getpid(), 9)
        return number * 2

    answers = dict(workers.each(list(range(200)), work, jobs=2, weight=lambda number: 200 - number))
    assert answers.keys() == set(range(200))
    assert {number for number, answer in answers.items() if isinstance(answer, workers.Died)} == set(killing)
    assert all(answers[number] == number * 2 for number in answers.keys() - set(killing))
