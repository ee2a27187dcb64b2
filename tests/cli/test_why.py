"""`confbag why`: who set it, which candidates with required and actual, which rule decided; at most a screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from confbag import load
from confbag.backends import Platform, Registry, make_plan
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


def told_by(ran: CompletedProcess[str]) -> str:
    """A story in one line."""
    return " ".join(ran.stdout.split())


def test_a_value_that_cannot_run_is_a_fault_of_its_keys_story(called: Run) -> None:
    ran = called("why", "exec.sampling_backend", "--platform", "cuda:sm90", "--set", "exec.sampling_backend=ascend")
    assert ran.returncode == 3
    line = told_by(ran)
    assert "needs npu" in line
    assert "fault exec.sampling_backend ascend: device: platform.device must be npu, is cuda (--set)" in line
    assert "-> exec.sampling_backend may be flashinfer or pytorch here" in line
    right = called(
        "why", "exec.sampling_backend", "--platform", "npu:ascend910b", "--set", "exec.sampling_backend=ascend"
    )
    assert right.returncode == 0
    assert "\nfault" not in right.stdout


def test_every_value_of_a_judged_setting_says_what_it_needs_and_what_is_there(called: Run, tmp_path: Path) -> None:
    platform = tmp_path / "p.yaml"
    platform.write_text('schema: 1\ndevice: cuda\narch: sm90\ntoolkit: {cuda: "13.0"}\npackages: {torch: "2.14.0"}\n')
    lines = called("why", "exec.sampling_backend", "--platform", str(platform)).stdout.splitlines()
    assert "exec.sampling_backend = pytorch" in lines
    assert "            ascend (npu) - device: platform.device must be npu, is cuda" in lines
    told = " ".join(" ".join(lines).split())
    assert "values flashinfer (cuda, flashinfer) - package-missing: flashinfer is not installed" in told
    assert "pytorch -" not in told
    known = told_by(called("why", "exec.sampling_backend", "--platform", "cuda:sm90", "--set", "memory.page_size=1"))
    assert "needs cuda, flashinfer values pytorch - can run: runs everywhere" in known
    spec = told_by(called("why", "spec.algorithm", "--platform", "cuda:sm90", "--set", "spec.algorithm=EAGLE"))
    assert "NGRAM - can run: the tokens that followed the same words before" in spec


def test_a_package_that_others_lack_too_is_a_fault_of_the_keys_story(called: Run, tmp_path: Path) -> None:
    platform = tmp_path / "p.yaml"
    platform.write_text('schema: 1\ndevice: cuda\narch: sm90\ntoolkit: {cuda: "13.0"}\npackages: {torch: "2.14.0"}\n')
    both = [f"--set={key}=flashinfer" for key in ("exec.sampling_backend", "exec.attention.backend")]
    told = told_by(called("why", "exec.sampling_backend", "--platform", str(platform), *both))
    assert "fault the plan: package-missing: flashinfer is not installed" in told
    assert "needed by flashinfer of attention@prefill, exec.sampling_backend flashinfer" in told


def test_a_setting_that_nobody_judges_has_no_values(called: Run) -> None:
    assert "values" not in called("why", "exec.graph", "--platform", "cuda:sm90").stdout


def test_an_engines_own_values_are_told_and_very_many_are_capped() -> None:
    registry = Registry()
    for number in range(40):
        registry.choice("spec.algorithm", f"OWN_{number}", device="cuda" if number % 2 else "npu", arch="sm90")
    registry.choice("spec.algorithm", "none")
    registry.choice("spec.algorithm", "OWN_2", components=["acme>=2"], device="cuda", disabled="not yet")
    machine = Platform(device="cuda", arch="sm100", packages=None)
    told = story.key_story(make_plan(load(env={}), machine, registry=registry), "spec.algorithm")
    line = " ".join(told.split())
    assert "OWN_1 (cuda, sm90) - arch: platform.arch must be sm90, is sm100" in line
    assert "OWN_2 (npu, sm90 or cuda, acme>=2) - " in line
    assert "and 20 more" in line
    assert len(told.splitlines()) <= SCREEN


@pytest.mark.parametrize("platform", names())
def test_the_story_of_a_judged_setting_is_at_most_a_screen(platform: str) -> None:
    registry = installed()
    plan = make_plan(load(env={}), Platform.known(platform), registry=registry)
    for key in registry.choices:
        told = story.key_story(plan, key)
        assert len(told.splitlines()) <= SCREEN, told
        for value in set(registry.choices[key]) - {plan.bag[key]}:
            assert re.search(rf"\b{value}\b", told), value
        assert "\nfault" not in told
