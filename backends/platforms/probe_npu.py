"""Ascend NPUs: the device nodes, CANN and its version, and the SoC's name in a child."""

from __future__ import annotations

import re
from collections.abc import Iterator

from confbag.backends.platforms import arch as arches
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe_facts import Accelerator, Fact, Software
from confbag.backends.words.versions import normalise_version

LIMIT = 30.0
"""Seconds that CANN and npu-smi may take: opening the first device is slow."""

MODULE, DISTRIBUTION = "torch_npu", "torch-npu"

_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_DRIVER_FILE = "/usr/local/Ascend/driver/version.info"
_VERSION = re.compile(r"^\s*(version_dir|version)\s*=\s*\[?\s*[A-Za-z-]*(\d+\.[^\s\]]+)", re.M | re.I)
_CHIP = re.compile(r"^\s*Chip Name\s*:\s*(\S+)\s*$", re.M)
_NPU_NAME = re.compile(r"^\s*NPU Name\s*:\s*(\S+)\s*$", re.M)


def cann(evidence: Evidence) -> tuple[str, str] | None:
    """CANN's version as its own file writes it (`8.3.RC1`) and that file; None when no CANN is found."""
    for home in _homes(evidence):
        files = [*evidence.names(home, "*-linux/ascend_toolkit_install.info"), f"{home}/ascend_toolkit_install.info"]
        files += [f"{home}/version.info", f"{home}/toolkit/version.info"]
        # The parts carry a version of their own beside that of the release: only their version_dir is CANN's.
        parts = [f"{home}/runtime/version.info", f"{home}/compiler/version.info"]
        for name in (*files, *parts):
            found = {key.lower(): text for key, text in _VERSION.findall(evidence.text(name) or "")}
            text = found.get("version_dir") or (found.get("version") if name not in parts else None)
            if text and normalise_version(text):
                return text, name
    return None


def set_env(evidence: Evidence) -> str | None:
    """The script that makes CANN loadable, where one is found."""
    for home in _homes(evidence):
        for name in (f"{home}/set_env.sh", f"{home.rpartition('/')[0]}/set_env.sh"):
            if evidence.exists(name):
                return name
    return None


def look(evidence: Evidence, software: Software) -> Accelerator | None:
    """The machine's NPUs; None when it has none."""
    nodes = evidence.names("/dev", "davinci[0-9]*")
    if not nodes:
        return None
    if software.torch is None or DISTRIBUTION not in software.distributions:
        lacking = "torch_npu" if software.torch is not None else "torch"
        return Accelerator(
            "npu", nodes[0], f"{lacking} is not installed", "Install torch_npu, with the torch of the same version."
        )
    if MODULE in software.missing:
        return Accelerator("npu", nodes[0], "CANN is not loadable", explained=True)
    toolkit, facts = {}, []
    driver = _VERSION.search(evidence.text(_DRIVER_FILE) or "")
    if driver and (version := normalise_version(driver.group(2))):
        toolkit["driver"] = version
        facts.append(Fact("toolkit driver", driver.group(2), _DRIVER_FILE))
    soc, count, learnt, problem = _soc(evidence)
    notes = []
    arch = arches.normalise(soc, "npu") if soc else None
    if arch is None or arches.fault("npu", arch):
        notes.append(
            f"{nodes[0]} is here, but neither CANN nor npu-smi names the SoC ({problem or soc}): the architecture is "
            "unknown."
        )
        arch = None
    else:
        facts.append(Fact("arch", f"{arch} ({soc})", learnt))
    facts.append(Fact("devices", str(count or len(nodes)), learnt if count else "/dev/davinci*"))
    return Accelerator(
        "npu", nodes[0], arch=arch, count=count or len(nodes), toolkit=toolkit, facts=tuple(facts), notes=tuple(notes)
    )


def _homes(evidence: Evidence) -> Iterator[str]:
    for name in _HOMES:
        if home := evidence.environ.get(name, "").rstrip("/"):
            yield home
    yield "/usr/local/Ascend/cann"
    yield "/usr/local/Ascend/ascend-toolkit/latest"
    yield from reversed(evidence.names("/usr/local/Ascend", "cann-[0-9]*"))
    yield from reversed(evidence.names("/usr/local/Ascend/ascend-toolkit", "[0-9]*"))


def _soc(evidence: Evidence) -> tuple[str | None, int | None, str, str | None]:
    """The SoC's name, the number of devices, where that was learnt, and what went wrong."""
    answer, problem = evidence.ask("confbag.backends.platforms.child_facts:ascendcl", LIMIT)
    if answer is not None and answer.get("soc"):
        return answer["soc"], answer.get("count"), "libascendcl.so", None
    problem = problem or (answer or {}).get("error")
    program = evidence.which("npu-smi")
    if program is None:
        return None, None, "", problem
    out = evidence.run([str(evidence.path(program)), "info", "-t", "board", "-i", "0", "-c", "0"], LIMIT).out
    chip, npu = _CHIP.search(out), _NPU_NAME.search(out)
    if chip is None:
        return None, None, "", problem
    name = chip.group(1)
    # An A3 says `Chip Name: Ascend910` and its own number beside it; an A2 says `Chip Name: 910B3`.
    if npu is not None and name.lower() == "ascend910":
        name = f"{name}_{npu.group(1)}"
    return name, None, "npu-smi", None
