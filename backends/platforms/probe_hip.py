"""AMD GPUs, from what the kernel driver shows of them."""

from __future__ import annotations

import re

from confbag.backends.platforms import arch as arches
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe_facts import Accelerator, Fact, Software
from confbag.backends.words.versions import normalise_version

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_TARGET = re.compile(r"^gfx_target_version\s+([1-9]\d*)", re.M)
_HIDING = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def look(evidence: Evidence, software: Software) -> Accelerator | None:
    """The machine's AMD GPUs; None when it has none."""
    if not evidence.exists("/dev/kfd"):
        return None
    found = [
        (node, match)
        for node in evidence.names(_NODES, "*/properties")
        if (match := _TARGET.search(evidence.text(node) or ""))
    ]
    targets = [arches.of_gfx_target(int(match.group(1))) for _, match in found]
    seen = f"/dev/kfd ({targets[0]})" if targets else "/dev/kfd"
    torch = software.torch
    if torch is None or torch.hip is None:
        why = "torch is not installed" if torch is None else f"torch {torch.version} is built without ROCm"
        return Accelerator("hip", seen, why, "Install a ROCm build of torch.")
    for name in _HIDING:
        if evidence.environ.get(name) == "":
            return Accelerator("hip", seen, f"{name}='' hides every device", "Unset it to plan for the GPU.")
    toolkit, facts = {}, []
    sources = (
        ("hip", torch.hip, torch.where),
        ("rocm", evidence.text("/opt/rocm/.info/version"), "/opt/rocm/.info/version"),
        ("driver", evidence.text("/sys/module/amdgpu/version"), "/sys/module/amdgpu/version"),
    )
    for name, text, learnt in sources:
        if text and (version := normalise_version(text)):
            toolkit[name] = version
            facts.append(Fact(f"toolkit {name}", text.strip(), learnt))
    notes = []
    if not targets:
        notes.append(f"/dev/kfd is here, but {_NODES} shows no GPU: the architecture is unknown.")
    else:
        facts += [Fact("arch", targets[0], found[0][0]), Fact("devices", str(len(targets)), _NODES)]
        if len(set(targets)) > 1:
            notes.append(f"GPUs of different architectures are here ({', '.join(targets)}); planned for the first.")
    return Accelerator(
        "hip",
        seen,
        arch=targets[0] if targets else None,
        count=len(targets) or None,
        toolkit=toolkit,
        facts=tuple(facts),
        notes=tuple(notes),
    )
