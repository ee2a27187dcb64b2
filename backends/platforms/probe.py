"""Probing this machine: static evidence first, and children where only a loaded library can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from confbag.backends.platforms import arch as arches
from confbag.backends.platforms import probe_cuda, probe_hip, probe_host, probe_npu, probe_packages, probe_xpu
from confbag.backends.platforms.components import components
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.platform import DEVICES, THIS, Platform
from confbag.backends.platforms.probe_facts import Accelerator, Fact, Look, Software
from confbag.backends.platforms.probe_libraries import first_missing
from confbag.backends.platforms.probe_packages import Extension
from confbag.backends.words.versions import normalise_version
from confbag.errors import PlatformError

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""torch imports backend extensions by itself when this is unset or exactly `1`; every other text turns that off."""

TORCH_LIMIT = 120.0
"""Seconds that importing torch and its extensions in a child may take."""

_LOOK: dict[str, Look] = {
    "cuda": probe_cuda.look,
    "hip": probe_hip.look,
    "npu": probe_npu.look,
    "xpu": probe_xpu.look,
    "musa": probe_host.look_musa,
    "mps": probe_host.look_mps,
}

_T = TypeVar("_T")


@dataclass(frozen=True)
class Probe:
    """What probing found: the platform, and each fact with the place where it was learnt."""

    platform: Platform
    facts: tuple[Fact, ...]
    software: Software


def probe(
    evidence: Evidence | None = None,
    *,
    devices: Iterable[str] = DEVICES,
    added: Mapping[str, Look] = MappingProxyType({}),
    deep: bool = False,
) -> Probe:
    """Look at this machine. Never raises: what goes wrong is a note. torch is imported at most in a child.

    devices: the accelerators to look for, an earlier one is planned for; with none, the CPU is. added: the kinds that
    plug-ins brought, looked for after ours. deep: ask torch in a child also where
    nothing calls for it, cross-check what it says, and list the native ops that are loaded.
    """
    return _Probing(evidence or Evidence.here()).run(
        {**{name: _LOOK[name] for name in devices if name in _LOOK}, **added}, deep
    )


def software(evidence: Evidence) -> Software:
    """What is installed, with the first missing library of each torch backend extension."""
    distributions = probe_packages.scan(evidence.search_path)
    torch = probe_packages.torch_build(evidence.search_path)
    extensions = tuple(probe_packages.extensions(distributions.values())) if torch else ()
    absent = {extension.module: _absent(extension, evidence) for extension in extensions}
    missing = {module: library for module, library in absent.items() if library is not None}
    return Software(distributions, torch, extensions, missing)


def _absent(extension: Extension, evidence: Evidence) -> str | None:
    missing = first_missing(extension.libraries, evidence)
    if missing is None or extension.nodes is None or not evidence.names("/dev", extension.nodes):
        return missing
    # The hardware is there, and a loader may know folders that we do not: it has the last word.
    answer, problem = evidence.ask(
        "confbag.backends.platforms.child_facts:first_unloadable", probe_npu.LIMIT, names=list(extension.libraries)
    )
    return missing if problem is not None or not (answer is None or isinstance(answer, str)) else answer


class _Probing:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.facts: list[Fact] = []
        self.notes: list[str] = []

    def run(self, looks: Mapping[str, Look], deep: bool) -> Probe:
        found = self.attempt("packages", lambda: software(self.evidence)) or Software()
        seen = [
            accelerator for name, look in looks.items() if (accelerator := self.look(name, look, found)) is not None
        ]
        usable = [accelerator for accelerator in seen if accelerator.unusable is None]
        chosen = usable[0] if usable else None
        toolkit: dict[str, str] = {}
        if cann := self.attempt("CANN", lambda: probe_npu.cann(self.evidence)):
            toolkit["cann"] = normalise_version(cann[0]) or cann[0]
            self.facts.append(Fact("toolkit cann", *cann))
        said = None
        if found.torch is not None and (deep or (chosen is not None and chosen.arch is None)):
            said = self.attempt("torch", lambda: self.ask_torch(found, deep))
        if chosen is not None and chosen.arch is None and said:
            chosen = self.arch_from_torch(chosen, said)
        platform = self.platform(chosen, found, toolkit, said)
        self.explain(platform, seen, chosen, found)
        if said:
            self.cross_check(platform, found, said)
        return Probe(replace(platform, notes=tuple(dict.fromkeys(self.notes))), tuple(self.facts), found)

    def attempt(self, what: str, ask: Callable[[], _T]) -> _T | None:
        """A probe's answer; what it raises becomes a note, since a surprising machine must still be planned for."""
        try:
            return ask()
        except Exception as error:
            self.notes.append(
                f"probing {what} failed ({type(error).__name__}: {error}); planning without what it would have told."
            )
            return None

    def look(self, device: str, look: Look, found: Software) -> Accelerator | None:
        def answer() -> Accelerator | None:
            seen = look(self.evidence, found)
            if seen is not None:
                if not isinstance(seen, Accelerator) or seen.device != device:
                    raise PlatformError(f"it answered {type(seen).__name__}, not an Accelerator of {device}")
                # What contradicts itself is found here, where it is a note, and not when the platform is made.
                Platform(seen.device, seen.arch, seen.features, seen.count, seen.toolkit)
            return seen

        return self.attempt(device, answer)

    def platform(
        self, chosen: Accelerator | None, found: Software, toolkit: dict[str, str], said: dict[str, Any] | None
    ) -> Platform:
        packages = {name: one.version for name, one in found.distributions.items()}
        native_ops = tuple(said["native_ops"]) if said and "native_ops" in said else None
        if chosen is not None:
            self.facts[:0] = [Fact("device", chosen.device, chosen.seen), *chosen.facts]
            self.notes.extend(chosen.notes)
            given = {**toolkit, **{name: text for name, text in chosen.toolkit.items() if normalise_version(text)}}
            made = Platform(
                chosen.device, chosen.arch, chosen.features, chosen.count, given, packages, native_ops, name=THIS
            )
        else:
            arch, features, facts = self.attempt("the CPU", lambda: probe_host.cpu(self.evidence)) or (
                None,
                frozenset(),
                [],
            )
            self.facts[:0] = [Fact("device", "cpu", "no usable accelerator"), *facts]
            made = Platform("cpu", arch, features, None, toolkit, packages, native_ops, name=THIS)
        return made

    def explain(self, platform: Platform, seen: list[Accelerator], chosen: Accelerator | None, found: Software) -> None:
        """A note for hardware that is not used and for software that cannot be; a machine without either gets none."""
        hardware = {accelerator.device: accelerator.seen for accelerator in seen}
        for extension in found.extensions:
            if library := found.missing.get(extension.module):
                script = probe_npu.set_env(self.evidence) if extension.module == probe_npu.MODULE else None
                here = hardware.get("npu") if extension.module == probe_npu.MODULE else None
                although = f" although {here} is here" if here else ""
                remedy = f"Run 'source {script}'." if script else extension.remedy
                self.notes.append(
                    f"{extension.module} {extension.distribution.version} is installed but {extension.stack} is not "
                    "loadable "
                    f"({library} not found); planning without it{although}. {remedy}".rstrip()
                )
        for accelerator in seen:
            if accelerator.explained or (chosen is not None and accelerator.device == chosen.device):
                continue
            if accelerator.unusable is None:
                self.notes.append(
                    f"{accelerator.seen} ({accelerator.device}) is usable too; planning for {platform.device}. To "
                    "plan for it, name a "
                    f"{accelerator.device} platform."
                )
            else:
                self.notes.append(
                    f"{accelerator.seen} is here but {accelerator.unusable}; planning for {platform.device}. "
                    f"{accelerator.remedy}"
                )
        autoload = self.evidence.environ.get(AUTOLOAD)
        if found.extensions and autoload not in (None, "0", "1"):
            modules = ", ".join(extension.module for extension in found.extensions)
            self.notes.append(
                f"{AUTOLOAD}={autoload} keeps torch from loading {modules}: only 1 (or leaving it unset) enables it. "
                "Write 1, or 0 to "
                f"mean that it is off."
            )
        self.notes.extend(probe_packages.version_mismatches(found.distributions, found.extensions))
        hidden = partial(probe_packages.hidden, self.evidence.search_path)
        for look in (probe_packages.clashes, probe_packages.unmet, hidden):
            self.notes.extend(self.attempt("packages", partial(look, found.distributions)) or [])
        if found.torch is not None and found.torch.cuda is not None and probe_npu.DISTRIBUTION in found.distributions:
            self.notes.append(
                f"torch {found.torch.version} is built for CUDA and torch_npu is installed too: torch_npu refuses to "
                "share a process "
                f"with CUDA. Install a CPU build of torch beside torch_npu."
            )

    def ask_torch(self, found: Software, deep: bool) -> dict[str, Any] | None:
        modules: list[str] = []
        namespaces: set[str] = set()
        for component in components().values() if deep else ():
            installed = any(name in found.distributions for name in component.distributions)
            if component.module and component.namespaces and installed and component.module not in found.missing:
                modules.append(component.module)
                namespaces.update(component.namespaces)
        environ = {AUTOLOAD: "0"} if found.missing else {}
        answer, problem = self.evidence.ask(
            "confbag.backends.platforms.child_facts:torch_facts",
            TORCH_LIMIT,
            environ=environ,
            modules=modules,
            namespaces=sorted(namespaces),
        )
        problem = problem or answer.get("error") or _incomplete(answer)
        if problem is not None:
            self.notes.append(
                f"importing torch in a child process failed ({problem}); what only torch can tell is unknown."
            )
            return None
        for module, why in answer["failed"].items():
            self.notes.append(f"{module} is installed but importing it fails ({why}); its native ops are not listed.")
        told: dict[str, Any] = answer
        return told

    def arch_from_torch(self, chosen: Accelerator, said: dict[str, Any]) -> Accelerator:
        told = said["devices"].get("cuda" if chosen.device == "hip" else chosen.device, {})
        name = ".".join(map(str, told["capability"])) if "capability" in told else told.get("name")
        arch = arches.normalise(name, chosen.device) if name else None
        if arch is None or arches.fault(chosen.device, arch):
            return chosen
        return replace(
            chosen, arch=arch, notes=(), facts=(*chosen.facts, Fact("arch", str(name), "torch in a child process"))
        )

    def cross_check(self, platform: Platform, found: Software, said: dict[str, Any]) -> None:
        """What torch claims against what its build can do."""
        for name, told in said["devices"].items():
            learnt = "torch in a child process"
            self.facts.append(
                Fact(f"torch.{name}", "available" if told["available"] else told.get("error", "not available"), learnt)
            )
        build = f"torch {said['version']}"
        if said["devices"].get("cuda", {}).get("available") and said["cuda"] is None and said["hip"] is None:
            self.notes.append(
                f"torch.cuda.is_available() is true, but {build} is built without CUDA (torch.version.cuda is None): "
                "something in this "
                f"environment imitates CUDA. Not planned as cuda."
            )
        asked = "cuda" if platform.device == "hip" else platform.device
        told = said["devices"].get(asked, {"available": False})
        if platform.device != "cpu" and not told["available"]:
            self.notes.append(
                f"{build} sees no {platform.device} device ({told.get('error', 'is_available() is false')})."
            )


def _incomplete(answer: dict[str, Any]) -> str | None:
    """What an answer of `child_facts.torch_facts` lacks: something else may have printed its last line."""
    lacking = [part for part in ("version", "devices", "failed") if part not in answer]
    return f"its answer lacks {', '.join(lacking)}" if lacking else None
