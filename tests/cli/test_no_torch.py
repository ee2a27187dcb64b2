"""Planning needs no torch: none is imported where it is installed, and the wheel plans where it is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema
import pytest

Run = Callable[..., "CompletedProcess[str]"]
OPS = ("attention@prefill", "attention@decode", "attention@draft", "kvcache.last_loc", "speculative.draft_extend_fill")


MODULES = """
import sys
from confbag.cli import main
status = main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture
def imported(environment: Callable[..., dict[str, str]], root: Path) -> Callable[..., set[str]]:
    """What a process of the command has imported at its end."""

    def run(*argv: str) -> set[str]:
        command = [sys.executable, "-c", MODULES, *argv]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=root, check=False)
        assert ran.returncode == 0, ran.stderr
        return set(ran.stderr.split())

    return run


@pytest.mark.parametrize(
    "argv",
    [
        ("plan", "--platform", "this", "--format", "json"),
        ("plan", "--platform", "cuda:sm90", "--preset", "deterministic", "--all"),
        ("why", "attention", "--platform", "npu:ascend910_93"),
    ],
)
def test_no_torch_is_imported(imported: Callable[..., set[str]], argv: tuple[str, ...]) -> None:
    modules = imported(*argv)
    assert "confbag.bag.bag" in modules
    assert modules.isdisjoint({"torch", "triton", "numpy", "libcst", "torch_npu"})


def test_only_the_named_subcommand_is_imported(imported: Callable[..., set[str]]) -> None:
    modules = imported("schema", "--plan")
    commands = {name for name in modules if name.startswith("confbag.cli.")}
    assert commands == {"confbag.cli.common", "confbag.cli.schema"}
    assert modules.isdisjoint({"pydantic", "yaml", "confbag.bag.bag"})


def test_the_wheel_plans_for_an_npu_without_torch(
    no_torch: Path, environment: Callable[..., dict[str, str]], examples: Path, tmp_path: Path
) -> None:
    def run(*argv: str | Path) -> CompletedProcess[str]:
        words = [str(word) for word in (no_torch / argv[0], *argv[1:])]
        return subprocess.run(words, capture_output=True, text=True, env=environment(), cwd=tmp_path, check=False)

    assert run("python", "-c", "import torch").returncode == 1
    where = run("python", "-c", "import confbag; print(confbag.__file__)").stdout
    assert Path(where).is_relative_to(no_torch.parent), "the wheel is tested, not the tree"
    asked = ("plan", examples / "ascend-deepseek-v4.yaml", "--platform", "npu:ascend910_93")
    text = run("confbag", *asked)
    assert text.returncode == 0, text.stderr
    assert text.stderr == ""
    for slot in OPS:
        assert f"\n{slot} " in text.stdout
    assert run("python", "-m", "confbag", *asked).stdout == text.stdout
    shown = run("confbag", *asked, "--format", "json")
    schema = json.loads(run("confbag", "schema", "--plan").stdout)
    plan = json.loads(shown.stdout)
    jsonschema.validate(plan, schema)
    chosen = {f"{b['op']}@{b['phase']}" if b["phase"] else b["op"]: b["provider"] for b in plan["bindings"]}
    assert {slot: chosen.get(slot) for slot in OPS} == {
        "attention@prefill": "dsv4",
        "attention@decode": "dsv4",
        "attention@draft": "dsv4",
        "kvcache.last_loc": "triton_int32_safe",
        "speculative.draft_extend_fill": "reference",
    }
    assert run("confbag", "plan", "--platform", "cpu").returncode == 0, "a name is a machine of that kind"
    here = run("confbag", "plan", "--set", "device.kind=cpu", "--format", "json")
    assert here.returncode == 3, "every reference is written in torch"
    (fault,) = json.loads(here.stdout)["faults"]
    assert (fault["code"], fault["field"], fault["op"]) == ("package-missing", "torch", None)
    assert fault["hint"].startswith("pip install 'confbag[torch]'; needed by ")
    assert run("confbag", "schema").returncode == 0
    doctor = run("confbag", "doctor")
    assert doctor.returncode == 0, doctor.stderr
    assert "torch is not installed" in doctor.stdout
