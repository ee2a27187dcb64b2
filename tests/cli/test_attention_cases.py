"""The decisions that the planner must reach, asked of the command: a platform file, `--set`, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = yaml.safe_load((Path(__file__).parents[1] / "corpus" / "attention_cases.yaml").read_text(encoding="utf-8"))
KEYS = {"page_size": "memory.page_size", "graph": "exec.graph", "radix_cache": "memory.radix_cache"}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_decision(case: dict[str, Any], called: Callable[..., Any], tmp_path: Path) -> None:
    platform = tmp_path / "machine.yaml"
    facts = {"schema": 1, **case["platform"]}
    facts["packages"] = {name: str(version) for name, version in facts["packages"].items()}
    platform.write_text(yaml.safe_dump(facts), encoding="utf-8")
    settings = [word for key, value in case["set"].items() for word in ("--set", f"{key}={json.dumps(value)}")]
    done = called("plan", "--platform", str(platform), "--format", "json", *settings)
    expect = dict(case["expect"])
    if expect.get("error") == "unknown":
        assert done.returncode == 2
        assert f"did you mean {expect['suggest']}?" in done.stderr
        return
    plan = json.loads(done.stdout)
    if "error" in expect:
        assert done.returncode == 3
        assert expect["error"] in {fault["code"] for fault in plan["faults"]}
        assert plan["fingerprint"] is None
        return
    assert done.returncode == 0, done.stderr
    assert _decided(plan, expect) == expect


def _decided(plan: dict[str, Any], expect: dict[str, Any]) -> dict[str, Any]:
    bound = {(binding["op"], binding["phase"]): binding for binding in plan["bindings"]}
    found: dict[str, Any] = {}
    for name in expect:
        if name in ("prefill", "decode", "draft"):
            found[name] = bound["attention", name]["provider"]
        elif name == "environment":
            found[name] = {key: plan["environment"].get(key) for key in expect[name]}
        elif name == "ops":
            found[name] = {op: bound[op, None]["provider"] for op in expect[name]}
        elif name == "unused":
            found[name] = [op for op in expect[name] if not bound[op, None]["used"]]
        else:
            found[name] = plan["config"][KEYS[name]]["value"]
    return found
