"""`confbag verify`: what agrees, what does not, what cannot run, and the exit status of each."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import pytest

from confbag.backends import Op, Platform, Requires
from confbag.backends.bind import _torch_compat
from confbag.backends.declare import plugins
from confbag.backends.declare.libraries import Library
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.requires import NativeOp
from confbag.backends.platforms.platform import Platform as Probed

Run = Callable[..., "CompletedProcess[str]"]
OURS = (
    "kvcache.last_loc",
    "speculative.draft_extend_fill",
    "dsv4.compressor",
    "dsv4.sparse_attention",
    "dsv4.sparse_metadata",
)


def results(ran: CompletedProcess[str]) -> dict[tuple[str, str | None], dict[str, Any]]:
    """(provider, variant) -> what was found of it."""
    return {(row["provider"], row["variant"]): row for row in json.loads(ran.stdout)["results"]}


# The installed ops


def test_everything_that_can_run_here_is_run(called: Run) -> None:
    ran = called("verify", "--cases", "2", "--format", "json", "--set", "device.kind=cpu")
    assert (ran.returncode, ran.stderr) == (0, "")
    document = json.loads(ran.stdout)
    agree = [row for row in document["results"] if row["status"] == "agrees"]
    assert {row["op"] for row in agree} == {"attention", *OURS}
    assert {row["provider"] for row in agree if row["op"] == "attention"} == {"torch_native", "reference"}
    assert all(row["cases"] > 2 for row in agree)
    assert document["count"]["agree"] == len(agree)
    left_out = [row for row in document["results"] if row["status"] == "not run"]
    assert document["count"]["not_run"] == len(left_out) == len(document["results"]) - len(agree)
    by_name = {(row["op"], row["provider"]): row for row in left_out}
    assert by_name["dsv4.compressor", "torch_npu"]["rejection"]["code"] == "device"
    assert by_name["kvcache.last_loc", "triton"]["rejection"]["actual"] == "cpu"
    assert by_name["attention", "fa3"]["said"].startswith("declared only: ")
    assert by_name["disagg.send_kvcache", "reference"]["said"] == "disagg.send_kvcache ships no cases to run it on"
    assert document["count"]["not_looked_at"] == 6


def test_the_table_says_what_was_run_and_what_was_not(called: Run) -> None:
    ran = called("verify", "kvcache.last_loc", "dsv4.sparse_metadata", "--cases", "0", "--set", "device.kind=cpu")
    assert ran.returncode == 0
    assert max(map(len, ran.stdout.splitlines())) <= 80
    for line in (
        "kvcache.last_loc",
        "  reference                     60    agrees    the reference, twice; bound by",
        "NOT RUN",
        "  triton - device: platform.device must be cuda or xpu, is cpu",
        "2 agree, 0 disagree, 0 failed; 4 implementations not run",
        "native schemas: 0 verified, 0 not verified, 2 not looked at",
    ):
        assert line in ran.stdout.splitlines()
    assert "attention" not in ran.stdout.replace("sparse_attention", "")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["kvcache.lastloc"], "unknown op 'kvcache.lastloc'; did you mean kvcache.last_loc?"),
        (["kvcache.last_loc", "--platform", "npu:ascend910_93"], "unknown option --platform"),
        (["--cases", "-1"], "--cases"),
        (["--config", "nope.yaml"], "nope.yaml"),
        (["--set", "exec.grph=true"], "exec.graph"),
    ],
)
def test_wrong_usage_is_2(called: Run, argv: list[str], said: str) -> None:
    ran = called("verify", *argv)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr


def test_a_plan_with_faults_is_3(called: Run) -> None:
    ran = called("verify", "kvcache.last_loc", "--set", "exec.attention.backend=fa3", "--set", "device.kind=cpu")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "fa3: device: platform.device must be cuda, is cpu" in ran.stderr


def test_what_cannot_run_at_all_is_3(called: Run) -> None:
    ran = called("verify", "disagg.send_kvcache", "--set", "device.kind=cpu")
    assert ran.returncode == 3
    assert ran.stderr == (
        "confbag: nothing that was asked for can be run here, so nothing is verified; the table says why\n"
    )


def test_progress_is_for_a_terminal_only(root: Path, environment: Callable[..., dict[str, str]]) -> None:
    command = [
        sys.executable,
        "-m",
        "confbag",
        "verify",
        "kvcache.last_loc",
        "--cases",
        "0",
        "--set",
        "device.kind=cpu",
    ]
    piped = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment(), check=False)
    assert (piped.returncode, piped.stderr) == (0, "")
    ours, theirs = pty.openpty()
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, cwd=root, env=environment(), check=False)
    os.close(theirs)
    told = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        told += part
    os.close(ours)
    assert shown.returncode == 0
    assert shown.stdout.decode() == piped.stdout
    assert b"kvcache.last_loc reference: case" in told


SIMULATED = """
import sys
import torch
from simulated_npu import simulate
from confbag.backends import Platform
from confbag.cli import main
simulate()
packages = {"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.8.0", "custom-ops": "1.0"}
machine = Platform("npu", "ascend910_93", toolkit={"cann": "9.0.0"}, packages=packages, name="simulated")
Platform.this = lambda probes=None: machine
sys.exit(main())
"""


def test_the_npu_bindings_agree_where_the_native_ops_are_simulated(
    root: Path, environment: Callable[..., dict[str, str]]
) -> None:
    """The road that a real npu takes, to its end; the native ops have our references behind them."""
    words = ["verify", *OURS[2:], "--cases", "0", "--format", "json", "--strict"]
    ran = subprocess.run(
        [sys.executable, "-c", SIMULATED, *words],
        capture_output=True,
        text=True,
        cwd=root / "tests",
        env=environment(),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    agree = {(row["op"], row["provider"]) for row in json.loads(ran.stdout)["results"] if row["status"] == "agrees"}
    assert agree == {
        *((op, "reference") for op in OURS[2:]),
        ("dsv4.compressor", "torch_npu"),
        ("dsv4.sparse_attention", "torch_npu"),
        ("dsv4.sparse_attention", "torch_npu_custom"),
        ("dsv4.sparse_metadata", "torch_npu_host"),
        ("dsv4.sparse_metadata", "torch_npu_device"),
    }
    count = json.loads(ran.stdout)["count"]
    assert (count["verified"], count["unverified"], count["not_looked_at"]) == (5, 0, 1)


# Without torch


def test_an_absent_torch_is_3(called: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Platform("cpu", "x86_64", packages={}, name="this")
    monkeypatch.setattr(Probed, "cpu", lambda: bare)
    ran = called("verify", "kvcache.last_loc", "--set", "device.kind=cpu")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "package-missing: torch is not installed" in ran.stderr


BROKEN_TORCH = """
import sys
from importlib.machinery import PathFinder, SourceFileLoader

class Broken(SourceFileLoader):
    def exec_module(self, module):
        raise ImportError("libtorch_cpu.so: cannot open shared object file")

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path) if name == "torch" else None
        if spec is not None:
            spec.loader = Broken(name, spec.origin)
        return spec

sys.meta_path.insert(0, Finder)
from confbag.cli import main
sys.exit(main())
"""


def test_a_torch_that_cannot_be_imported_is_3(root: Path, environment: Callable[..., dict[str, str]]) -> None:
    command = [sys.executable, "-c", BROKEN_TORCH, "verify", "kvcache.last_loc", "--set", "device.kind=cpu"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment(), check=False)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.startswith("confbag: nothing can be verified: library-load: torch must be importable")
    assert "libtorch_cpu.so: cannot open shared object file" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_where_torch_was_never_installed_it_is_3(confbag: Run, no_torch: Path, tmp_path: Path) -> None:
    ran = confbag("verify", python=[str(no_torch / "python")], cwd=tmp_path)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "package-missing: torch is not installed" in ran.stderr
    assert "Traceback" not in ran.stderr


# A vendor's op, with cases of its own and implementations that are wrong in every way


class Doubling:
    """A case as a vendor may write it: confbag asks for a name and a difference and nothing else."""

    def __init__(self, number: int) -> None:
        self.name = f"the number {number}"
        self.number = number

    def difference(self, reference: Callable[..., Any], implementation: Callable[..., Any]) -> str | None:
        wanted, found = reference(self.number), implementation(self.number)
        return None if wanted == found else f"{self.name}: expected {wanted}, found {found}"


def doubled(number: int) -> int:
    """Twice the number."""
    raise NotImplementedError


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of a vendor, importable as `acme_doubling`."""
    module = ModuleType("acme_doubling")
    asked: list[tuple[str, int]] = []

    def cases(device: str, count: int) -> Iterator[Doubling]:
        asked.append((device, count))
        return map(Doubling, range(5 + count))

    def broken_cases(device: str, count: int) -> Iterator[Doubling]:
        yield Doubling(1)
        raise OSError("no more numbers")

    def right(number: int) -> int:
        return 2 * number

    def wrong(number: int) -> int:
        return 2 * number if number < 3 else 7

    def raising(number: int) -> int:
        raise RuntimeError(f"no kernel image\nfor {number}")

    def narrow(number: int, extra: int) -> int:
        return number + extra

    def nothing(device: str, count: int) -> Iterator[Doubling]:
        return iter(())

    for function in (cases, broken_cases, right, wrong, raising, narrow, nothing):
        setattr(module, function.__name__, function)
    module.asked = asked  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, vendor: ModuleType) -> Callable[..., Op]:
    """Put a vendor's op beside ours, with implementations by name; `installed` answers with that registry."""

    def register(cases: str | None = "acme_doubling:cases", **rows: Any) -> Op:
        op = Op("acme.doubled", doubled, cases=cases)
        op.implement("reference", "acme_doubling:right")
        for name, row in rows.items():
            op.implement(name, **({"target": f"acme_doubling:{row}"} if isinstance(row, str) else row))
        registry: Registry = plugins.load(["confbag"])
        registry.add(op)
        monkeypatch.setattr(plugins, "installed", lambda schema=None: registry)
        return op

    return register


VERIFY = ("verify", "acme.doubled", "--cases", "2", "--format", "json", "--set", "device.kind=cpu")


def test_a_vendors_op_brings_its_own_cases(called: Run, registered: Callable[..., Op], vendor: ModuleType) -> None:
    registered(fast="right")
    ran = called(*VERIFY)
    assert ran.returncode == 0, ran.stderr
    row = results(ran)["fast", None]
    assert (row["status"], row["cases"], row["reference"]) == ("agrees", 7, "acme_doubling:right")
    assert vendor.asked == [("cpu", 2)] * 2


def test_a_wrong_implementation_is_5_and_the_first_difference_is_told(
    called: Run, registered: Callable[..., Op]
) -> None:
    registered(fast="wrong")
    ran = called(*VERIFY)
    assert ran.returncode == 5
    row = results(ran)["fast", None]
    assert (row["status"], row["cases"]) == ("disagrees", 4)
    assert row["said"] == "the number 3: expected 6, found 7"
    assert results(ran)["reference", None]["status"] == "agrees"
    assert ran.stderr == "confbag: verification failed: 1 agree, 1 disagree, 0 failed; 0 implementations not run\n"
    table = called(*VERIFY[:-3], "table", *VERIFY[-2:])
    assert table.stdout.split("  fast ")[1].split()[:6] == ["4", "disagrees", "the", "number", "3:", "expected"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("raising", "the number 0: RuntimeError: no kernel image"),
        ("narrow", "op-schema: signature of acme_doubling:narrow"),
        ("absent", "op-missing: target acme_doubling:absent"),
        ({"target": "acme_not_there:doubled"}, "No module named 'acme_not_there'"),
        (
            {"target": "acme_doubling:right", "cases": "acme_doubling:broken_cases"},
            "the case after the number 1: OSError: no more numbers",
        ),
        ({"target": "acme_doubling:right", "cases": "acme_doubling:nothing"}, "acme_doubling:nothing yielded no case"),
        (
            {"target": "acme_doubling:right", "cases": "acme_doubling:gone"},
            "its cases: op-missing: cases acme_doubling",
        ),
        (
            {
                "target": "acme_doubling:right",
                "requires": Requires(native_ops=(NativeOp("acme::doubled(int number) -> int"),), library="acme-ops"),
            },
            "library-not-found",
        ),
    ],
)
def test_what_fails_is_a_row(called: Run, registered: Callable[..., Op], row: Any, said: str) -> None:
    registered(fast=row)
    plugins.installed().library(Library("acme-ops", namespace="acme", environment="ACME_OPS_LIBRARY"))
    ran = called(*VERIFY)
    assert ran.returncode == 5, ran.stderr
    found = results(ran)["fast", None]
    assert found["status"] == "failed"
    assert said in found["said"]
    assert "Traceback" not in ran.stderr


def test_what_cannot_run_is_listed_with_its_first_rejection(called: Run, registered: Callable[..., Op]) -> None:
    registered(
        elsewhere={
            "target": "acme_doubling:right",
            "requires": Requires(device=("npu",), components=("acme-runtime",)),
        },
        missing={"target": "acme_doubling:right", "requires": Requires(components=("acme-runtime>=2",))},
        theirs={"target": None, "engine": "SGLang"},
    )
    ran = called(*VERIFY)
    assert ran.returncode == 0
    rows = results(ran)
    assert [rows[name, None]["status"] for name in ("elsewhere", "missing", "theirs")] == ["not run"] * 3
    assert rows["elsewhere", None]["rejection"]["code"] == "device"
    assert rows["missing", None]["said"] == "package-missing: acme-runtime>=2 is not installed"
    assert rows["theirs", None]["said"] == "declared only: SGLang constructs its own class"


def test_an_op_without_cases_is_not_run(called: Run, registered: Callable[..., Op]) -> None:
    registered(None, fast="right")
    ran = called(*VERIFY)
    assert ran.returncode == 3
    assert {row["said"] for row in results(ran).values()} == {"acme.doubled ships no cases to run it on"}


NATIVE = "confbag_verify::doubled(int number) -> int"


@pytest.fixture
def native(registered: Callable[..., Op]) -> Iterator[None]:
    """An implementation whose native op is registered for every device."""
    import torch

    library = torch.library.Library("confbag_verify", "FRAGMENT")
    library.define("doubled(int number) -> int")
    library.impl("doubled", lambda number: 2 * number, "CompositeExplicitAutograd")
    registered(fast={"target": "acme_doubling:right", "requires": Requires(native_ops=(NativeOp(NATIVE),))})
    yield
    library._destroy()


def test_a_native_schema_is_said_to_be_verified(called: Run, native: None) -> None:
    ran = called(*VERIFY, "--strict")
    assert ran.returncode == 0, ran.stderr
    assert results(ran)["fast", None]["native_ops"] == [{"name": "confbag_verify::doubled", "verified": True}]
    assert json.loads(ran.stdout)["count"]["verified"] == 1


def test_a_schema_that_cannot_be_verified_is_told_and_strict_refuses_it(
    called: Run, native: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(torch: Any, name: str) -> Any:
        raise _torch_compat.NotVerifiable(f"torch._C.{name}")

    monkeypatch.setattr(_torch_compat, "_api", lacking)
    ran = called(*VERIFY)
    assert ran.returncode == 0
    row = results(ran)["fast", None]
    assert row["native_ops"] == [{"name": "confbag_verify::doubled", "verified": False}]
    assert row["notes"] == ["confbag_verify::doubled: schema not verified; this torch lacks torch._C.parse_schema"]
    strict = called(*VERIFY, "--strict")
    assert strict.returncode == 3
    assert "schema not verified" in strict.stderr
    assert "schema NOT VERIFIED" in called(*VERIFY[:-3], "table", *VERIFY[-2:]).stdout
