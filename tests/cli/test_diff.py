"""`confbag diff`: configurations, platforms and locks in any mix, told by their content."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Called = Callable[..., "CompletedProcess[str]"]
HOPPER = ("--platform", "cuda:sm90")


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file of some name and return its path."""

    def write(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


@pytest.fixture
def sides(called: Called, written: Callable[[str, str], Path]) -> dict[str, str | Path]:
    """A thing of every kind that a side can be, each with a name that says nothing."""
    lock = called("lock", *HOPPER, "--set", "model.kind=mla").stdout
    box = "schema: 1\ndevice: cuda\narch: sm90\ntoolkit: {cuda: '13.0'}\npackages: {torch: '2.14.1', triton: '3.6.0'}\n"
    return {
        "configuration": written("one", "model: {kind: mla}\n"),
        "platform": "cuda:sm80",
        "platform file": written("two", box),
        "lock": written("three", lock),
    }


KINDS = ("configuration", "platform", "platform file", "lock")


@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, repeat=2)))
def test_any_mix(called: Called, sides: dict[str, str | Path], kinds: tuple[str, str]) -> None:
    platform = HOPPER if "configuration" in kinds and "lock" not in kinds else ()
    ran = called("diff", *(sides[kind] for kind in kinds), *platform, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert [found["a"]["kind"], found["b"]["kind"]] == ["lock" if kind == "lock" else "plan" for kind in kinds]
    expected = ["cuda:sm80" if kind == "platform" else "cuda:sm90" for kind in kinds]
    assert [found["a"]["platform"], found["b"]["platform"]] == expected
    assert found["same"] or kinds[0] != kinds[1]
    table = called("diff", *(sides[kind] for kind in kinds), *platform)
    assert table.returncode == 0
    assert table.stderr == ""
    assert max(map(len, table.stdout.splitlines())) <= 80
    assert ("no difference" in table.stdout) is found["same"]


def test_a_platform_is_planned_for_the_configuration_beside_it(called: Called, sides: dict[str, str | Path]) -> None:
    ran = called("diff", sides["configuration"], "cuda:sm80", *HOPPER, "--format", "json")
    found = json.loads(ran.stdout)
    decode = next(entry for entry in found["bindings"] if entry["phase"] == "decode")
    assert [decode[side]["members"][0]["decided_by"]["rule"] for side in "ab"] == ["mla-hopper", "mla-general"]
    assert not any(entry["name"] == "model.kind" for entry in found["settings"])


def test_a_configuration_beside_a_lock_is_planned_for_the_locks_platform(
    called: Called, sides: dict[str, str | Path]
) -> None:
    for words in (("configuration", "lock"), ("lock", "configuration")):
        found = json.loads(called("diff", *(sides[word] for word in words), "--format", "json").stdout)
        assert (found["a"]["platform"], found["b"]["platform"], found["same"]) == ("cuda:sm90", "cuda:sm90", True)


def test_files_and_settings_lie_beneath_both(called: Called, written: Callable[[str, str], Path]) -> None:
    base, one = written("base.yaml", "model: {kind: mla}\n"), written("one.yaml", "exec: {compile: true}\n")
    other = written("other.yaml", "exec: {graph: false}\n")
    asked = ("diff", "--config", base, one, *HOPPER, "--set", "parallel.tp_size=2", other, "--format", "json")
    found = json.loads(called(*asked).stdout)
    assert [entry["name"] for entry in found["settings"]] == ["exec.graph", "exec.compile"]
    assert found["bindings"] == []
    two = json.loads(called("diff", "cuda:sm90", "cuda:sm80", "--config", base, "--format", "json").stdout)
    ran = [entry["a"]["members"][0] for entry in two["bindings"] if entry["op"] == "attention"]
    assert {member["decided_by"]["rule"] for member in ran} == {"mla-hopper"}


def test_a_side_that_nothing_satisfies_is_still_compared(called: Called, written: Callable[[str, str], Path]) -> None:
    good, bad = written("good.yaml", ""), written("bad.yaml", "exec:\n  attention: {decode: fa3}\n")
    ran = called("diff", good, bad, "--platform", "npu:ascend910_93")
    assert ran.returncode == 3
    assert "NOTHING SATISFIES B" in ran.stdout
    assert "B  nothing can run" in ran.stdout
    assert ran.stderr.startswith(f"confbag: nothing satisfies {bad} on npu:ascend910_93 (1 fault)")
    assert called("diff", bad, bad, "--platform", "npu:ascend910_93").returncode == 3


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("diff",), "A, B"),
        (("diff", "cuda:sm90"), "B"),
        (("diff", "cuda:sm90", "cuda:sm99"), "cuda:sm99: no such file; platform 'cuda:sm99': unknown; did you mean"),
        (("diff", "nope.yaml", "cuda:sm90"), "nope.yaml: no such file"),
        (("diff", "cuda:sm90", "npu:ascend950", "cpu"), "too many words"),
        (("diff", "cuda:sm90", "npu:ascend950", "--platform", "cpu"), "--platform: is for a configuration"),
        (("diff", "cuda:sm90", "npu:ascend950", "--set", "exec.grph=1"), "did you mean exec.graph?"),
        (("diff", "cuda:sm90", "npu:ascend950", "--set", "exec.attention.decode=fa33"), "did you mean fa3?"),
        (("diff", "cuda:sm90", "npu:ascend950", "--format", "html"), "--format"),
        (("diff", "examples", "cuda:sm90"), "examples: is a directory"),
    ],
)
def test_wrong_usage_names_what_to_write(called: Called, argv: tuple[str, ...], said: str) -> None:
    ran = called(*argv)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr


def test_the_faults_of_both_sides_are_told_at_once(called: Called, written: Callable[[str, str], Path]) -> None:
    one, other = written("one.yaml", "exec: {grph: 1}\n"), written("other.yaml", "confbag-lock: 7\n")
    box = written("box.yaml", "schema: 1\ndevice: cdua\n")
    for first, second in ((one, other), (one, box), (other, box)):
        ran = called("diff", first, second)
        assert ran.returncode == 2
        assert str(first) in ran.stderr
        assert str(second) in ran.stderr
        assert "Traceback" not in ran.stderr


def test_two_locks_take_nothing_that_plans(called: Called, sides: dict[str, str | Path]) -> None:
    ran = called("diff", sides["lock"], sides["lock"], "--set", "exec.graph=true", *HOPPER)
    assert ran.returncode == 2
    assert "--set: two locks are compared as they are" in ran.stderr
    assert "--platform: two locks are compared as they are" in ran.stderr
