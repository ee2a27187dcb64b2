"""Settings from YAML files: exact places, every fault at once, nothing unbounded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from confbag.sources import Found
from confbag.sources.keys import Keys
from confbag.sources.yaml import Limits, load_document, read_file, read_text

CORPUS = Path(__file__).parents[2] / "corpus" / "sources"


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers must say the same; where PyYAML came without libyaml, the Python one is all there is."""
    monkeypatch.setattr(yaml, "__with_libyaml__", request.param == "libyaml" and yaml.__with_libyaml__)
    return str(request.param)


def values(found: Found) -> dict[str, Any]:
    return {setting.key: setting.value for setting in found.settings}


def said(found: Found) -> list[str]:
    return [str(fault) for fault in found.faults]


def test_a_whole_file(keys: Keys) -> None:
    found = read_text((CORPUS / "whole.yaml").read_bytes(), "whole.yaml", keys)
    assert said(found) == []
    assert values(found) == {
        "exec.graph": True,
        "exec.attention.decode": "triton",
        "exec.attention.backend": "fa3",
        "exec.attention.num_splits": 1,
        "exec.kernels.pin": {"kvcache.last_loc": "reference", "attention@decode": "triton"},
        "exec.kernels.prefer": ["triton", "reference"],
        "exec.compile": False,
        "model.path": "org/name with: colon",
        "model.revision": "017",
        "device.kind": "cuda",
        "device.index": 0,
        "device.arch": "sm90",
        "memory.fraction_static": 0.85,
        "memory.page_size": 64,
        "spec.algorithm": "none",
    }
    places = {setting.key: (setting.origin, setting.text) for setting in found.settings}
    assert places["exec.graph"] == ("whole.yaml:8:3", "true")
    assert places["exec.compile"] == ("whole.yaml:3:3", "false")
    assert places["memory.fraction_static"] == ("whole.yaml:20:3", "8.5e-1")
    assert places["exec.kernels.pin"] == ("whole.yaml:13:5", None)
    assert found.preset is not None
    assert (found.preset.key, found.preset.value, found.preset.origin) == ("preset", "deterministic", "whole.yaml:5:1")


@pytest.mark.parametrize(
    ("text", "value"),
    [("on", "on"), ("12:30", "12:30"), ("017", "017"), ("2026-01-02", "2026-01-02"), ("1e-5", 1e-5), ("false", False)],
)
def test_scalars_that_yaml_1_1_would_change(keys: Keys, text: str, value: object) -> None:
    (setting,) = read_text(f"exec: {{graph: {text}}}", "f", keys).settings
    assert (setting.value, type(setting.value), setting.text) == (value, type(value), text)


def test_a_version_written_as_a_number_keeps_its_spelling() -> None:
    document, faults = load_document("toolkit: {cuda: 13.0, driver: '13.0', list: [1.10]}", "platform.yaml")
    assert not faults
    assert document is not None
    assert document.data["toolkit"] == {"cuda": 13.0, "driver": "13.0", "list": [1.1]}
    assert document.text(("toolkit", "cuda")) == "13.0"
    assert document.text(("toolkit", "list", 0)) == "1.10"
    assert document.at(("toolkit", "driver")) == "platform.yaml:1:23"
    assert document.at(("toolkit", "nothing", "here")) == "platform.yaml:1:1"


def test_duplicates_are_faults_with_both_places_and_a_merge_is_none(keys: Keys) -> None:
    found = read_text("exec:\n  graph: true\n  graph: true\nexec: {}\n", "f", keys)
    assert said(found) == [
        "f:3:3: exec.graph: duplicate key, the first one is at f:2:3; keep one",
        "f:4:1: exec: duplicate key, the first one is at f:1:1; keep one",
    ]
    merged = read_text("x-base: &base {graph: true, compile: true}\nexec: {<<: *base, graph: false}\n", "f", keys)
    assert not merged.faults
    assert values(merged) == {"exec.graph": False, "exec.compile": True}


def test_merged_lists_give_the_earlier_one_precedence(keys: Keys) -> None:
    text = "x-a: &a {graph: true}\nx-b: &b {graph: false, compile: true}\nexec: {<<: [*a, *b]}\n"
    assert values(read_text(text, "f", keys)) == {"exec.graph": True, "exec.compile": True}


def test_faults_of_every_kind_at_once(keys: Keys) -> None:
    text = "exec:\n  grahp: hunter2\n  graph: !!int hunter2\n  attention: hunter2\n"
    text += "1: hunter2\nattention: hunter2\npreset: [a]\n"
    found = read_text(text, "f.yaml", keys)
    assert {fault.where for fault in found.faults} == {
        f"f.yaml:{place}" for place in ("2:3", "3:10", "4:3", "5:1", "6:1", "7:1")
    }
    assert "hunter2" not in " ".join(said(found))
    assert found.settings == ()


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        ("exec: [", None, "bracket"),
        ("a: b: c", "1:5", "quote the value"),
        ("exec:\n\tgraph: 1", "2:1", "tabs"),
        ("a: 'open\n", "1:4", "never closed"),
        ("{a: b", None, "closing bracket"),
        ('a: "\\q"', None, "single quotes"),
        ("a: @x", "1:4", "quote the value"),
        ("--- a\n--- b", "2:1", "one document"),
        ("a: *nope", "1:4", "not above it"),
        ("a: &a [*a]", "1:8", "stands in"),
        ("a: &a {b: *a}", "1:11", "stands in"),
        ("!other x", "1:1", "core tags"),
        ("exec: !other {}", "1:7", "a tag"),
        ("- 1", "1:1", "top level"),
        ("hunter2", "1:1", "top level"),
        ("<<: 5", "1:5", "name one"),
        ("<<: {}\n<<: {}", "2:1", "second merge key"),
        ("? [a]\n: 1", "1:3", "not text"),
        ("true: 1", "1:1", "not text"),
        ("? \n: 1", None, "not text"),
        ('exec.graph: "a\\0b"', "1:13", "control character"),
    ],
)
def test_each_fault_has_its_place_and_one_sentence(keys: Keys, text: str, where: str | None, word: str) -> None:
    found = read_text(text, "f", keys)
    first = found.faults[0]
    assert word in first.message
    assert "\n" not in first.message
    assert where is None or first.where == f"f:{where}"


@pytest.mark.parametrize(
    ("content", "where", "word"),
    [
        (b"\xff\xfea\x00", "f:1:1", "UTF-16"),
        (b"\xfe\xff\x00a", "f:1:1", "UTF-16"),
        (b"a: 1\nb: \xe9\n", "f:2:4", "UTF-8"),
        (b"\xef\xbb\xbfa: \xe9\n", "f:1:4", "UTF-8"),
        (b"a: \x00", "f:1:4", "U+0000"),
        ("ä: ö\nb: \x1b[31m".encode(), "f:2:4", "U+001B"),
    ],
)
def test_bytes_that_are_no_text(keys: Keys, content: bytes, where: str, word: str) -> None:
    (fault,) = read_text(content, "f", keys).faults
    assert fault.where == where
    assert word in fault.message


def test_a_byte_order_mark_and_windows_lines_are_fine(keys: Keys) -> None:
    assert values(read_text(b"\xef\xbb\xbfexec:\r\n  graph: true\r\n", "f", keys)) == {"exec.graph": True}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n", "exec:\n", "exec: {}\nx-mine: [1]\n"])
def test_empty_is_nothing_wrong(keys: Keys, text: str) -> None:
    assert read_text(text, "f", keys) == Found()


def bomb() -> str:
    lines = ["x-a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"x-{new}: &{new} [{', '.join(['*' + old] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (bomb(), "aliases repeat"),
        ("[" * 100_000, "nested deeper"),
        ("{a: " * 100_000, "nested deeper"),
        ("".join("- " * 1 + "\n" + "  " * depth for depth in range(1, 60)) + "x", "nested deeper"),
        ("x-0: &a0 [x]\n" + "".join(f"x-{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60)), "through aliases"),
        ("x: [" + "1, " * 60_000 + "]", "values"),
        (
            "x-a: &a {" + ", ".join(f"k{n}: 1" for n in range(900)) + "}\nexec: {<<: [" + "*a, " * 99 + "]}",
            "aliases repeat",
        ),
        ("a: 1\n" * 300_000, "larger than"),
    ],
)
def test_everything_is_bounded(keys: Keys, text: str, word: str) -> None:
    faults = read_text(text, "f", keys).faults
    assert any(word in fault.message for fault in faults)
    assert len(faults) <= 202


def test_limits_are_the_callers(keys: Keys) -> None:
    assert "deeper than 2" in str(
        read_text("exec: {attention: {backend: fa3}}", "f", keys, limits=Limits(depth=2)).faults[0]
    )


def test_one_setting_in_two_spellings_must_agree(keys: Keys) -> None:
    (fault,) = read_text("exec: {graph: true}\nexec.graph: false\n", "f", keys).faults
    assert str(fault) == "f:2:1: exec.graph: is given twice with different values, the first time at f:1:8; keep one"


def test_files_that_are_none(keys: Keys, tmp_path: Path) -> None:
    fifo, loop, huge = tmp_path / "fifo", tmp_path / "loop", tmp_path / "huge.yaml"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    with huge.open("wb") as file:
        file.truncate(100 << 20)
    expected = {
        tmp_path / "none.yaml": "no such file",
        tmp_path: "is a directory",
        fifo: "pipe or a device",
        Path(os.devnull): "pipe or a device",
        loop: "cannot be opened",
        huge: "larger than 1 MiB",
        tmp_path / ("n" * 5000): "cannot be opened",
    }
    for path, word in expected.items():
        (fault,) = read_file(path, keys).faults
        assert word in fault.message
        assert fault.where == str(path)
    (fault,) = read_file("a\0b\n.yaml", keys).faults
    assert (fault.where, "NUL" in fault.message) == ("a\\x00b\\n.yaml", True)


def test_a_file_is_read_with_its_own_name(keys: Keys, tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text("exec:\n  graph: false\n")
    (setting,) = read_file(path, keys).settings
    assert setting.origin == f"{path}:2:3"
    assert setting.value is False
