"""Rules of other packages: loaded where the configuration lists them, and only there."""

from __future__ import annotations

import importlib.metadata
import types
from pathlib import Path

import pytest

from confbag.ratchets.analysis import engine
from confbag.ratchets.config.file import load
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


def test_a_rule_that_fails_is_named(installed, monkeypatch):
    made = rule()
    made.judge = lambda facts, configuration: 1 / 0
    monkeypatch.setattr(Point, "load", lambda self: made)
    with pytest.raises(UsageError, match="the plugin of ACME1 failed: ZeroDivisionError"):
        found(codes=("ACME1",), plugins=("acme",))


# In a configuration file

TREE = "def get_server_args(): ...\n"
RECORD = """\
[[record]]
name = "server_args"
accessors = ["engine.get_server_args"]
"""


def loaded(folder: Path, text: str) -> Configuration:
    (folder / "engine.py").write_text(TREE)
    (folder / "ratchets.toml").write_text(text + RECORD)
    return load(folder / "ratchets.toml")


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        loaded(folder, text)
    return [str(fault) for fault in caught.value.faults]


def test_its_codes_and_its_table_are_known_where_it_is_listed(installed, tmp_path):
    configuration = loaded(tmp_path, 'plugins = ["acme"]\nextend-enable = ["ACME1"]\n')
    assert (configuration.plugins, "ACME1" in configuration.codes) == (("acme",), True)
    (tmp_path / "ratchets.toml").write_text('plugins = ["acme"]\n[ACME1]\nwords = 3\n' + RECORD)
    configuration = load(tmp_path / "ratchets.toml")
    assert "ACME1" in configuration.codes
    assert configuration.tables == {"ACME1": {"words": 3}}
    assert installed == ["confbag.ratchets"] * 2


def test_nothing_is_looked_up_for_a_configuration_without_a_list(installed, tmp_path):
    loaded(tmp_path, "")
    assert installed == []
    assert faults(tmp_path, 'extend-enable = ["ACME1"]\n')[0].startswith("ratchets.toml:1:18: unknown code 'ACME1'")
    assert installed == []


def test_every_mistake_about_plugins_is_said_with_the_others_and_its_place(installed, tmp_path, monkeypatch):
    text = 'plugins = ["acmee", "acme"]\nenable = ["CB101", "ACME2"]\nrots = []\n'
    assert faults(tmp_path, text) == [
        "ratchets.toml:1:12: no package offers the ratchet plugin 'acmee'; did you mean `acme`?",
        "ratchets.toml:2:20: unknown code 'ACME2'; did you mean `ACME1`?",
        "ratchets.toml:3:1: unknown key `rots`; did you mean `roots`?",
    ]
    for load_, said in (
        (
            lambda self: 1 / 0,
            "the plugin 'acme' cannot be imported: ZeroDivisionError: division by zero; repair it, or take it out of "
            "`plugins`",
        ),
        (lambda self: types.ModuleType("empty"), "the plugin 'acme' is no rule: it has no CODE"),
        (
            lambda self: types.SimpleNamespace(CODE="CB101"),
            "the plugin 'acme' brings CB101, which confbag brings already",
        ),
    ):
        monkeypatch.setattr(Point, "load", load_)
        assert faults(tmp_path, 'plugins = ["acme"]\n') == [f"ratchets.toml:1:12: {said}"]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: [])
    assert faults(tmp_path, 'plugins = ["acme"]\n') == [
        "ratchets.toml:1:12: no package offers the ratchet plugin 'acme'; none is installed"
    ]
