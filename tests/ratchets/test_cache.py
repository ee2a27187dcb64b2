"""The cache: it changes no result, is one folder that may be copied, and keeps to its size."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from confbag.ratchets.analysis import cache as caching
from confbag.ratchets.analysis import keeping
from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.analysis.engine import Analysis, analyse
from confbag.ratchets.analysis.examining import Examiner
from confbag.ratchets.analysis.results import Examined
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Unanalysed

if TYPE_CHECKING:
    from conftest import Engine

READ = "def f():\n    return get_server_args().tp\n"


def stats(engine: Engine, *words: str) -> dict[str, float]:
    """What a run did."""
    said = engine.run("check", "--stats", *words).err.split()
    return dict(zip(said[::2], map(float, said[1::2]), strict=True))


def names(engine: Engine) -> set[str]:
    return {file.name for file in (engine.folder / ".ratchets" / "cache").iterdir()}


def test_what_was_kept_is_used_and_says_the_same(engine: Engine) -> None:
    for number in range(5):
        engine.write(f"engine/m{number}.py", READ)
    cold = engine.run("check", "--format", "json")
    assert stats(engine)["cached"] == 1
    assert engine.run("check", "--format", "json") == cold
    engine.write("engine/m0.py", READ + READ.replace("f()", "g()"))
    assert stats(engine)["examined"] == 1, "one file is another; the rest is known"
    assert engine.run("check", "--format", "json").out == engine.run("check", "--no-cache", "--format", "json").out
    engine.write("engine/m0.py", READ)
    assert engine.run("check", "--format", "json") == cold


def test_without_a_cache_none_is_written(engine: Engine) -> None:
    engine.write("engine/a.py", READ)
    assert engine.run("check", "--no-cache").status == 1
    assert not (engine.folder / ".ratchets").exists()


def test_it_is_one_folder_that_another_machine_may_have_filled(
    engine: Engine, new_engine: Callable[[str], Any]
) -> None:
    engine.write("engine/a.py", READ)
    engine.commit("a read")
    said = engine.run("check", "--format", "json")
    clone = new_engine("clone")
    clone.git("clone", "-q", str(engine.folder), ".")
    shutil.copytree(engine.folder / ".ratchets" / "cache", clone.folder / ".ratchets" / "cache")
    assert stats(clone)["cached"] == 1
    assert clone.run("check", "--format", "json") == said
    assert engine.git("status", "--short") == "", "it ignores itself"
    engine.write(".gitignore", "")
    engine.commit("nothing is ignored")
    assert engine.git("status", "--short") == ""


def test_old_results_go(engine: Engine) -> None:
    for number in range(12):
        engine.write("engine/a.py", READ * (number + 1))
        engine.run("check")
    assert len([name for name in names(engine) if name.startswith("run-")]) == 8
    assert stats(engine)["cached"] == 1, "the last one stays"


def test_facts_keep_to_their_size_and_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "_LIMIT", 20_000)
    for number in range(40):
        kept = Cache(tmp_path)
        kept.put(bytes([number]), os.urandom(1000))
        kept.save()
    assert (tmp_path / "facts").stat().st_size < 25_000
    kept = Cache(tmp_path)
    there = [number for number in range(40) if kept.get(bytes([number])) is not None]
    assert there == list(range(there[0], 40))
    assert 15 <= len(there) <= 20


def test_what_is_used_again_is_not_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "_LIMIT", 20_000)
    first = os.urandom(1000)
    for number in range(40):
        kept = Cache(tmp_path)
        if number:
            assert kept.get(b"first") == first
        else:
            kept.put(b"first", first)
        kept.put(bytes([number]), os.urandom(1000))
        kept.save()


def test_a_value_that_is_not_ours_is_not_read(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    for value in (Path("x"), os.path.join, Cache, ValueError("x"), [{"a": Path("x")}]):
        kept.write("facts", value)
        assert kept.read("facts") is None
    for plain in ({"a": [1, 2.5, None, True, b"x", ("y", frozenset({1}))]}, "text", []):
        kept.write("facts", plain)
        assert kept.read("facts") == plain
        assert Cache(tmp_path).read("facts") == plain
    (tmp_path / "facts").write_bytes(pickle.dumps({}))
    assert kept.read("facts") is None


def test_another_state_of_our_own_modules_is_another_version(tmp_path: Path) -> None:
    ours = Path(keeping.__file__).resolve().parents[1]
    copied = tmp_path / "confbag" / "ratchets"
    shutil.copytree(ours, copied, ignore=shutil.ignore_patterns("__pycache__"))
    ask = "from confbag.ratchets.analysis.keeping import tool; print(tool())"
    (tmp_path / "confbag" / "__init__.py").write_text("")

    def told() -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", ask], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    before = told()
    assert before == f"{keeping.tool()}\n", "wherever it stands"
    with (copied / "rules" / "record_read.py").open("a") as module:
        module.write("# and one more line\n")
    assert told() != before


@pytest.mark.parametrize("lasting", [True, False])
def test_what_only_happened_to_a_run_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: bool
) -> None:
    configuration = Configuration(tmp_path, tmp_path, codes=("CB121",))
    sources = {"a.py": b"X = []\ndef f():\n    X.append(1)\n"}

    def analysis() -> Analysis:
        return analyse(configuration, sources, read=sources.__getitem__, cache=Cache(tmp_path / "cache"))

    with monkeypatch.context() as patch:
        reason = Examined(Unanalysed("a.py", "it happened", lasting=lasting), {})
        patch.setattr(Examiner, "__call__", lambda self, task, known: reason)
        assert [each.reason for each in analysis().unanalysed] == ["it happened"]
    assert [each.reason for each in analysis().unanalysed] == (["it happened"] if lasting else [])
