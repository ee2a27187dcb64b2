"""Whether the versions of what is installed fit each other: pairs of distributions, and toolkits beneath them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from confbag.backends.catalog import own
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
    packages = platform.packages or {}
    for pair in _pairs():
        names = (pair["one"], pair["other"])
        if distribution not in names or any(name not in packages for name in names):
            continue
        one, other = (packages[name] for name in names)
        parts = [_part(version, pair["same"]) for version in (one, other)]
        if parts[0] != parts[1]:
            what = "minor version" if pair["same"] == "minor" else "version"
            return Mismatch(
                "package-version",
                names[0],
                f"{names[0]} of the {what} of {names[1]}",
                f"{names[0]} {one} beside {names[1]} {other}",
                pair["why"],
                f"install {names[0]} {parts[1]} or {names[1]} {parts[0]}",
            )
    version = packages.get(distribution)
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
