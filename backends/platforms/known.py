"""Known platforms: machines that can be planned for by name, without having one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from confbag.backends.catalog import own
from confbag.backends.platforms import arch as arches
from confbag.backends.platforms.platform import Platform
from confbag.errors import PlatformError
from confbag.words.suggest import nearest


@lru_cache(maxsize=1)
def _devices() -> dict[str, Any]:
    return own("platforms.yaml")


def names() -> tuple[str, ...]:
    """Every known platform as `device:arch`."""
    return tuple(f"{device}:{arch}" for device, row in _devices().items() for arch in row["archs"])


def lookup(name: str) -> Platform | None:
    """The known platform of that name in any spelling (`cuda:sm_90`), or None."""
    device, _, arch = name.strip().lower().partition(":")
    row = _devices().get(device)
    if row is None or not arch:
        return None
    if arch not in row["archs"]:
        arch = arches.normalise(arch, device)
        if arch not in row["archs"]:
            return None
    toolkit = row.get("toolkit", {})
    packages = row["packages"]
    native_ops = row.get("native_ops", {}).get(arch)
    return Platform(
        device,
        row.get("aliases", {}).get(arch, arch),
        features=frozenset(row.get("features", {}).get(arch, ())),
        toolkit=toolkit,
        packages=packages,
        native_ops=None if native_ops is None else tuple(native_ops),
        assumed=frozenset(
            [
                "packages",
                *(f"toolkit.{tool}" for tool in toolkit),
                *(f"packages.{name}" for name in packages),
                *([] if native_ops is None else ["native_ops"]),
            ]
        ),
        name=f"{device}:{arch}",
    )


def known(name: str) -> Platform:
    """The known platform of that name. Raises PlatformError, with the nearest name, for one that is not known."""
    found = lookup(name)
    if found is None:
        raise unknown(name)
    return found


def unknown(name: str, added: Iterable[str] = ()) -> PlatformError:
    """The error for a name that is no platform: what was meant, or what there is."""
    choices = (*names(), *added)
    device = name.partition(":")[0].lower()
    same = [choice for choice in choices if choice.startswith(f"{device}:")]
    tails = [choice for choice in choices if choice.partition(":")[2] == arches.normalise(name)]
    meant = tails[0] if len(tails) == 1 else nearest(name, same or (*choices, "this", "cpu"))
    listed = ", ".join(same or choices)
    write = f"did you mean {meant}? Write" if meant else "write"
    return PlatformError(f"platform {name!r}: unknown; {write} this, cpu, a platform file (.yaml), or one of {listed}")
