"""Components: the names that requirements use, and the distributions that bring each one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from confbag.backends.catalog import own
from confbag.backends.platforms.platform import Platform, canonical
from confbag.backends.words.versions import version_matches


class Component(NamedTuple):
    """One component: the distributions that bring it, each with the devices on which it does (None: every device).

    module: its import package. namespaces: the torch.ops namespaces that importing it registers. unrelated: versions
    of a distribution, as a PEP 440 specifier, that are another project of the same name.
    """

    name: str
    distributions: Mapping[str, tuple[str, ...] | None]
    module: str | None = None
    namespaces: tuple[str, ...] = ()
    unrelated: Mapping[str, str] = MappingProxyType({})

    def on(self, device: str) -> tuple[str, ...]:
        """Its distributions for a device, those made for the fewest devices first."""
        fitting = [
            (len(devices or "any device"), name)
            for name, devices in self.distributions.items()
            if device in (devices or (device,))
        ]
        return tuple(name for _, name in sorted(fitting, key=lambda pair: pair[0]))


@lru_cache(maxsize=1)
def components() -> Mapping[str, Component]:
    """Every component known here, by canonical name."""
    found = {}
    for name, row in own("components.yaml").items():
        distributions = {
            key: None if devices == "any" else tuple(devices) for key, devices in row["distributions"].items()
        }
        found[name] = Component(
            name,
            MappingProxyType(distributions),
            row.get("module"),
            tuple(row.get("namespaces", ())),
            MappingProxyType(row.get("unrelated", {})),
        )
    return MappingProxyType(found)


def component(name: str) -> Component:
    """The component of that name; one that is not known here is brought by the distribution of the same name."""
    key = canonical(name)
    return components().get(key) or Component(key, MappingProxyType({key: None}))


def component_version(platform: Platform, name: str) -> tuple[str, str] | None:
    """The distribution that brings a component on this platform and its version; None where no installed one does.

    Where the platform's packages are unknown the answer is None too: ask `platform.packages is None` first.
    """
    if platform.packages is None:
        return None
    wanted = component(name)
    for distribution in wanted.on(platform.device):
        version = platform.packages.get(distribution)
        if version is not None and not _unrelated(wanted, distribution, version):
            return distribution, version
    return None


def wanted(platform: Platform, name: str) -> str:
    """The distributions that would bring a component on this platform, in words, for a hint."""
    found = component(name)
    return " or ".join(found.on(platform.device) or tuple(found.distributions))


def _unrelated(wanted: Component, distribution: str, version: str) -> bool:
    """Whether a distribution is somebody else's of the same name."""
    theirs = wanted.unrelated.get(distribution)
    return theirs is not None and version_matches(theirs, version)
