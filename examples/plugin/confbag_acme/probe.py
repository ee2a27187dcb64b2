"""Finding an Acme A1 in this machine, by reading files; nothing of the runtime is imported."""

from __future__ import annotations

from confbag.backends import Accelerator, Evidence, Software

SIMULATOR = "CONFBAG__ACME__SIMULATOR"
RUNTIME = "acme-runtime"


def look(evidence: Evidence, software: Software) -> Accelerator | None:
    """The machine's Acme devices, or the simulator where CONFBAG__ACME__SIMULATOR names an architecture."""
    if simulated := evidence.environ.get(SIMULATOR):
        return Accelerator("acme", f"a simulator ({SIMULATOR})", arch=simulated, count=1)
    nodes = evidence.names("/dev", "acme[0-9]*")
    if not nodes:
        return None
    seen = nodes[0]
    if RUNTIME not in software.distributions:
        return Accelerator("acme", seen, f"{RUNTIME} is not installed", f"Install {RUNTIME}.")
    arch = (evidence.text("/sys/class/acme/acme0/arch") or "").strip() or None
    return Accelerator("acme", seen, arch=arch, count=len(nodes))
