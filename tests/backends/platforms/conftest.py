"""A staged machine: real files under a folder that the probe takes for `/`, and children that answer as told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from confbag.backends.platforms.evidence import Evidence, Ran
from confbag.backends.platforms.probe import Probe, probe

NPU_LIBRARIES = ("hccl", "ascendcl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel")


class Machine:
    """A machine of a test's making. answers: child function -> its answer. programs: name -> what it prints."""

    def __init__(self, folder: Path) -> None:
        self.root, self.site = folder / "root", folder / "site"
        self.root.mkdir()
        self.site.mkdir()
        self.environ: dict[str, str] = {"PATH": "/usr/bin"}
        self.machine, self.system = "x86_64", "Linux"
        self.answers: dict[str, Any] = {}
        self.programs: dict[str, str] = {}
        self.started: list[list[str]] = []
        self.environs: list[Mapping[str, str]] = []

    def file(self, name: str, text: str | bytes = "") -> None:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def program(self, name: str, prints: str) -> None:
        self.file(name)
        (self.root / name.lstrip("/")).chmod(0o755)
        self.programs[name.rpartition("/")[2]] = prints

    def package(self, name: str, version: str, *, owns: Sequence[str] = (), entry_points: str = "") -> Path:
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text("".join(f"{path},sha256=x,1\n" for path in owns))
        if entry_points:
            (info / "entry_points.txt").write_text(entry_points)
        return info

    def torch(self, version: str, **build: str) -> None:
        self.package("torch", version)
        (self.site / "torch").mkdir()
        values = "".join(f"{name}: Optional[str] = {build.get(name)!r}\n" for name in ("cuda", "hip", "xpu"))
        (self.site / "torch" / "version.py").write_text(f"__version__ = {version!r}\n{values}")

    def torch_npu(self, version: str) -> None:
        self.package("torch_npu", version, entry_points="[torch.backends]\ntorch_npu = torch_npu:_autoload\n")

    def cann(self, version: str = "8.3.RC1") -> None:
        home = "/usr/local/Ascend/ascend-toolkit/latest"
        self.file(f"{home}/aarch64-linux/ascend_toolkit_install.info", f"package_name=x\nversion={version}\narch=x\n")
        for library in NPU_LIBRARIES:
            self.file(f"{home}/lib64/lib{library}.so")
        self.environ["LD_LIBRARY_PATH"] = f"/nowhere:{home}/lib64"

    def evidence(self) -> Evidence:
        return Evidence(
            self.root, self.environ, (str(self.site),), self.machine, self.system, "/usr/bin/python3", self.start
        )

    def start(self, argv: Sequence[str], environ: Mapping[str, str], limit: float) -> Ran:
        self.started.append(list(argv))
        self.environs.append(dict(environ))
        name = os.path.basename(argv[0])
        if name == "python3":
            function = argv[5]
            if function not in self.answers:
                return Ran(problem="exit 1: no such library")
            return Ran(out=f"noise of a library\n{json.dumps(self.answers[function])}\n")
        return Ran(out=self.programs[name]) if name in self.programs else Ran(problem="no such program")

    def probe(self, **options: Any) -> Probe:
        return probe(self.evidence(), **options)


@pytest.fixture
def stage(tmp_path: Path) -> Machine:
    """A machine with no accelerator, no package and an x86-64 CPU."""
    return Machine(tmp_path)


@pytest.fixture
def npu_machine(stage: Machine) -> Machine:
    """A machine with two NPUs, torch_npu and a loadable CANN."""
    for name in ("davinci0", "davinci1", "davinci_manager"):
        stage.file(f"/dev/{name}")
    stage.torch("2.7.1+cpu")
    stage.torch_npu("2.7.1")
    stage.cann()
    stage.file("/usr/local/Ascend/driver/version.info", "Version=25.2.0\nascendhal_version=7.35.23\n")
    stage.answers["ascendcl"] = {"soc": "Ascend910_9392", "count": 2}
    return stage


@pytest.fixture
def torch_answer() -> Callable[..., dict[str, Any]]:
    """What the child that imports torch answers, for a torch version and devices."""

    def make(version: str, cuda: str | None = None, hip: str | None = None, **devices: Any) -> dict[str, Any]:
        return {"version": version, "cuda": cuda, "hip": hip, "devices": devices, "loaded": [], "failed": {}}

    return make
