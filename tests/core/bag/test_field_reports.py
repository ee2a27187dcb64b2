"""Faults that users of other engines' configuration reported, each of which would show here if we had it too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confbag import Bag, ConfigError, Record, attention_backends, get_exec, load, override, publish
from confbag.words.provenance import Filled, Layer


def test_a_removed_name_is_an_error_that_names_the_new_key() -> None:
    """vllm#50292: a removed variable was ignored, with a generic warning among 135 lines."""
    with pytest.raises(ConfigError, match=r"did you mean CONFBAG__EXEC__ATTENTION__BACKEND"):
        load(env={"CONFBAG__ATTENTION_BACKEND": "fa3"})


def test_a_read_at_import_of_a_model_file_fails_and_makes_no_default(run_script: Callable[..., Any]) -> None:
    """vllm#45447, #29999, #31747: read outside its context, the config was silently a default, and some ops saw it."""
    done = run_script(
        "from confbag import NotPublishedError, is_published\n"
        "try:\n    import my_model\n"
        "except NotPublishedError as error:\n    print(is_published(), error)\n",
        modules={"my_model": "from confbag import get_exec\nDETERMINISTIC = get_exec().deterministic\n"},
    )
    assert done.stdout.startswith("False exec was read before")
    assert "at import" in done.stdout


def test_an_equal_pair_of_phases_is_no_special_case(planned: Bag) -> None:
    """sglang#8989: prefill and decode both fa3 selected flashinfer."""
    publish(planned.override("x", {"exec.attention": {"prefill": "fa3", "decode": "fa3"}}))
    assert attention_backends() == ("fa3", "fa3")


def test_prefill_and_decode_are_set_one_by_one() -> None:
    """vllm#31787: there was no way to."""
    bag = load(
        env={}, argv=["--set", "exec.attention.decode=ascend", "--set", "exec.kernels.pin={attention@decode: ascend}"]
    )
    assert (bag["exec.attention.prefill"], bag.exec.attention.decode) == ("auto", "ascend")
    assert bag.exec.kernels.pin == (("attention@decode", "ascend"),)


def test_false_in_a_file_is_a_value(tmp_path: Path) -> None:
    """vllm#51401: YAML's false was dropped on the way through argv."""
    file = tmp_path / "a.yaml"
    file.write_text("exec: {graph: false, compile: false}\n")
    bag = load(file, env={})
    assert bag.exec.graph is False
    assert (bag.is_set("exec.graph"), bag.is_set("exec.compile"), bag.is_set("exec.deterministic")) == (
        True,
        True,
        False,
    )


def test_false_on_the_command_line_beats_true_in_a_file(tmp_path: Path) -> None:
    """axolotl#3764: `cli or cfg` made the command line's False lose."""
    file = tmp_path / "a.yaml"
    file.write_text("exec: {deterministic: true}\n")
    bag = load(file, env={}, argv=["--set", "exec.deterministic=false"])
    assert bag.exec.deterministic is False
    assert bag.origin("exec.deterministic") == "--set"


def test_the_environment_beats_a_file_and_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """aidlp#48: YAML beat the environment. pydantic-settings#660: a missing file silently gave defaults."""
    file = tmp_path / "a.yaml"
    file.write_text("parallel: {tp_size: 1}\n")
    assert load(file, env={"CONFBAG__PARALLEL__TP_SIZE": "2"}).parallel.tp_size == 2
    with pytest.raises(ConfigError, match=r"nope\.yaml: no such file"):
        load(tmp_path / "nope.yaml", env={})


def test_the_order_of_arguments_never_matters(tmp_path: Path) -> None:
    """jsonargparse#7, #663, #860: where an argument stood decided who won."""
    words = [["--set", "exec.graph=true"], ["--set", "exec.compile=true"], ["--set=parallel.tp_size=2"]]
    bags = [load(env={}, argv=[word for pair in order for word in pair]) for order in (words, words[::-1])]
    assert bags[0] == bags[1]


def test_a_default_of_a_hook_is_never_called_explicit() -> None:
    """sglang#34683: a model hook's default was reported as explicitly specified."""
    bag = load(env={}).resolve(
        {"exec.attention.decode": Filled("fa3", "fa3-on-hopper", "fa3 is the fastest that fits")}
    )
    assert not bag.is_set("exec.attention.decode")
    assert bag.origin("exec.attention.decode") == "rule fa3-on-hopper"
    with pytest.raises(ConfigError) as caught:
        bag.resolve({"exec.graph": Filled("yes", "hook", "it said so")})
    assert str(caught.value).startswith("rule hook: exec.graph:")
    assert "specified" not in str(caught.value)


def test_a_mode_never_rewrites_what_was_asked() -> None:
    """vllm PR 25769: batch-invariant mode wrote over the user's backend."""
    bag = load(env={}, argv=["--set", "exec.attention.decode=fa3"], preset="deterministic")
    with pytest.raises(ConfigError, match=r"--set: exec\.attention\.decode: .*rule batch-invariant"):
        bag.resolve({"exec.attention.decode": Filled("triton", "batch-invariant", "fa3 is not batch invariant")})
    assert bag.exec.attention.decode == "fa3"


def test_an_old_name_and_its_key_together_conflict_only_when_they_differ() -> None:
    """sglang PR 30467, dynamo#5202: a key was refused because of a deprecated alias beside it."""
    flags = ["--tp-size", "2", "--tensor-parallel-size"]
    assert load(env={}, record=Record("sglang", argv=[*flags, "2"])).parallel.tp_size == 2
    with pytest.raises(ConfigError, match=r"parallel\.tp_size"):
        load(env={}, record=Record("sglang", argv=[*flags, "4"]))


def test_kubernetes_variables_are_not_ours() -> None:
    """vllm#48493: what Kubernetes injects for a service of that name flooded the log."""
    noise = {"CONFBAG_SVC_PORT_8000_TCP_ADDR": "1", "CONFBAG_SERVICE_HOST": "x", "CONFBAG_PORT": "y"}
    assert load(env=noise) == load(env={})


def test_a_fingerprint_is_the_same_in_every_process_and_import_order() -> None:
    """triton-ascend#2232: a key differed with what a process had imported. pydantic#11179: hash() of models."""
    pins = "{b: x, a: y, c: z}"
    prints = set()
    for imports in (
        "import yaml, json, confbag.process.handover",
        "import confbag.schema.config, confbag.backends, logging",
    ):
        for seed in ("0", "4711"):
            argv = ["--set", f"exec.kernels.pin={pins}"]
            code = f"{imports}\nfrom confbag import load\nprint(load(env={{}}, argv={argv}).fingerprint())"
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
            )
            prints.add(done.stdout)
    assert len(prints) == 1


def test_a_file_may_set_auto_and_lose_nothing_to_it(tmp_path: Path) -> None:
    """A value that says `auto` over one that was set hands the choice back, and the chain shows both."""
    file = tmp_path / "a.yaml"
    file.write_text("exec: {graph: true}\n")
    bag = load(file, env={"CONFBAG__EXEC__GRAPH": "auto"})
    assert "exec.graph" in bag.unresolved()
    assert [one.layer for one in bag.chain("exec.graph")] == [Layer.DEFAULT, Layer.FILE, Layer.ENVIRONMENT]


def test_what_is_overridden_is_what_is_read(planned: Bag) -> None:
    """sglang: a value that was resolved or overridden later was ignored by code that read the startup record."""
    publish(planned)
    with override("x", {"exec.deterministic": True}):
        assert get_exec().deterministic is True
