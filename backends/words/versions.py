"""Version texts of toolkits, drivers and packages, made comparable as PEP 440."""

from __future__ import annotations

import re
from functools import lru_cache

_TRAILER = re.compile(
    r"(?P<release>\d+(?:\.\d+)*)(?:[.-]?rc\.?(?P<candidate>\d+))?(?:[.-]?(?P<stage>alpha|beta|t|b)\.?(?P<number>\d+))?",
    re.I,
)
_LEADING = re.compile(r"v?\d+(?:\.\d+)*", re.I)


def normalise_version(text: str) -> str | None:
    """The version as PEP 440 writes it, or None when no version can be read from it.

    `8.3.RC1` is 8.3rc1. CANN's alphas and betas of a candidate come before it: `8.0.RC1.alpha003` is 8.0rc1.dev3. What
    a vendor appends to a release and PEP 440 has no word for is dropped: `6.4.43482-0f2d60242` is 6.4.43482.
    """
    from packaging.version import InvalidVersion, Version

    plain = text.strip()
    try:
        return str(Version(plain))
    except InvalidVersion:
        pass  # A vendor's own form: read below.
    match = _TRAILER.match(plain)
    if match and match["candidate"]:
        dev = f".dev{int(match['number'])}" if match["stage"] else ""
        return str(Version(f"{match['release']}rc{match['candidate']}{dev}"))
    match = _LEADING.match(plain)
    return str(Version(match.group())) if match else None


def release(text: str) -> tuple[int, ...]:
    """The numbers of a version's release; empty when it is no version."""
    from packaging.version import Version

    normal = normalise_version(text)
    return Version(normal).release if normal else ()


def public(text: str) -> str:
    """A version without its local part (+cu130), as it is where it is none."""
    return text.partition("+")[0]


@lru_cache(maxsize=4096)
def version_matches(specifier: str, version: str) -> bool:
    """Whether a PEP 440 version satisfies a specifier; a pre-release counts as itself, a local part (+cpu) not."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False
