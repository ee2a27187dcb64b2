"""Rules of other packages: loaded where the configuration lists them, and only there."""

from __future__ import annotations

import importlib.metadata
import types
from pathlib import Path

import pytest

from confbag.ratchets.analysis import engine
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.faults import UsageError
from confbag.ratchets.finding import Finding


def rule():
    """A rule that finds every file with a word in it."""
    made = types.ModuleType("acme_rule")
    made.CODE = "ACME1"
    made.triggers = lambda configuration: (b"forbidden",)
    made.wanted = lambda tree, configuration: bool(tree.body)
    made.collect = lambda module, configuration: module.name
    made.judge = lambda facts, configuration: [
        Finding(path, 1, 1, "ACME1", name, "<module>", "forbidden here") for path, name in facts.items()
    ]
    return made


class Point:
    name = "acme"

    def load(self):
        return rule()


@pytest.fixture
def installed(monkeypatch):
    asked = []

    def entry_points(*, group):
        asked.append(group)
        return [Point()]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return asked


def found(**options):
    files = {"engine/a.py": b"x = 'forbidden'\n", "engine/b.py": b"x = 1\n"}
    configuration = Configuration(root=Path("/tree"), repository=Path("/tree"), **options)
    return [each.symbol for each in engine.analyse(configuration, files, read=files.__getitem__).findings]


def test_a_listed_rule_runs(installed):
    assert found(codes=("ACME1",), plugins=("acme",)) == ["engine.a"]
    assert installed == ["confbag.ratchets"]


def test_nothing_is_looked_up_without_a_list(installed):
    assert found(codes=("CB142",)) == []
    assert installed == []


def test_a_rule_that_is_not_enabled_does_not_run(installed):
    assert found(codes=(), plugins=("acme",)) == []


def test_what_is_missing_is_named(installed):
    with pytest.raises(UsageError, match="no package offers the ratchet plugin 'other'; installed: acme"):
        found(codes=("ACME1",), plugins=("other",))
    with pytest.raises(UsageError, match="no plugin has the rules ACME2"):
        found(codes=("ACME2",), plugins=("acme",))
