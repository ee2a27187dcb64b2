"""The host itself: its CPU, an Apple GPU, and Moore Threads GPUs, of which only their torch tells more."""

from __future__ import annotations

import re

from confbag.backends.platforms import arch as arches
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe_facts import Accelerator, Fact, Software

_CPUINFO = "/proc/cpuinfo"
_FLAGS = re.compile(r"^(?:flags|Features)\s*:(.*)$", re.M)
_AMX = "amx_tile"


def cpu(evidence: Evidence) -> tuple[str | None, frozenset[str], list[Fact]]:
    """The CPU's architecture, its features, and where they were learnt."""
    arch = arches.normalise(evidence.machine, "cpu")
    match = _FLAGS.search(evidence.text(_CPUINFO) or "")
    features = frozenset({"amx"}) if match and _AMX in match.group(1).split() else frozenset()
    facts = [Fact("arch", evidence.machine or "unknown", "platform.machine()")]
    if match:
        facts.append(Fact("features", ", ".join(sorted(features)) or "none", f"{_CPUINFO} ({_AMX})"))
    return (None if not arch or arches.fault("cpu", arch) else arch), features, facts


def look_mps(evidence: Evidence, software: Software) -> Accelerator | None:
    """An Apple GPU; None elsewhere."""
    if evidence.system != "Darwin" or evidence.machine != "arm64":
        return None
    if software.torch is None:
        return Accelerator("mps", "an Apple GPU", "torch is not installed", "Install torch.")
    return Accelerator(
        "mps", "an Apple GPU", arch="apple", count=1, facts=(Fact("arch", "apple", "platform.system()"),)
    )


def look_musa(evidence: Evidence, software: Software) -> Accelerator | None:
    """Moore Threads GPUs; only their torch can tell the architecture."""
    nodes = evidence.names("/dev", "mtgpu*")
    if not nodes:
        return None
    if "torch-musa" not in software.distributions:
        return Accelerator("musa", nodes[0], "torch_musa is not installed", "Install torch_musa.")
    return Accelerator("musa", nodes[0], count=len(nodes), facts=(Fact("devices", str(len(nodes)), "/dev/mtgpu*"),))
