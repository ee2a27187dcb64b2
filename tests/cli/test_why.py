"""`confbag why`: who set it, which candidates with required and actual, which rule decided; at most a screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from confbag import load
from confbag.backends import Platform, make_plan
from confbag.backends.declare.plugins import installed
from confbag.backends.platforms.known import names
from confbag.backends.render import page, story

Run = Callable[..., "CompletedProcess[str]"]
SCREEN = 30


@pytest.mark.parametrize("platform", names())
def test_every_story_is_at_most_a_screen_and_tells_of_every_candidate(platform: str) -> None:
    registry = installed()
    machine = Platform.known(platform)
    for kind in ("mha", "mla", "dsa", "dsv4"):
        for deterministic in (False, True):
            asked = {"model.kind": kind, "exec.deterministic": deterministic, "spec.algorithm": "EAGLE"}
            plan = make_plan(load(env={}, overrides=asked), machine, registry=registry)
            binding = plan["attention@decode"]
            told = story.op_story(plan, [binding])
            assert len(told.splitlines()) <= SCREEN, told
            assert len(story.key_story(plan, "exec.attention.decode").splitlines()) <= SCREEN
            line = " ".join(told.split())
            for provider in set(registry.providers("attention")) - {binding.provider}:
                assert re.search(rf"\b{provider}\b", line), provider
            assert f"decided by {page.decided(binding)}" in line


def test_each_candidate_says_what_it_needs_and_what_is_there(called: Run) -> None:
    ran = called("why", "attention@decode", "--platform", "cuda:sm90", "--set", "exec.deterministic=true")
    line = " ".join(ran.stdout.split())
    assert "attention@decode: fa3 (mha) decided by rule deterministic-fa3 because batch invariant" in line
    assert "device: platform.device is cuda, must be hip for aiter, wave; npu for ascend; cpu for intel_amx" in line
    assert "feature: model.kind is mha, must be dsa for dsa; dsv4 for dsv4, reference; mla for flashmla" in line
    assert re.search(
        r"\bhpc_ops\b.* - determinism: exec.deterministic must be batch_invariant, is none \(--set\)", line
    )
    assert "flashinfer, triton - lower-priority: deterministic-fa3: fa3 decided" in line
    assert "auto (default) -> fa3 (rule deterministic-fa3)" in line


def test_a_key_tells_who_set_it_what_it_decides_and_whom_it_keeps_out(called: Run) -> None:
    ran = called("why", "exec.attention.decode", "--platform", "cuda:sm90", "--set", "exec.attention.decode=flashinfer")
    line = " ".join(ran.stdout.split())
    assert "exec.attention.decode = flashinfer" in line
    assert "auto from default flashinfer from --set" in line
    assert "attention@decode: flashinfer (mha), by setting" in line
    assert "fa3" in line
