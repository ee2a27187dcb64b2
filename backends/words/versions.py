"""Version texts of toolkits, drivers and packages, made comparable as PEP 440."""

from __future__ import annotations

import re
from functools import lru_cache

_TRAILER = re.compile(
    r"(?P<release>\d+(?:\.\d+)*)(?:[.-]?rc\.?(?P<candidate>\d+))?(?:[.-]?(?P<stage>alpha|beta|t|b)\.?(?P<number>\d+))?",
    re.I,
)
_LEADING = re.compile(r"v?\d+(?:\.\d+)*", re.I)
_PLAIN = re.compile(r"([0-9]+(?:\.[0-9]+)*)(?:rc([0-9]+))?")
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|<|>)\s*([0-9a-z.]+)\s*")


def normalise_version(text: str) -> str | None:
    """The version as PEP 440 writes it, or None when no version can be read from it.

    `8.3.RC1` is 8.3rc1. CANN's alphas and betas of a candidate come before it: `8.0.RC1.alpha003` is 8.0rc1.dev3. What
    a vendor appends to a release and PEP 440 has no word for is dropped: `6.4.43482-0f2d60242` is 6.4.43482.
    """
    plain = text.strip()
    match = _PLAIN.fullmatch(plain)
    if match is not None:
        numbers = ".".join(str(int(number)) for number in match[1].split("."))
        return numbers if match[2] is None else f"{numbers}rc{int(match[2])}"
    from packaging.version import InvalidVersion, Version

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
    normal = normalise_version(text)
    match = _PLAIN.fullmatch(normal or "")
    if match:
        return tuple(map(int, match[1].split(".")))
    from packaging.version import Version

    return Version(normal).release if normal else ()


def public(text: str) -> str:
    """A version without its local part (+cu130), as it is where it is none."""
    return text.partition("+")[0]


@lru_cache(maxsize=4096)
def version_matches(specifier: str, version: str) -> bool:
    """Whether a PEP 440 version satisfies a specifier; a pre-release counts as itself, a local part (+cpu) not."""
    key, clauses = _key(public(version)), _clauses(specifier)
    if key is not None and clauses is not None:
        return all(_holds(sign, key, bound) for sign, bound in clauses)
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def is_specifier(text: str) -> bool:
    """Whether a text is a PEP 440 specifier, or none at all."""
    if _clauses(text) is not None:
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


# What nearly every version and specifier is made of, numbers and candidates, is compared here: packaging is right about
# all of it and takes as long to import as everything that a plan decides.

_Key = tuple[tuple[int, ...], float]


def _key(version: str) -> _Key | None:
    """What orders plain versions: the release without trailing zeros, then the candidate, a final one last."""
    match = _PLAIN.fullmatch(version)
    if match is None:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), float("inf") if match[2] is None else int(match[2])


def _clauses(specifier: str) -> list[tuple[str, _Key]] | None:
    """The clauses of a specifier of plain versions; None where it is another."""
    found = []
    for text in specifier.split(",") if specifier.strip() else ():
        match = _CLAUSE.fullmatch(text)
        bound = None if match is None else _key(match[2])
        if match is None or bound is None:
            return None
        found.append((match[1], bound))
    return found


def _holds(sign: str, version: _Key, bound: _Key) -> bool:
    if sign == "<":
        # A candidate of a version is not below it, unless a candidate is what the bound names.
        same = version[0] == bound[0] and bound[1] == float("inf")
        return version < bound and not same
    ordered = {">=": version >= bound, "<=": version <= bound, ">": version > bound}
    return ordered.get(sign, (version == bound) is (sign == "=="))
