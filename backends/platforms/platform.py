"""A platform: the facts of one machine, and the ways to get one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confbag.backends.platforms import arch as arches
from confbag.backends.words.spelling import Spelled
from confbag.errors import PlatformError
from confbag.words.given import called, expect

if TYPE_CHECKING:
    from confbag.backends.platforms.probe_facts import Look

DEVICES = ("cuda", "hip", "npu", "xpu", "musa", "mps", "cpu")
"""The device kinds known here; a machine that has several is planned for the first. A plug-in may add its own."""

TOOLKITS = ("cuda", "hip", "cann", "driver", "nvcc", "rocm", "musa", "sycl", "oneapi", "level-zero")
"""The toolkits known here, whose versions a platform may say."""

SCHEMA = 1
"""The version of a platform file."""

THIS = "this"

_WORD = re.compile(r"[a-z][a-z0-9_]*(?:-[a-z0-9_]+)*")
_SEPARATORS = re.compile(r"[-_.]+")
_EMPTY: Mapping[str, str] = MappingProxyType({})


def canonical(distribution: str) -> str:
    """A distribution's name as PEP 503 compares it: `torch_npu` and `Torch.NPU` are torch-npu."""
    return _SEPARATORS.sub("-", distribution).lower()


@dataclass(frozen=True)
class Platform(Spelled):
    """The facts of one machine, immutable and comparable; two with the same facts are equal whatever they are called.

    device: a device kind.
    arch: in our spelling; None when nobody could tell, and then no closed set holds it.
    features: what the hardware has beside (xmx, amx); absent means it has not.
    count: devices visible; None when unknown.
    toolkit: versions in PEP 440 form by name (cuda, hip, cann, driver, nvcc ...); absent means unknown.
    packages: installed distributions by canonical name, complete; None means unknown.
    native_ops: schemas of native ops, where somebody listed them; None means look at bind.
    assumed: names of facts that nobody measured (`packages`: what is installed at all; `packages.torch`,
        `toolkit.cuda`: a version).
    name: what a person calls it.
    notes: warnings, each one sentence.

    Raises PlatformError when a fact contradicts itself.
    """

    device: str
    arch: str | None = None
    features: frozenset[str] = frozenset()
    count: int | None = None
    toolkit: Mapping[str, str] = field(default_factory=lambda: _EMPTY, hash=False)
    packages: Mapping[str, str] | None = field(default=None, hash=False)
    native_ops: tuple[str, ...] | None = None
    assumed: frozenset[str] = frozenset()
    name: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.device, str) or not _WORD.fullmatch(self.device):
            raise PlatformError(f"platform: device {self.device!r}; write one of {', '.join(DEVICES)}")
        if self.arch is not None:
            arch = arches.normalise(str(self.arch), self.device)
            if wrong := arches.fault(self.device, arch):
                raise PlatformError(f"platform: arch: {wrong}")
            put(self, "arch", arch)
        if self.count is not None and (type(self.count) is not int or self.count < 0):
            raise PlatformError(f"platform: count {self.count!r}; write how many devices there are")
        put(self, "features", frozenset(_words(self.features, "features")))
        for name, example in (("toolkit", "{'cuda': '12.9'}"), ("packages", "{'torch': '2.9'}")):
            held = getattr(self, name)
            if held is not None and not isinstance(held, Mapping):
                raise PlatformError(f"platform: {name}: expected a mapping, not {called(held)}; write {name}={example}")
        put(self, "toolkit", MappingProxyType(_toolkit(self.toolkit or {})))
        if self.packages is not None:
            put(self, "packages", MappingProxyType(_packages(self.packages)))
        if self.native_ops is not None:
            put(self, "native_ops", _words(self.native_ops, "native_ops"))
        put(self, "assumed", frozenset(_words(self.assumed, "assumed")))
        put(self, "notes", _words(self.notes, "notes"))
        put(self, "name", self.name or self.spec)

    @property
    def spec(self) -> str:
        """`device:arch`, as `--platform` would name it."""
        return f"{self.device}:{self.arch}" if self.arch else self.device

    @classmethod
    def this(cls, probes: Mapping[str, Look] = MappingProxyType({})) -> Platform:
        """This machine, probed; never raises for what it finds, and imports no torch.

        probes: device kinds that plug-ins brought, each with the function that looks for it.
        """
        from confbag.backends.platforms.probe import probe

        return probe(added=probes).platform

    @classmethod
    def cpu(cls) -> Platform:
        """This machine planned without its accelerators, whatever they are."""
        from confbag.backends.platforms.probe import probe

        return probe(devices=()).platform

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, devices: Iterable[str] = DEVICES) -> Platform:
        """The platform that a file describes. Raises ConfigError with every fault, each with its line and column."""
        from confbag.backends.platforms.file import read_platform

        expect(path, (str, os.PathLike), "Platform.load", "the path of a platform file", "Platform.load('a1.yaml')")
        return read_platform(path, devices=devices)

    @classmethod
    def known(cls, name: str) -> Platform:
        """A platform known by name, `cuda:sm90`; its packages and toolkit are typical ones and marked as assumed.

        Raises PlatformError, with the nearest name, for one that is not known.
        """
        from confbag.backends.platforms.known import known

        expect(name, str, "Platform.known", "the name of a platform", "Platform.known('cuda:sm90')")
        return known(name)

    @classmethod
    def find(
        cls,
        spec: str,
        *,
        added: Mapping[str, Platform] = MappingProxyType({}),
        devices: Iterable[str] = DEVICES,
        probes: Mapping[str, Look] = MappingProxyType({}),
    ) -> Platform:
        """The platform that `--platform` names: `this`, which is this host; a known name; or a file. `cpu` is the known
        one of this host's architecture, not this host.

        added: platforms that plug-ins brought, by name. devices: the kinds that a file may name. probes: as in `this`.
        Raises PlatformError for an unknown name, ConfigError for a file that is wrong.
        """
        expect(spec, str, "Platform.find", "what --platform takes", "Platform.find('cuda:sm90')")
        if spec == THIS:
            return cls.this(probes)
        if spec in added:
            return added[spec]
        from confbag.backends.platforms.known import lookup, unknown

        if spec == "cpu":
            import platform as host

            spec = f"cpu:{host.machine()}"
        if found := lookup(spec):
            return found
        if spec.lower().endswith((".yaml", ".yml")) or os.path.exists(spec):
            return cls.load(spec, devices=devices)
        raise unknown(spec, added)

    def to_dict(self) -> dict[str, Any]:
        """The platform file's keys as plain data, and `assumed`; what is unknown is left out."""
        data: dict[str, Any] = {"schema": SCHEMA, "device": self.device}
        if self.arch is not None:
            data["arch"] = self.arch
        data["features"] = sorted(self.features)
        if self.count is not None:
            data["count"] = self.count
        data["toolkit"] = dict(self.toolkit)
        if self.packages is not None:
            data["packages"] = dict(self.packages)
        if self.native_ops is not None:
            data["native_ops"] = list(self.native_ops)
        data["assumed"] = sorted(self.assumed)
        return data

    def dump_yaml(self) -> str:
        """The platform as a platform file; loading it gives an equal platform."""
        from confbag.backends.platforms.file import dump_platform

        return dump_platform(self)

    def __reduce__(self) -> tuple[Any, ...]:
        packages = None if self.packages is None else dict(self.packages)
        facts = (self.device, self.arch, self.features, self.count, dict(self.toolkit), packages, self.native_ops)
        return Platform, (*facts, self.assumed, self.name, self.notes)


def _words(words: str | Iterable[str], what: str) -> tuple[str, ...]:
    """The words; one may stand by itself."""
    if not isinstance(words, Iterable):
        raise PlatformError(f"platform: {what}: expected words, not {called(words)}; write {what}=['...']")
    found = (words,) if isinstance(words, str) else tuple(words)
    for word in found:
        if not isinstance(word, str) or not word:
            raise PlatformError(f"platform: {what}: {word!r} is no name; write a text")
    return found


def _toolkit(toolkit: Mapping[str, str]) -> dict[str, str]:
    from confbag.backends.words.versions import normalise_version

    found: dict[str, str] = {}
    for name in sorted(toolkit):
        version = normalise_version(toolkit[name]) if isinstance(toolkit[name], str) else None
        if version is None:
            raise PlatformError(f"platform: toolkit.{name}: {toolkit[name]!r} is no version; write text such as '12.9'")
        found[name] = version
    return found


def _packages(packages: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, version in packages.items():
        if not isinstance(name, str) or not isinstance(version, str):
            raise PlatformError(f"platform: packages: {name!r}: {version!r}; write texts, such as 'torch': '2.9'")
        key = canonical(name)
        if found.setdefault(key, version) != version:
            raise PlatformError(f"platform: packages: {key} has two versions, {found[key]} and {version}")
    return dict(sorted(found.items()))
