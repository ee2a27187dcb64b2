"""Triage, cache and workers only save time: on generated trees the findings are the same with each on and off."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confbag.ratchets.analysis import engine
from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.codes import RECORD_RULES, RULES
from confbag.ratchets.configuration import Configuration, RecordSpec

CASES = [
    case
    for code in RECORD_RULES
    for case in import_module(f"confbag.ratchets.rules.{RULES[code]}").CASES
    if not case.options and case.path == "engine/case.py"
]
# Modules that hand names, classes and records to each other.
LINKS = [
    "from engine.runtime_context import get_server_args\nCURRENT = get_server_args()\n",
    "from engine.m0 import CURRENT as again\ndef helper():\n    return again\n",
    "from engine import m1\nclass Base:\n    def __init__(self):\n        self._sa = m1.helper()\n",
    "from engine.m2 import Base\nclass Child(Base):\n    def f(self):\n        return self._sa.tp_size\n",
    "from engine.m3 import *\ndef f(x: Child):\n    x._sa.dp_size = 1\n",
    "from .m1 import helper as h\ndef g(name):\n    return getattr(h(), name)\n",
    "def helper():\n    return None\nCURRENT = None\nclass Base:\n    _sa = 1\nclass Child(Base):\n    pass\n",
    "x = 1\n",
]


def configured(codes=RECORD_RULES):
    record = RecordSpec(
        "server_args", ("engine.runtime_context.get_server_args",), ("engine.server_args.ServerArgs",), ("server_args",)
    )
    return Configuration(root=Path("/tree"), repository=Path("/tree"), codes=codes, records=(record,))


def found(files, **how):
    configuration = how.pop("configuration", configured())
    return engine.analyse(configuration, sorted(files), read=lambda path: files[path].encode(), **how).findings


@st.composite
def trees(draw):
    """Some modules: links in any order, and cases behind them."""
    files = {}
    for number in range(draw(st.integers(1, 6))):
        text = draw(st.sampled_from(LINKS))
        for case in draw(st.lists(st.sampled_from(CASES), max_size=2)):
            text += case.complete()
            files.update(case.files)
        files[f"engine/m{number}.py"] = text
    return files


@settings(max_examples=60, deadline=None)
@given(files=trees())
def test_triage_changes_nothing(files):
    assert found(files, triage=True) == found(files, triage=False)


@settings(max_examples=30, deadline=None)
@given(files=trees(), code=st.sampled_from(RECORD_RULES))
def test_one_rule_alone_finds_what_it_finds_among_others(files, code):
    among = [finding for finding in found(files) if finding.code == code]
    alone = found(files, configuration=configured((code,)))
    assert [(one.path, one.line, one.column, one.symbol) for one in alone if one in among] == [
        (one.path, one.line, one.column, one.symbol) for one in among
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=trees(), after=trees())
def test_the_cache_changes_nothing(tmp_path_factory, before, after):
    folder = tmp_path_factory.mktemp("cache")
    for files in (before, after, {**before, **after}, after):
        expected = found(files)
        assert found(files, cache=Cache(folder)) == expected
        assert found(files, cache=Cache(folder)) == expected


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=trees())
def test_workers_change_nothing(monkeypatch, files):
    expected = found(files)
    monkeypatch.setattr(engine, "_PARALLEL", 0)
    assert found(files, jobs=2) == expected


def test_every_part_of_a_full_run_is_found_by_a_partial_run(tmp_path):
    files = {f"engine/m{number}.py": text for number, text in enumerate(LINKS[:6])}
    whole = found(files, cache=Cache(tmp_path))
    assert len(whole) == 3
    for path in files:
        analysis = engine.analyse(
            configured(), [path], read=lambda path: files[path].encode(), cache=Cache(tmp_path), full=False
        )
        assert analysis.findings == tuple(finding for finding in whole if finding.path == path)
        assert analysis.notes == ()


def test_a_partial_run_without_facts_says_so(tmp_path):
    files = {"engine/m0.py": LINKS[0] + "CURRENT.a\n"}
    for cache in (None, Cache(tmp_path)):
        analysis = engine.analyse(configured(), files, read=lambda path: files[path].encode(), cache=cache, full=False)
        assert len(analysis.findings) == 1
        assert "no facts of a full run" in analysis.notes[0]


@pytest.mark.parametrize("damage", [b"", b"x", b"confbag ratchets 1\n" + b"0" * 40])
def test_a_damaged_cache_is_dropped(tmp_path, damage):
    files = {"engine/m0.py": LINKS[0] + "CURRENT.a\n"}
    expected = found(files, cache=Cache(tmp_path))
    for kept in tmp_path.iterdir():
        if kept.name != ".gitignore":
            kept.write_bytes(damage)
    assert found(files, cache=Cache(tmp_path)) == expected


def test_the_cache_runs_nothing_that_it_reads(tmp_path):
    import pickle

    from confbag.ratchets.analysis import cache

    class Evil:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    body = pickle.dumps(Evil())
    (tmp_path / "facts").write_bytes(cache._MAGIC + cache.digest(body) + body)
    assert Cache(tmp_path).read("facts") is None
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    files = {"engine/m0.py": LINKS[0] + "CURRENT.a\n"}
    assert found(files, cache=Cache(tmp_path / "file" / "cache")) == found(files)


def test_old_entries_are_dropped(tmp_path, monkeypatch):
    from confbag.ratchets.analysis import cache

    monkeypatch.setattr(cache, "_LIMIT", 4000)
    for number in range(30):
        kept = Cache(tmp_path)
        kept.put(bytes([number]), os.urandom(900))
        kept.save()
        kept.save_result(bytes([number]), number)
    held = Cache(tmp_path)
    assert [number for number in range(30) if held.get(bytes([number])) is not None] == [26, 27, 28, 29]
    assert len([entry for entry in tmp_path.iterdir() if entry.name.startswith("run-")]) == 8


def test_what_a_killed_process_left_is_swept(tmp_path):
    left = tmp_path / ".facts.0123456789abcdef.new"
    left.write_bytes(b"half")
    Cache(tmp_path).save_result(b"key", 1)
    assert not left.exists()
