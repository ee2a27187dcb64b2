"""NVIDIA GPUs: the device nodes, the driver's word in a child, and the toolkit."""

from __future__ import annotations

import re
from typing import Any

from confbag.backends.platforms import arch as arches
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe_facts import Accelerator, Fact, Software
from confbag.backends.words.versions import normalise_version, release

LIMIT = 20.0
"""Seconds that the driver and its tools may take."""

_DRIVER_FILE = "/proc/driver/nvidia/version"
_DRIVER = re.compile(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b")
_NVCC = re.compile(r"release (\d+\.\d+)(?:, V(\d+(?:\.\d+)+))?")


def look(evidence: Evidence, software: Software) -> Accelerator | None:
    """The machine's NVIDIA GPUs; None when it has none."""
    seen = next(iter(evidence.names("/dev", "nvidia[0-9]*")), None)
    if seen is None and evidence.exists("/dev/dxg") and evidence.exists("/usr/lib/wsl/lib/libcuda.so.1"):
        seen = "/dev/dxg"
    if seen is None:
        return None
    torch = software.torch
    if torch is None or torch.cuda is None:
        why = "torch is not installed" if torch is None else f"torch {torch.version} is built without CUDA"
        return Accelerator("cuda", seen, why, "Install a CUDA build of torch.")
    toolkit = {"cuda": torch.cuda}
    facts = [Fact("toolkit cuda", torch.cuda, torch.where)]
    notes: list[str] = []
    if driver := _driver(evidence):
        toolkit["driver"] = driver
        facts.append(Fact("toolkit driver", driver, _DRIVER_FILE))
    if nvcc := _nvcc(evidence):
        toolkit["nvcc"] = nvcc[0]
        facts.append(Fact("toolkit nvcc", *nvcc))
    answer, learnt, problem = _devices(evidence)
    if answer is None:
        notes.append(
            f"{seen} is here, but neither libcuda nor nvidia-smi answers ({problem}): the architecture is unknown."
        )
        return Accelerator("cuda", seen, toolkit=toolkit, facts=tuple(facts), notes=tuple(notes))
    capabilities = [arches.of_capability(*pair) for pair in answer["capabilities"]]
    if not capabilities:
        hidden = evidence.environ.get("CUDA_VISIBLE_DEVICES")
        why = "the driver shows no device" if hidden is None else f"CUDA_VISIBLE_DEVICES={hidden} hides every device"
        return Accelerator(
            "cuda", seen, why, "Check the driver." if hidden is None else "Unset it to plan for the GPU."
        )
    if len(set(capabilities)) > 1:
        notes.append(f"GPUs of different architectures are here ({', '.join(capabilities)}); planned for the first.")
    supported = answer.get("cuda")
    if supported and release(torch.cuda)[:1] > release(supported)[:1]:
        notes.append(
            f"torch {torch.version} is built for CUDA {torch.cuda}, and the driver supports CUDA up to {supported}. "
            "Update the driver."
        )
    if answer.get("driver") and "driver" not in toolkit:
        toolkit["driver"] = answer["driver"]
        facts.append(Fact("toolkit driver", answer["driver"], learnt))
    facts += [Fact("arch", capabilities[0], learnt), Fact("devices", str(len(capabilities)), learnt)]
    return Accelerator(
        "cuda",
        seen,
        arch=capabilities[0],
        count=len(capabilities),
        toolkit=toolkit,
        facts=tuple(facts),
        notes=tuple(notes),
    )


def _driver(evidence: Evidence) -> str | None:
    match = _DRIVER.search(evidence.text(_DRIVER_FILE) or "")
    return match.group(1) if match else None


def _nvcc(evidence: Evidence) -> tuple[str, str] | None:
    homes = [evidence.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    candidates = [f"{home.rstrip('/')}/bin/nvcc" for home in homes if home]
    if on_path := evidence.which("nvcc"):
        candidates.append(on_path)
    candidates.append("/usr/local/cuda/bin/nvcc")
    for program in candidates:
        if evidence.exists(program):
            match = _NVCC.search(evidence.run([str(evidence.path(program)), "--version"], LIMIT).out)
            version = normalise_version(match.group(2) or match.group(1)) if match else None
            return (version, program) if version else None
    return None


def _devices(evidence: Evidence) -> tuple[dict[str, Any] | None, str, str | None]:
    answer, problem = evidence.ask("confbag.backends.platforms.child_facts:libcuda", LIMIT)
    if answer is not None and "error" not in answer:
        return answer, "libcuda.so.1", None
    problem = problem or str((answer or {}).get("error"))
    program = evidence.which("nvidia-smi")
    if program is None:
        return None, "", problem
    query = [str(evidence.path(program)), "--query-gpu=compute_cap,driver_version", "--format=csv,noheader"]
    ran = evidence.run(query, LIMIT)
    rows = [[part.strip() for part in line.split(",")] for line in ran.out.splitlines() if line.count(",") == 1]
    pairs = [tuple(int(part) for part in row[0].split(".")) for row in rows if re.fullmatch(r"\d+\.\d", row[0])]
    if not pairs:
        return None, "", f"{problem}; nvidia-smi: {ran.problem or 'no device'}"
    return {"capabilities": pairs, "driver": rows[0][1]}, "nvidia-smi", None
