"""Trees as they are found: odd names, links, pipes, what cannot be read, what is not checked out, very many files."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import pytest

from confbag.ratchets.allowed.baseline import Baseline, encode

if TYPE_CHECKING:
    from conftest import Engine

READ = "def f():\n    return get_server_args().tp\n"
IMPORTED = ("from engine.runtime_context import get_server_args\n" + READ).encode()
# UTF-8 as it is, and the locale of a bare container, where names are ASCII to Python.
LOCALES = ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"})
NAMES = (
    b"a b", b"a\tb", b"a\nb", b"c\rd", b"-x", b"x#y", b"#z", b"back\\slash", b":(top)x", b"[br]", b"*", b"x .py ",
    b"per%cent,colon:x", b"quo\"te'<&>", b"esc\x1b[31m", b"bad\xff\xfe", "größe 日本".encode(), b"nfd e\xcc\x81",
    b"nfc \xc3\xa9", b"line\xe2\x80\xa8", b"wide\xf0\x9f\x98\x80", b"..dots", b"d\xe9r/x",
)  # fmt: skip


# Links to one file: a file system makes them faster than files.
MANY = """
import os
open("empty.py", "w").close()
for folder in range(410):
    os.mkdir(f"p{folder}")
    for name in ("__init__", *range(1, 100)):
        os.link("empty.py", f"p{folder}/{name}.py")
"""


def put(engine: Engine, name: bytes) -> None:
    """A file with one read, by a name in bytes."""
    path = os.path.join(os.fsencode(engine.folder), b"engine", name + b".py")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(IMPORTED)


def text_of(name: bytes) -> str:
    return "engine/" + name.decode("utf-8", "surrogateescape") + ".py"


@pytest.mark.parametrize("locale", LOCALES)
def test_a_name_of_any_bytes_in_every_format(engine: Engine, locale: dict[str, str]) -> None:
    for name in NAMES:
        put(engine, name)
    ran = {
        form: engine.command("check", "--format", form, env=locale)
        for form in ("text", "json", "sarif", "github", "junit")
    }
    assert {(each.status, each.err) for each in ran.values()} == {(1, "")}
    assert sorted(each["path"] for each in ran["json"].json["findings"]) == sorted(map(text_of, NAMES))
    (run,) = ran["sarif"].json["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert sorted(map(unquote_to_bytes, places)) == sorted(b"engine/" + name + b".py" for name in NAMES)
    failures = ElementTree.fromstring(ran["junit"].out.encode("utf-8", "surrogateescape")).iter("failure")
    assert len(list(failures)) == len(NAMES)
    assert len(ran["github"].out.splitlines() if "\u2028" not in ran["github"].out else NAMES) == len(NAMES)
    assert all(line.startswith("::error file=engine/") for line in ran["github"].out.split("\n")[:-1])
    lines = [line for line in ran["text"].out.split("\n") if ": CB101 " in line]
    assert len(lines) == len(NAMES)
    assert not any(character < " " for line in lines for character in line)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_name_of_any_bytes_into_a_baseline_and_back(engine: Engine, locale: dict[str, str]) -> None:
    for name in NAMES:
        put(engine, name)
    places = [(text_of(name), "f", "record.tp") for name in NAMES]
    lines = sorted(encode(place) for place in places)
    assert set(Baseline.parse(b"".join(line + b"\n" for line in lines), "x").entries) == set(places)
    file = engine.write(".ratchets/CB101.tsv", b"".join(line + b"\n" for line in lines))
    before = file.read_bytes()
    assert engine.command("check", env=locale) == (engine.command("check")), "one answer in every locale"
    assert engine.command("check", env=locale).out == f"0 new, {len(NAMES)} baselined\n"
    assert engine.command("tighten", env=locale).status == 0
    assert file.read_bytes() == before
    listed = engine.command("list", env=locale)
    assert (listed.status, listed.out.count("record.tp")) == (0, len(NAMES))
    engine.commit("the bar")
    assert engine.command("check", "--against", "HEAD", env=locale).status == 0
    for name in NAMES:
        os.unlink(os.path.join(os.fsencode(engine.folder), b"engine", name + b".py"))
    stale = engine.command("check", env={})
    assert stale.status == 2
    assert all(line.decode() in stale.out for line in lines)
    assert engine.command("tighten", env=locale).status == 0
    assert file.read_bytes() == b""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_bytes_given(engine: Engine, name: bytes) -> None:
    put(engine, name)
    path = os.fsdecode(b"./engine/" + name + b".py")
    assert [each["path"] for each in engine.check(path)["findings"]] == [text_of(name)]
    assert [each["path"] for each in engine.check("engine")["findings"]] == [text_of(name)]


def test_git_may_be_told_to_quote_paths(engine: Engine) -> None:
    put(engine, "größe\t日本".encode())
    engine.git("config", "core.quotepath", "true")
    assert [each["path"] for each in engine.check()["findings"]] == ["engine/größe\t日本.py"]


def special(engine: Engine, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something by the name of engine/odd.py that is no file to read."""
    path = engine.folder / "engine" / "odd.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    elif kind == "memory":
        path.symlink_to("/proc/self/mem")
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe behind a link":
        os.mkfifo(path.with_name("pipe"))
        path.symlink_to("pipe")


@pytest.mark.parametrize("repository", ["git", "none"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "memory", "device", "pipe behind a link"])
def test_what_is_no_regular_file_is_said_and_keeps_nobody_waiting(
    engine: Engine, kind: str, repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.write("engine/a.py", READ)
    if repository == "git":
        engine.write("engine/odd.py", "x = 1\n")
        engine.commit("a file, for now")
        (engine.folder / "engine" / "odd.py").unlink()
    else:
        shutil.rmtree(engine.folder / ".git")
    special(engine, kind, monkeypatch)
    for words in ((), ("engine/odd.py", "engine/a.py"), ("engine",)):
        ran = engine.command("check", "--format", "json", *words)
        assert (ran.status, ran.err) == (5, "")
        assert [each["path"] for each in ran.json["unanalysed"]] == ["engine/odd.py"]
        assert [each["path"] for each in ran.json["findings"]] == ["engine/a.py"]
    assert engine.command("tighten").status == 4


def test_a_file_that_may_not_be_read_is_said(engine: Engine) -> None:
    """Root may read everything; what stops root too stands in the test above."""
    engine.write("engine/a.py", READ)
    locked = engine.write("engine/locked.py", READ)
    locked.chmod(0)
    ran = engine.check()
    if os.access(locked, os.R_OK):
        assert [each["path"] for each in ran["findings"]] == ["engine/a.py", "engine/locked.py"]
    else:
        assert [(each["path"], each["reason"]) for each in ran["unanalysed"]] == [
            ("engine/locked.py", "cannot be read: Permission denied")
        ]
        assert ran["summary"]["status"] == 5


def test_a_folder_named_like_a_module_is_a_folder(engine: Engine) -> None:
    engine.write("engine/odd.py/inner.py", READ)
    for words in ((), ("engine/odd.py",)):
        assert [each["path"] for each in engine.check(*words)["findings"]] == ["engine/odd.py/inner.py"]


def test_a_link_to_nowhere_is_an_editors_mark_unless_git_has_it(engine: Engine) -> None:
    (engine.folder / "engine" / ".#a.py").symlink_to("person@host.4242:1700000000")
    assert engine.command("check").status == 0
    (engine.folder / "engine" / "b.py").symlink_to("generated/b.py")
    engine.git("add", "engine/b.py")
    report = engine.check()
    assert [(each["path"], each["reason"]) for each in report["unanalysed"]] == [
        ("engine/b.py", "cannot be read: No such file or directory")
    ]


@pytest.mark.parametrize("repository", ["git", "none"])
def test_links_that_go_round_in_circles(engine: Engine, repository: str) -> None:
    engine.write("engine/a.py", READ)
    folder = engine.folder / "engine"
    (folder / "loop").symlink_to(".")
    (folder / "one.py").symlink_to("two.py")
    (folder / "two.py").symlink_to("one.py")
    (folder / "up").symlink_to("../..")
    if repository == "none":
        shutil.rmtree(engine.folder / ".git")
    assert [each["path"] for each in engine.check()["findings"]] == ["engine/a.py"]
    assert [each["path"] for each in engine.check("engine/loop/loop/a.py")["findings"]] == ["engine/a.py"]
    assert engine.run("check", "engine/one.py").status == 8


def test_a_link_out_of_the_tree_is_judged_by_its_own_name(engine: Engine) -> None:
    """Given by name or found, the answer is one."""
    outside = engine.folder.parent / "outside.py"
    outside.write_bytes(IMPORTED)
    (engine.folder / "engine" / "linked.py").symlink_to(outside)
    engine.commit("a link")
    for words in ((), ("engine/linked.py",), ("engine",)):
        assert [each["path"] for each in engine.check(*words)["findings"]] == ["engine/linked.py"]
    assert engine.run("check", str(outside), "--require-files").status == 8


def test_a_link_is_judged_by_its_own_name_where_its_target_is_not_judged(engine: Engine) -> None:
    engine.write("ratchets.toml", 'exclude = ["engine/vendored/"]\n' + engine.read("ratchets.toml"))
    engine.write("tools/program", IMPORTED)
    engine.write("tools/m.py", IMPORTED)
    engine.write("engine/a.py", IMPORTED)
    engine.write("engine/vendored/v.py", IMPORTED)
    for name, target in (("p", "../tools/program"), ("m", "../tools/m.py"), ("b", "a.py"), ("v", "vendored/v.py")):
        (engine.folder / "engine" / f"{name}.py").symlink_to(target)
    expected = ["engine/a.py", "engine/m.py", "engine/p.py"]
    for words in ((), [f"engine/{name}.py" for name in "pmbv"], ("engine",)):
        assert [each["path"] for each in engine.check(*words)["findings"]] == expected


def test_what_a_sparse_checkout_leaves_out_is_not_taken_for_gone(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.write("engine/part/b.py", READ)
    lines = [f"engine/{path}\tf\trecord.tp" for path in ("a.py", "part/b.py")]
    engine.baseline(*lines)
    engine.commit("the bar")
    engine.git("sparse-checkout", "set", "--no-cone", "/*", "!/engine/part/")
    assert not (engine.folder / "engine" / "part").exists()
    ran = engine.run("check")
    assert ran.status == 4
    assert "STALE" not in ran.out
    assert "engine/part/b.py: cannot be read" in ran.out
    assert "sparse checkout" in ran.out
    assert engine.run("tighten").status == 4
    assert engine.run("check", "engine/a.py").status == 0, "a part of the tree is judged as ever"
    assert engine.run("check", "engine/a.py", "--against", "HEAD").status == 0
    assert engine.entries() == lines


def test_a_file_deleted_but_in_the_index_is_gone(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("engine/a.py\tf\trecord.tp")
    engine.commit("the bar")
    (engine.folder / "engine" / "a.py").unlink()
    report = engine.check()
    assert (report["unanalysed"], len(report["stale"]), report["summary"]["status"]) == ([], 1, 2)


def test_a_file_that_changes_or_goes_while_the_run_lasts(judge_files: Callable[..., object]) -> None:
    """It is read again for a second round, and by then it is another or none."""
    from pathlib import Path

    from confbag.ratchets.analysis import engine as analysis
    from confbag.ratchets.configuration import Configuration, RecordSpec

    texts = {
        "engine/a.py": b"from engine.runtime_context import get_server_args as sa\n",
        "engine/b.py": b"from engine.a import sa\ndef f():\n    return sa().tp\n",
        "engine/c.py": IMPORTED,
    }
    spec = RecordSpec("server_args", ("engine.runtime_context.get_server_args",))
    configuration = Configuration(Path("/t"), Path("/t"), codes=("CB101",), records=(spec,))
    for later in (None, b"x = = 1  # sa\n", b"sa = 1\n"):
        read: list[str] = []

        def reading(path: str, later: bytes | None = later, read: list[str] = read) -> bytes:
            read.append(path)
            if path == "engine/b.py" and read.count(path) > 1:
                if later is None:
                    raise FileNotFoundError(2, "No such file or directory")
                return later
            return texts[path]

        done = analysis.analyse(configuration, texts, read=reading)
        assert [found.path for found in done.findings if found.path != "engine/b.py"] == ["engine/c.py"]
        assert read.count("engine/b.py") > 1


def test_a_file_that_its_author_saves_while_it_is_fixed_keeps_what_was_saved(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confbag.ratchets.fix import tree

    real = tree.fix_file
    saved = IMPORTED + b"# saved by its author\n"

    def fixed_slowly(module: Any, *arguments: Any) -> object:
        if module.path == "engine/a.py":
            engine.write("engine/a.py", saved)
        return real(module, *arguments)

    monkeypatch.setattr(tree, "fix_file", fixed_slowly)
    engine.write("fields.toml", 'tp = {read = "get_parallel().tp", import = "from confbag import get_parallel"}\n')
    engine.write("ratchets.toml", engine.read("ratchets.toml") + 'fields = "fields.toml"\n')
    engine.write("engine/a.py", IMPORTED)
    engine.write("engine/b.py", IMPORTED)
    ran = engine.run("fix")
    assert "left: engine/a.py: it was changed meanwhile" in ran.err
    assert ran.status == 5
    assert engine.read("engine/a.py").encode() == saved
    assert "get_parallel().tp" in engine.read("engine/b.py")
    monkeypatch.undo()
    assert engine.run("fix").status == 0
    assert "# saved by its author" in engine.read("engine/a.py")


def test_a_submodule_is_another_repository(engine: Engine, new_engine: Callable[[str], Engine]) -> None:
    other = new_engine("other")
    other.write("m.py", IMPORTED)
    other.git("init", "-q", "-b", "main")
    other.commit("theirs")
    engine.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.folder), "engine/theirs")
    engine.commit("a submodule")
    ran = engine.run("check")
    assert ran.status == 0
    assert "engine/theirs is a submodule" in ran.out
    text = engine.read("ratchets.toml")
    engine.write("ratchets.toml", text.replace('roots = ["engine"]', 'roots = ["engine", "engine/theirs"]'))
    ran = engine.run("check")
    assert ran.status == 8
    assert "engine/theirs" in ran.err


def test_inside_a_submodule_and_a_worktree(engine: Engine, new_engine: Callable[[str], Engine]) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("engine/a.py\tf\trecord.tp")
    engine.commit("the bar")
    outer = new_engine("outer")
    outer.git("init", "-q", "-b", "main")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(engine.folder), "inner")
    engine.git("worktree", "add", "-q", "../tree", "HEAD")
    for folder in (outer.folder / "inner", engine.folder.parent / "tree"):
        inner = type(engine)(folder)
        assert inner.command("check", "--against", "HEAD").out == "0 new, 1 baselined\n"


def test_without_git_the_folders_are_walked(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    ran = engine.command("check", env={"PATH": "/nonexistent"})
    assert (ran.status, "git is not installed" in ran.out) == (1, True)
    for words in (("check", "--against", "HEAD"), ("blame", "x"), ("trend",)):
        ran = engine.command(*words, env={"PATH": "/nonexistent"})
        assert (ran.status, "git is not installed" in ran.err) == (8, True), words


def test_where_git_has_no_commit_or_is_no_repository(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    git = engine.folder / ".git"
    shutil.rmtree(git)
    assert engine.run("check").status == 1
    assert "no git repository" in engine.run("check", "--against", "HEAD").err
    git.write_text("gitdir: /nowhere\n")
    assert engine.run("check").status == 1
    assert engine.run("check", "--against", "HEAD").status == 8
    assert "not a git repository: /nowhere" in engine.run("check", "--against", "HEAD").err
    git.unlink()
    engine.git("init", "-q", "-b", "main")
    assert engine.run("check").status == 1
    for words in (("check", "--against", "HEAD"), ("blame", "x"), ("trend",)):
        ran = engine.run(*words)
        assert (ran.status, "no commit yet" in ran.err) == (8, True), words


def test_a_root_that_is_missing(engine: Engine) -> None:
    (engine.folder / "engine").rename(engine.folder / "moved")
    engine.baseline("engine/a.py\tf\trecord.tp")
    for command in ("check", "tighten"):
        ran = engine.run(command)
        assert (ran.status, "root 'engine' matches nothing" in ran.err) == (8, True)
    assert engine.entries() == ["engine/a.py\tf\trecord.tp"]


def test_no_home_and_no_folder_for_temporary_files(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    ran = subprocess.run(
        [sys.executable, "-m", "confbag", "ratchet", "check", "--format", "json"],
        cwd=engine.folder,
        env={"TMPDIR": "/nonexistent", "PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (1, b"")
    assert len(json.loads(ran.stdout)["findings"]) == 1
    assert (engine.folder / ".ratchets" / "cache" / "facts").is_file()


def test_very_many_tiny_files(engine: Engine) -> None:
    """41 000 of them took a peer 40 s; ours may take a whole machine's hiccup, and takes about a second."""
    # In a process of its own: what watches this one makes opening a file slow.
    subprocess.run([sys.executable, "-c", MANY], cwd=engine.folder / "engine", check=True)
    engine.write("engine/a.py", READ)
    for words in ((), ("--no-cache",)):
        ran = engine.command("check", "--format", "json", *words)  # ended where it takes two minutes
        assert (ran.status, len(ran.json["findings"])) == (1, 1)
    # Each was read once, and none was parsed but the three that hold a word of the record's.
    stats = engine.command("check", "--no-cache", "--stats").err.split()
    said = dict(zip(stats[::2], map(float, stats[1::2]), strict=True))
    assert (said["files"], said["triggered"]) == (41_004, 3)
