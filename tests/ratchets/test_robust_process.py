"""Processes as they are treated: interrupted, killed, their streams closed or full, started by a hook of git."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from conftest import Engine

RATCHET = (sys.executable, "-m", "confbag", "ratchet")
READ = "def f():\n    return get_server_args().tp\n"
FUNCTIONS = 120
BODY = "from engine.runtime_context import get_server_args\n" + "".join(
    f"def f{number}(a, b):\n    x = get_server_args()\n    y = [x.tp for q in a if x.dp]\n    return y, b, x.pp\n"
    for number in range(FUNCTIONS)
)


class Ran(NamedTuple):
    """What a process left."""

    status: int
    out: str
    err: str


def fill(engine: Engine, number: int = 60) -> list[str]:
    """Files that keep two workers busy for a while, and the baseline that they need."""
    for index in range(number):
        engine.write(f"engine/m{index:02}.py", BODY)
    return sorted(
        f"engine/m{index:02}.py\tf{function}\trecord.{field}"
        for index in range(number)
        for function in range(FUNCTIONS)
        for field in ("dp", "pp", "tp")
    )


@contextmanager
def started(engine: Engine, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command, at work in a process group of its own; nothing of it is left behind."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [*RATCHET, *words], cwd=engine.folder, env=engine.environment, start_new_session=True, **streams
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def alive(group: int) -> list[int]:
    """The processes of a group that still run; those that only wait to be reaped are not alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, _, its_group = (entry / "stat").read_text().rpartition(") ")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state != "Z":
            found.append(int(entry.name))
    return found


def ends(group: int) -> bool:
    """Whether every process of a group comes to its end. The limit is there for a test that fails."""
    last = time.monotonic() + 60
    while alive(group):
        if time.monotonic() > last:
            return False
        time.sleep(0.02)
    return True


def workers_run(process: subprocess.Popen[bytes]) -> bool:
    """Wait until the command has two processes of its own; False where it came to its end without."""
    last = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < last:
        if len(alive(process.pid)) > 2:
            return True
        time.sleep(0.005)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="the processes of a group are read from /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_worker_and_no_half_file(engine: Engine, how: signal.Signals) -> None:
    lines = fill(engine)
    with started(engine, "check", "--jobs", "2") as process:
        assert workers_run(process)
        os.kill(process.pid, how)
        out, err = process.communicate()
        assert ends(process.pid)
    assert (process.returncode, out, err) == (130 if how == signal.SIGINT else -how, b"", b"")
    folder = engine.folder / ".ratchets"
    assert not folder.exists() or {file.name for file in folder.rglob("*")} <= {"cache", ".gitignore"}
    engine.baseline(*lines)
    assert engine.command("check").status == 0


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="the processes of a group are read from /proc")
def test_ctrl_c_of_a_terminal_reaches_every_process(engine: Engine) -> None:
    fill(engine)
    with started(engine, "check", "--jobs", "2") as process:
        assert workers_run(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
        assert ends(process.pid)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_killed_at_any_moment_nothing_is_lost_and_the_next_run_is_right(engine: Engine) -> None:
    """`check` writes the cache, `tighten` the baseline; both are killed at many moments from the first file on."""
    lines = fill(engine, 8)
    old = [f"engine/z{number}.py\tf\trecord.tp" for number in range(3000)]
    gone = "".join(line + "\n" for line in sorted([*lines, *old]))
    file = engine.write(".ratchets/CB101.tsv", gone)
    before = file.read_bytes()
    after = "".join(line + "\n" for line in lines).encode()
    start = time.monotonic()
    assert engine.command("tighten").status == 0
    whole = time.monotonic() - start
    assert file.read_bytes() == after
    for moment in range(16):
        file.write_bytes(before)
        if moment % 2:
            subprocess.run(["rm", "-rf", str(engine.folder / ".ratchets" / "cache")], check=True)
        with started(engine, "tighten" if moment % 4 < 2 else "check") as process:
            time.sleep(whole * (0.3 + 0.7 * moment / 15))
            process.kill()
            process.communicate()
        assert file.read_bytes() in (before, after)
        report = engine.check()
        assert (report["unanalysed"], report["summary"].get("new", 0)) == ([], 0)
        assert len(report["findings"]) == len(lines)
        assert report["summary"]["status"] == (2 if file.read_bytes() == before else 0)
    assert engine.run("tighten").status == 0
    assert engine.run("tidy").status == 0
    assert file.read_bytes() == after
    left = {each.name for each in (engine.folder / ".ratchets").rglob("*") if each.name.endswith(".new")}
    assert left == set()


def test_eight_at_once_on_a_cold_cache_agree(engine: Engine) -> None:
    lines = fill(engine, 6)
    engine.baseline(*lines[1:])
    processes = [
        subprocess.Popen(
            [*RATCHET, "check", "--format", "json"],
            cwd=engine.folder,
            env=engine.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(8)
    ]
    ran = [(process.communicate(), process.returncode) for process in processes]
    alone = engine.command("check", "--no-cache", "--format", "json")
    assert alone.status == 1
    assert ran == [((alone.out.encode(), b""), 1)] * 8
    cached = engine.command("check", "--format", "json", "--stats")
    assert (cached.out, "cached" in cached.err) == (alone.out, True)
    names = {file.name for file in (engine.folder / ".ratchets" / "cache").iterdir()}
    assert not any(name.endswith(".new") for name in names)


# Streams


def ran_with(engine: Engine, line: str) -> Ran:
    """A line of the shell with `ratchet` for the command."""
    script = f'ratchet() {{ "{sys.executable}" -m confbag ratchet "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=engine.folder, env=engine.environment, capture_output=True, text=True, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "junit"])
def test_a_reader_that_goes_away(engine: Engine, form: str) -> None:
    fill(engine, 30)
    ran = ran_with(engine, f"ratchet check --format {form} | true; exit ${{PIPESTATUS[0]}}")
    assert (ran.status, ran.out, ran.err) == (141, "", "")


def test_streams_that_are_closed(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    for line in ("check >&-", "check <&- >&- 2>&-", "check --format json >&-", "check 2>&- >/dev/null", "list >&-"):
        ran = ran_with(engine, f"ratchet {line}")
        assert (ran.status, ran.out, ran.err) == (0 if "list" in line else 1, "", ""), line
    for line in ("check nothere 2>&-", "check nothere <&- >&- 2>&-", "--bad 2>&-", "check --bad 2>&-"):
        assert ran_with(engine, f"ratchet {line}").status == 8, line
    assert ran_with(engine, "ratchet check --against HEAD <&-").status == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_streams_that_are_full(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    for line in ("check", "check --format json", "list", "explain", "explain CB101", "--version"):
        ran = ran_with(engine, f"ratchet {line} >/dev/full")
        assert (ran.status, ran.err.count("\n")) == (8, 1), line
        assert "No space left on device" in ran.err
    for line in ("check nothere", "--bad", "check --bad", "nothing"):
        assert ran_with(engine, f"ratchet {line} 2>/dev/full").status == 8, line
    assert ran_with(engine, "ratchet check 2>/dev/full").status == 1


# Disks


def limited(engine: Engine, words: Sequence[str], size: int) -> Ran:
    """The command where no file may grow over a size: what it writes fails in the middle.

    Coverage is not measured: what it writes would fail too.
    """
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2); "
        "from confbag.cli import main; sys.exit(main(['ratchet', *sys.argv[1:]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(size), *words],
        cwd=engine.folder,
        env={name: value for name, value in engine.environment.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_disk_that_fills_up_while_a_baseline_is_written(engine: Engine) -> None:
    lines = fill(engine, 2)
    file = engine.write(".ratchets/CB101.tsv", "".join(f"{line}\n" for line in [*lines, "engine/z.py\tf\trecord.tp"]))
    before = file.read_bytes()
    ran = limited(engine, ["tighten"], 4096)
    assert (ran.status, "File too large" in ran.err, "Traceback" in ran.err) == (8, True, False)
    assert file.read_bytes() == before
    assert {each.name for each in file.parent.iterdir()} <= {"CB101.tsv", "cache"}


def test_a_disk_that_fills_up_while_the_cache_is_written(engine: Engine) -> None:
    engine.baseline(*fill(engine, 2))
    for size in (0, 1, 64, 4096):
        ran = limited(engine, ["check"], size)
        assert (ran.status, ran.err) == (0, "")
        cache = engine.folder / ".ratchets" / "cache"
        assert not any(each.name.endswith(".new") for each in cache.rglob("*"))
    assert engine.command("check", "--stats").status == 0


@pytest.mark.parametrize("what", ["a file", "a link to nowhere", "a folder of the system", "files in the way"])
def test_a_cache_folder_that_takes_nothing(engine: Engine, what: str) -> None:
    lines = fill(engine, 2)
    engine.baseline(*lines[1:])
    cache = engine.folder / ".ratchets" / "cache"
    if what == "a file":
        cache.write_text("no folder")
    elif what == "a link to nowhere":
        cache.symlink_to("/proc/nowhere/cache")
    elif what == "a folder of the system":
        cache.symlink_to("/proc/self")
    else:
        for name in ("facts", "last-words", "last-facts", ".gitignore"):
            (cache / name).mkdir(parents=True)
    for words in ((), ("engine/m00.py",)):
        ran = engine.command("check", *words)
        assert (ran.status, ran.err) == (1, "")
        assert ran.out == engine.command("check", "--no-cache", *words).out


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "swapped", "foreign"])
def test_a_damaged_cache_is_dropped(engine: Engine, damage: str) -> None:
    lines = fill(engine, 2)
    engine.baseline(*lines[1:])
    right = engine.command("check").out
    cache = engine.folder / ".ratchets" / "cache"
    files = sorted(file for file in cache.iterdir() if file.name != ".gitignore")
    contents = [file.read_bytes() for file in files]
    assert len(files) >= 4
    for file, content, other in zip(files, contents, contents[1:] + contents[:1], strict=True):
        middle = len(content) // 2
        file.write_bytes(
            {
                "cut": content[:middle],
                "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "empty": b"",
                "swapped": other,
                "foreign": b"\x80\x04N.",
            }[damage]
        )
    for words in ((), ("engine/m00.py", "engine/m01.py"), ()):
        ran = engine.command("check", *words)
        assert (ran.status, ran.out, ran.err) == (1, right, "")


def test_a_cache_of_somebody_else_runs_nothing(tmp_path: Path) -> None:
    """It is restored in CI, where another change may have filled it."""
    import pickle

    from confbag.ratchets.analysis.cache import Cache
    from confbag.ratchets.finding import Unanalysed

    cache = Cache(tmp_path / "cache")
    victim = tmp_path / "victim"

    def call(module: str, name: str, *arguments: object) -> bytes:
        given = b"".join(pickle.dumps(each, 2)[2:-1] for each in arguments)
        return b"\x80\x02c" + f"{module}\n{name}\n".encode() + b"(" + given + b"tR."

    attempts = [
        call("os", "system", f"touch {victim}"),
        call("builtins", "eval", f"open({str(victim)!r}, 'w')"),
        call("builtins", "open", str(victim), "w"),
        call("confbag.ratchets.writing", "write_whole", str(victim), b"x"),
        call("confbag.ratchets.writing", "os.mkdir", str(victim)),
        call("confbag.ratchets.command", "import_module", "this"),
        call("confbag.ratchets.analysis.cache", "Cache", str(victim)),
        call("confbag.ratchets.source.git", "Git", str(victim)),
    ]
    from confbag.ratchets.analysis import cache as module

    for attempt in attempts:
        content = module._MAGIC + module.digest(attempt) + attempt
        cache.folder.mkdir(exist_ok=True)
        (cache.folder / "facts").write_bytes(content)
        assert cache.read("facts") is None, attempt
    assert not victim.exists()
    assert "this" not in sys.modules
    cache.write("facts", [Unanalysed("a", "b"), frozenset({1})])
    assert cache.read("facts") == [Unanalysed("a", "b"), frozenset({1})]


# git


def hooked(engine: Engine, words: str = "check --against HEAD") -> None:
    """A hook of the repository that runs the command."""
    hook = engine.write(".git/hooks/pre-commit", f'#!/bin/sh\nexec "{sys.executable}" -m confbag ratchet {words}\n')
    hook.chmod(0o755)


def commit(engine: Engine, *words: str) -> Ran:
    done = subprocess.run(
        ["git", "commit", "-q", *words],
        cwd=engine.folder,
        env=engine.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("words", [("-a", "-m", "x"), ("-m", "x", "engine/a.py"), ("-m", "x", "-i", "engine/a.py")])
def test_in_a_hook_of_a_commit_that_has_an_index_of_its_own(engine: Engine, words: tuple[str, ...]) -> None:
    engine.write("engine/a.py", READ)
    engine.baseline("engine/a.py\tf\trecord.tp")
    engine.commit("the bar")
    hooked(engine)
    engine.write("engine/a.py", READ + "x = 1\n")
    assert commit(engine, *words) == Ran(0, "", "0 new, 1 baselined\n")
    assert engine.git("log", "-1", "--format=%s").strip() == "x"
    engine.write("engine/a.py", READ + READ.replace("f()", "g()"))
    refused = commit(engine, *words)
    assert refused.status == 1
    assert "record.tp in g" in refused.err
    assert engine.git("fsck", "--strict", "--no-dangling") == ""
    assert engine.git("diff", "--cached", "--name-only") == "", "the index is as it was"


def test_in_a_hook_of_another_repository_than_the_one_judged(engine: Engine, new_engine: Any) -> None:
    engine.write("engine/a.py", READ)
    engine.commit("a read")
    other = new_engine("other")
    other.git("init", "-q")
    git = str(other.folder / ".git")
    names = {"GIT_DIR": git, "GIT_WORK_TREE": str(other.folder), "GIT_INDEX_FILE": f"{git}/index", "GIT_PREFIX": "x/"}
    names |= {"GIT_OBJECT_DIRECTORY": f"{git}/objects", "GIT_LITERAL_PATHSPECS": "1", "GIT_CEILING_DIRECTORIES": "/"}
    for words in (("check",), ("check", "--against", "HEAD")):
        ran = engine.command(*words, env=names)
        assert (ran.status, "engine/a.py" in ran.out, "NOTES" in ran.out) == (1, True, False), ran.err


def test_a_shallow_clone_is_never_green(engine: Engine, new_engine: Any) -> None:
    engine.baseline()
    first = engine.commit("the bar")
    engine.commit("more")
    clone = new_engine("clone")
    clone.git("clone", "-q", "--depth", "1", f"file://{engine.folder}", ".")
    for ref in ("HEAD~1", first, "origin/main~1", "nothing", "v1.0"):
        ran = clone.command("check", "--against", ref)
        assert (ran.status, ran.out) == (8, "")
        assert "this clone is shallow" in ran.err
        assert "fetch-depth: 0" in ran.err
    assert clone.command("check", "--against", "origin/main").status == 0
