"""Whether the versions of what is installed fit each other: pairs of distributions, and toolkits beneath them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from confbag.backends.catalog import own
from confbag.backends.platforms.components import component_version, components
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.versions import public, release, version_matches


class Mismatch(NamedTuple):
    """What does not fit a distribution: the code and field of a rejection, what it must be and is, why, and what to
    do."""

    code: str
    field: str
    required: str
    actual: str
    why: str
    hint: str


def mismatch(platform: Platform, distribution: str) -> Mismatch | None:
    """The first thing that does not fit an installed distribution; None where all does, or nobody knows."""
    through = [distribution]
    for pair in _pairs():
        one, other = (_brought(platform, pair[name]) for name in ("one", "other"))
        if one is None or other is None or distribution not in (one[0], other[0]):
            continue
        if platform.device == pair.get("through"):
            through.append(one[0])
        parts = [_part(version, pair["same"]) for _, version in (one, other)]
        if parts[0] != parts[1]:
            what = "minor version" if pair["same"] == "minor" else "version"
            return Mismatch(
                "package-version",
                one[0],
                f"{one[0]} of the {what} of {other[0]}",
                f"{one[0]} {one[1]} beside {other[0]} {other[1]}",
                pair["why"],
                f"install {one[0]} {parts[1]} or {other[0]} {parts[0]}",
            )
    return next((low for name in through if (low := _too_old(platform, name)) is not None), None)


def paired() -> frozenset[str]:
    """The distributions whose versions are compared with another one's."""
    return frozenset(pair[name] for pair in _pairs() for name in ("one", "other"))


def _too_old(platform: Platform, distribution: str) -> Mismatch | None:
    """The toolkit that an installed version of a distribution is too new for."""
    version = (platform.packages or {}).get(distribution)
    for floor in _floors() if version is not None else ():
        tool, have = floor["toolkit"], platform.toolkit.get(floor["toolkit"])
        meant = floor["package"] == distribution and version_matches(floor["versions"], version or "")
        if meant and have is not None and not version_matches(floor["floor"], have):
            return Mismatch(
                "toolchain",
                tool,
                f"{tool}{floor['floor']}",
                f"{tool} {have}",
                f"{distribution} {version} was released for it",
                f"install {tool}{floor['floor']} or an older {distribution}",
            )
    return None


def _brought(platform: Platform, distribution: str) -> tuple[str, str] | None:
    """The installed distribution of a pair's name, else another one that brings the same component, and its version."""
    version = (platform.packages or {}).get(distribution)
    if version is not None:
        return distribution, version
    same = (name for name, component in components().items() if distribution in component.distributions)
    return component_version(platform, next(same, distribution))


def _part(version: str, same: str) -> str:
    return ".".join(map(str, release(version)[:2])) if same == "minor" else public(version)


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return own("pairs.yaml")


def _pairs() -> list[dict[str, str]]:
    found: list[dict[str, str]] = _data()["pairs"]
    return found


def _floors() -> list[dict[str, str]]:
    found: list[dict[str, str]] = _data()["floors"]
    return found
