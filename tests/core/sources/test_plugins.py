"""Plug-ins' settings, and the entry points behind them."""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from confbag import load
from confbag.bag.plugins import plugin_settings
from confbag.schema.config import Config
from confbag.sources.entry_points import entry_points, hidden_points
from confbag.sources.keys import Keys
from confbag.sources.plugins import read_plugins
from confbag.words.provenance import Layer, Setting


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole of sys.path for distributions."""
    keep = [entry for entry in sys.path if not any(Path(entry or ".").glob("*.*-info"))]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *keep])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CONFBAG_PLUGINS", raising=False)
    return tmp_path


def install(folder: Path, name: str, *points: str, info: str = "dist-info", group: str = "confbag.settings") -> None:
    meta = folder / f"{name}.{info}"
    meta.mkdir(parents=True)
    distribution = name.partition("-")[0]
    meta.joinpath("PKG-INFO" if info == "egg-info" else "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\n"
    )
    body = "\n".join(points)
    meta.joinpath("entry_points.txt").write_text(
        f"# ours\n[console_scripts]\nx = y:z\n\n[{group}]\n{body}\n[other]\na=b\n"
    )


def module(folder: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.joinpath(f"{name}.py").write_text(source)
    monkeypatch.delitem(sys.modules, name, raising=False)


def by_importlib(group: str) -> set[tuple[str, str]]:
    return {(point.name, point.value) for point in importlib.metadata.entry_points(group=group)}


def ours(group: str) -> set[tuple[str, str]]:
    return {(point.name, point.value) for point in entry_points(group)}


def test_the_installed_ones_are_those_that_importlib_finds() -> None:
    assert ours("confbag.backends") == by_importlib("confbag.backends")
    assert ("confbag", "confbag.kernels:register") in ours("confbag.backends")


def test_every_kind_of_installation_reads_as_importlib_reads_it(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, "acme_plugin-1.0", "acme = acme:DATA", "acme.two=acme_two:DATA.inner [extra]")
    install(site, "tree", "tree = tree:DATA", info="egg-info")
    later = site / "later"
    install(later, "Acme.Plugin-0.9", "hidden = old:DATA")
    install(later, "other-1.0", "other = other:DATA")
    archive = site / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("zipped-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: zipped\n")
        bundle.writestr("zipped-1.0.dist-info/entry_points.txt", "[confbag.settings]\nzipped = zipped:DATA\n")
    for entry in (later, archive, site / "missing", later):
        sys.path.append(str(entry))
    expected = {
        ("acme", "acme:DATA"),
        ("acme.two", "acme_two:DATA.inner [extra]"),
        ("tree", "tree:DATA"),
        ("other", "other:DATA"),
        ("zipped", "zipped:DATA"),
    }
    assert ours("confbag.settings") == expected == by_importlib("confbag.settings")
    assert [point.distribution for point in entry_points("confbag.settings")][:2] == ["acme-plugin", "acme-plugin"]


def test_what_another_installation_hides_is_known(site: Path) -> None:
    install(site, "acme-1.0", "acme = acme:DATA")
    other = site / "other"
    install(other, "acme-1.0", "acme = acme:DATA")
    sys.path.append(str(other))
    assert hidden_points("confbag.settings") == (), "it declares no more than the first"
    third = site / "third"
    install(third, "Acme-2.0", "acme = acme_two:DATA", "more = more:DATA")
    sys.path.append(str(third))
    assert ours("confbag.settings") == {("acme", "acme:DATA")} == by_importlib("confbag.settings")
    hidden = hidden_points("confbag.settings")
    assert [(point.name, point.value) for point in hidden] == [("acme", "acme_two:DATA"), ("more", "more:DATA")]
    assert {point.hidden_by for point in hidden} == {str(site / "acme-1.0.dist-info")}


def test_what_is_installed_meanwhile_is_found(site: Path) -> None:
    assert entry_points("confbag.settings") == ()
    install(site, "late-1.0", "late = late:DATA")
    assert ours("confbag.settings") == {("late", "late:DATA")}


def test_a_finder_of_somebody_elses_making_is_asked(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = site / "hidden"
    install(hidden, "remote-1.0", "remote = remote:DATA")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            return None

        @staticmethod
        def find_distributions(context: object = None) -> list[importlib.metadata.Distribution]:
            return [importlib.metadata.PathDistribution(hidden / "remote-1.0.dist-info")]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert ours("confbag.settings") == {("remote", "remote:DATA")}


def test_only_our_groups_are_scanned() -> None:
    with pytest.raises(ValueError, match="console_scripts"):
        entry_points("console_scripts")


def test_defaults_and_variables(site: Path, monkeypatch: pytest.MonkeyPatch, keys: Keys) -> None:
    install(site, "acme-1.0", "acme = acme_settings:DATA")
    source = 'DATA = {"defaults": {"exec.attention.backend": "acme"}, "environment": ["CONFBAG__ACME__X", "ACME_PORT"]}'
    module(site, "acme_settings", source, monkeypatch)
    (declared,) = read_plugins(keys)
    assert declared.problem is None
    assert not declared.found.faults
    assert declared.found.settings == (Setting("exec.attention.backend", "acme", Layer.PLUGIN, "plugin acme"),)
    assert declared.found.environment == ("ACME_PORT", "CONFBAG__ACME__X")
    assert plugin_settings(Config).found.settings == declared.found.settings


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("raise RuntimeError('no driver')", "RuntimeError: no driver (broken_settings.py:1)"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("OTHER = 1", "AttributeError"),
        ("import os; os._exit(3)", "exited with status 3 while it was loaded"),
    ],
)
def test_settings_that_cannot_be_loaded_are_fatal_only_when_named(
    site: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, source: str, told: str
) -> None:
    install(site, "acme-1.0", "acme = broken_settings:DATA")
    module(site, "broken_settings", source, monkeypatch)
    left_out(told, caplog)
    monkeypatch.setenv("CONFBAG_PLUGINS", "acme")
    (fault,) = plugin_settings(Config).found.faults
    assert fault.where == "plugin acme"
    assert told in fault.message
    assert "repair or uninstall it" in fault.message
    monkeypatch.setenv("CONFBAG_PLUGINS", "another")
    assert not plugin_settings(Config).found.faults


def left_out(told: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of the plug-in acme is taken, and a warning says so, once however many bags a process loads."""
    settings = plugin_settings(Config)
    assert not settings.found.faults
    assert not settings.found.settings
    (failure,) = settings.failures
    assert (failure.point.name, told in failure.problem) == ("acme", True)
    plugin_settings(Config)
    (record,) = caplog.records
    assert "plug-in acme (acme): its settings are left out: " in record.getMessage()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("DATA = [1]", "must be a mapping"),
        ("DATA = {'default': {}}", "none of defaults, environment, schema"),
        ("DATA = {'defaults': [1]}", "must be a mapping"),
        ("DATA = {'environment': 'CONFBAG__X'}", "must be a list"),
        ("DATA = {'environment': ['CONFBAG__EXEC__GRAPH']}", "CONFBAG__EXEC__GRAPH, which is confbag's own"),
        ("DATA = {'environment': ['CONFBAG_PLUGINS']}", "CONFBAG_PLUGINS, which is confbag's own"),
        ("DATA = {'environment': ['CONFBAG_EXEC_GRAPH']}", "would hide a slip for CONFBAG__EXEC__GRAPH; rename it"),
        ("DATA = {'environment': ['CONFBAG_EXEC']}", "would hide a slip for CONFBAG__EXEC;"),
        ("DATA = {'environment': ['CONFBAG__EXEC_GRAPH']}", "would hide a slip for CONFBAG__EXEC__GRAPH;"),
        ("DATA = {'environment': ['CONFBAG_PLUGIN']}", "would hide a slip for CONFBAG_PLUGINS;"),
        ("DATA = {'schema': 3}", "must be the text package.module:Class"),
        ("DATA = {'defaults': {'exec.grph': 'hunter2'}}", "did you mean exec.graph?"),
        ("DATA = {'defaults': {'exec.graph': 'hunter2'}}", "write true or false"),
        ("DATA = {'defaults': {'parallel.node_rank': 7}}", "node_rank"),
    ],
)
def test_settings_that_are_wrong_are_left_out_and_fatal_only_when_named(
    site: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, source: str, told: str
) -> None:
    install(site, "acme-1.0", "acme = broken_settings:DATA")
    module(site, "broken_settings", source, monkeypatch)
    left_out(told, caplog)
    monkeypatch.setenv("CONFBAG_PLUGINS", "acme")
    (fault,) = plugin_settings(Config).found.faults
    assert str(fault).startswith("plugin acme")
    assert told in fault.message


def test_two_plug_ins_that_contradict_are_both_left_out(
    site: Path, monkeypatch: pytest.MonkeyPatch, keys: Keys
) -> None:
    for name in ("one", "two", "three"):
        install(site, f"{name}-1.0", f"{name} = {name}_settings:DATA")
        key = "exec.compile" if name == "three" else "exec.attention.backend"
        value = True if name == "three" else name
        module(site, f"{name}_settings", f"DATA = {{'defaults': {{{key!r}: {value!r}}}}}", monkeypatch)
    settings = plugin_settings(Config)
    assert [setting.key for setting in settings.found.settings] == ["exec.compile"]
    said = {failure.point.name: failure.problem for failure in settings.failures}
    assert said == {
        "one": "exec.attention.backend: its default contradicts that of plug-in two; uninstall one of them",
        "two": "exec.attention.backend: its default contradicts that of plug-in one; uninstall one of them",
    }


@pytest.mark.parametrize(("other", "left"), [("kvcache.last_loc", 0), ("attention", 2)])
def test_plug_ins_that_pin_different_ops_do_not_contradict(
    site: Path, monkeypatch: pytest.MonkeyPatch, other: str, left: int
) -> None:
    for name, pin in (("one", {"attention": "triton"}), ("two", {other: "reference"})):
        install(site, f"{name}-1.0", f"{name} = {name}_settings:DATA")
        data = {"defaults": {"exec.kernels.pin": pin}}
        module(site, f"{name}_settings", f"DATA = {data!r}", monkeypatch)
    settings = plugin_settings(Config)
    assert (len(settings.failures), len(settings.found.settings)) == (left, 2 - left)
    if not left:
        pinned = load(env={})["exec.kernels.pin"]
        assert dict(pinned) == {"attention": "triton", "kvcache.last_loc": "reference"}


def test_a_plug_in_of_another_schema_says_nothing(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, "acme-1.0", "acme = acme_settings:DATA")
    data = '{"schema": "acme.settings:Acme", "defaults": {"acme.pages": 3}, "environment": ["CONFBAG__ACME__X"]}'
    module(site, "acme_settings", f"DATA = {data}", monkeypatch)
    assert plugin_settings(Config).found.settings == ()
    assert not plugin_settings(Config).failures
