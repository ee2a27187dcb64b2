"""Intel GPUs, from their PCI ids."""

from __future__ import annotations

from confbag.backends.catalog import own
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe_facts import Accelerator, Fact, Software

_INTEL = "0x8086"
_XMX = frozenset({"pvc", "bmg"})


def look(evidence: Evidence, software: Software) -> Accelerator | None:
    """The machine's Intel GPUs of a known architecture; None when it has none (integrated graphics are none)."""
    found = []
    for node in evidence.names("/sys/class/drm", "renderD*"):
        if (evidence.text(f"{node}/device/vendor") or "").strip() == _INTEL:
            arch = _arch((evidence.text(f"{node}/device/device") or "").strip())
            name = f"/dev/dri/{node.rpartition('/')[2]}"
            if arch and evidence.exists(name):
                found.append((arch, name, f"{node}/device/device"))
    if not found:
        return None
    arch, name, learnt = found[0]
    torch = software.torch
    seen = f"{name} ({arch})"
    if torch is None or (torch.xpu is None and "xpu" not in torch.version):
        why = "torch is not installed" if torch is None else f"torch {torch.version} is built without XPU"
        return Accelerator("xpu", seen, why, "Install an XPU build of torch.")
    features = frozenset({"xmx"}) if arch in _XMX else frozenset()
    facts = [Fact("arch", arch, learnt), Fact("devices", str(len(found)), "/sys/class/drm")]
    toolkit = {}
    if torch.xpu:
        toolkit["sycl"] = torch.xpu
        facts.append(Fact("toolkit sycl", torch.xpu, torch.where))
    return Accelerator("xpu", seen, arch=arch, count=len(found), features=features, toolkit=toolkit, facts=tuple(facts))


def _arch(device: str) -> str | None:
    try:
        number = int(device, 16)
    except ValueError:
        return None
    for arch, ranges in own("intel_gpus.yaml").items():
        if any(first <= number <= last for first, last in ranges):
            return str(arch)
    return None
