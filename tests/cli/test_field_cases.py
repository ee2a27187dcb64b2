"""What users of other engines met, each beside its twin: the right configuration, of which nothing is said."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "corpus" / "field_cases.yaml").read_text(encoding="utf-8")
)
Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def planned(
    called: Run, confbag: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[CompletedProcess[str], dict[str, Any]]]:
    """`confbag plan --strict` of one side of a case: what it did, and the plan where one was printed."""

    def plan(case: Mapping[str, Any], side: str) -> tuple[CompletedProcess[str], dict[str, Any]]:
        for name, text in case.get("files", {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        mine: Mapping[str, Any] = case[side]
        argv = ["plan", "--strict", "--format", "json", *case.get("argv", ()), *mine.get("argv", ())]
        words = [str(tmp_path / word) if word in case.get("files", {}) else word for word in argv]
        if "path" in mine:  # what is installed is looked for once a process
            path_ = os.pathsep.join(str(tmp_path / folder) for folder in mine["path"])
            ran = confbag(*words, env={"PYTHONPATH": path_, "XDG_CACHE_HOME": str(tmp_path / "cache")})
        else:
            for name, value in mine.get("env", {}).items():
                monkeypatch.setenv(name, value)
            ran = called(*words)
        return ran, json.loads(ran.stdout) if ran.stdout else {}

    return plan


@pytest.mark.parametrize("side", ["wrong", "right"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["report"])
def test_field_case(planned: Callable[..., Any], case: dict[str, Any], side: str) -> None:
    ran, plan = planned(case, side)
    expected: Mapping[str, Any] = case[side]
    assert ran.returncode == expected.get("status", 0), (ran.stderr, plan.get("faults"), plan.get("warnings"))
    told = "\n".join([ran.stderr, *plan.get("warnings", ()), *map(sentence, plan.get("faults", ()))])
    for text in expected.get("says", ()):
        assert text in told
    if not expected.get("says"):
        assert (plan["warnings"], plan["faults"], ran.stderr) == ([], [], "")
    runs = {
        binding["op"] + ("@" + binding["phase"] if binding["phase"] else ""): binding
        for binding in plan.get("bindings", ())
    }
    for slot, provider in expected.get("runs", {}).items():
        assert runs[slot]["provider"] == provider
    if "environment" in expected:
        assert plan["environment"] == expected["environment"]
    if "notes" in expected:
        notes = "\n".join(plan["notes"])
        assert bool(notes) is bool(expected["notes"])
        assert all(text in notes for text in expected["notes"])


def sentence(fault: Mapping[str, Any]) -> str:
    """A fault of a plan's JSON as the table says it."""
    from confbag.backends.words.rejection import Rejection

    known = ("provider", "code", "field", "required", "actual", "origin", "hint")
    told = Rejection(**{name: fault[name] for name in known})
    return f"{told.provider}: {told}"
