"""The decisions that the planner must reach, case by case (tests/corpus/attention_cases.yaml)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from confbag import Bag, ConfigError
from confbag.backends import Plan, Platform, Registry, make_plan

CASES = yaml.safe_load((Path(__file__).parents[2] / "corpus" / "attention_cases.yaml").read_text())


def _platform(facts: dict[str, Any]) -> Platform:
    return Platform(
        device=facts["device"],
        arch=facts["arch"],
        packages=facts.get("packages"),
        toolkit=facts.get("toolkit", {}),
        features=frozenset(facts.get("features", ())),
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_decision(case: dict[str, Any], registry: Registry, bag_of: Callable[..., Bag]) -> None:
    expect = dict(case["expect"])
    bag, platform = bag_of(**case["set"]), _platform(case["platform"])
    if expect.get("error") == "unknown":
        with pytest.raises(ConfigError, match=expect["suggest"]):
            make_plan(bag, platform, registry=registry)
        return
    plan = make_plan(bag, platform, registry=registry)
    if "error" in expect:
        assert {fault.code for fault in plan.faults} == {expect["error"]}
        assert plan.fingerprint() is None
        return
    assert not plan.faults, [str(fault) for fault in plan.faults]
    assert not plan.bag.unresolved()
    assert _decided(plan, expect) == expect


def _decided(plan: Plan, expect: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in expect:
        if name in ("prefill", "decode", "draft"):
            found[name] = plan[f"attention@{name}"].provider
        elif name == "environment":
            found[name] = {key: plan.environment.get(key) for key in expect[name]}
        elif name == "ops":
            found[name] = {op: plan[op].provider for op in expect[name]}
        elif name == "unused":
            found[name] = [binding.op for binding in plan.bindings if not binding.used and binding.op in expect[name]]
        else:
            found[name] = plan.bag[
                {"page_size": "memory.page_size", "graph": "exec.graph", "radix_cache": "memory.radix_cache"}[name]
            ]
    return found
