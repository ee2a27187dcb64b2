"""Which distributions are installed, read from their folders' names and metadata; nothing is imported."""

from __future__ import annotations

import ast
import configparser
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from confbag.backends.catalog import own
from confbag.backends.platforms.components import components
from confbag.backends.platforms.metadata import asked_of
from confbag.backends.platforms.pairs import paired
from confbag.backends.platforms.platform import canonical
from confbag.backends.words.versions import release, version_matches

BACKENDS_GROUP = "torch.backends"
"""The entry points that `import torch` calls by itself."""

_INFO = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*?)(?:-(?P<version>\d[^-]*?))?(?:-py[\d.]+(?:-.+)?)?\.(?:dist|egg)-info", re.I
)
_BUILD = re.compile(r"^(__version__|cuda|hip|xpu)\b[^=\n]*=\s*(.+?)\s*$", re.M)


@dataclass(frozen=True)
class Distribution:
    """One installed distribution: canonical name, version, and the folder (or old-style file) of its metadata."""

    name: str
    version: str
    info: Path


@dataclass(frozen=True)
class TorchBuild:
    """What torch/version.py says of the build, read as text. cuda None: without CUDA, whatever a shim pretends."""

    version: str
    cuda: str | None
    hip: str | None
    xpu: str | None
    where: str


@dataclass(frozen=True)
class Extension:
    """A torch backend extension that is installed: `import torch` imports its module unless autoload is off.

    libraries, nodes, stack, remedy: what its import needs beyond the wheel, where the catalogue knows.
    """

    distribution: Distribution
    module: str
    libraries: tuple[str, ...] = ()
    nodes: str | None = None
    stack: str = "its libraries"
    remedy: str = ""


def scan(search_path: Iterable[str]) -> dict[str, Distribution]:
    """Every installed distribution by canonical name; the first on the search path wins, as it does for imports."""
    found: dict[str, Distribution] = {}
    for entry in dict.fromkeys(search_path):
        for distribution in _in(entry):
            found.setdefault(distribution.name, distribution)
    return found


def hidden(search_path: Iterable[str], found: Mapping[str, Distribution]) -> list[str]:
    """A sentence for each distribution of a component, or paired with one, that is installed a second time."""
    ours = _ours()
    notes = []
    for entry in dict.fromkeys(search_path):
        for other in _in(entry):
            first = found[other.name]
            if other.name in ours and not _one(first, other):
                notes.append(
                    f"{first.name} {first.version} ({first.info}) stands before {first.name} {other.version} "
                    f"({other.info}): which of them is imported, nobody can say. Uninstall both, then install one."
                )
    return notes


def unmet(distributions: Mapping[str, Distribution]) -> list[str]:
    """A sentence for each component whose own metadata asks for another torch: its native library is built for that."""
    torch = distributions.get("torch")
    notes = []
    for one in (distributions[name] for name in _ours() if torch is not None and name in distributions):
        wanted = _wants(one, "torch")
        if torch is not None and wanted and not version_matches(wanted, torch.version):
            notes.append(
                f"{one.name} {one.version} asks for torch{wanted}, and torch {torch.version} is installed: its "
                f"libraries may not load. Install torch{wanted}, or a {one.name} for torch {torch.version}."
            )
    return notes


def torch_build(search_path: Iterable[str]) -> TorchBuild | None:
    """The torch that an import would find, or None."""
    for entry in search_path:
        where = os.path.join(entry, "torch", "version.py")
        text = _read(Path(where))
        if text is not None:
            values = {name: _literal(value) for name, value in _BUILD.findall(text)}
            return TorchBuild(
                values.get("__version__") or "", values.get("cuda"), values.get("hip"), values.get("xpu"), where
            )
    return None


def extensions(distributions: Iterable[Distribution]) -> list[Extension]:
    """The installed torch backend extensions."""
    known = _known_extensions()
    found = []
    for distribution in distributions:
        for module in _entry_points(distribution):
            row = dict(known.get(distribution.name, {}))
            row.pop("module", None)
            found.append(Extension(distribution, module, tuple(row.pop("libraries", ())), **row))
    return found


def clashes(distributions: Mapping[str, Distribution]) -> list[str]:
    """A sentence for each two distributions of one component that own the same file: the last installed wins."""
    notes = []
    for component in components().values():
        installed = [distributions[name] for name in component.distributions if name in distributions]
        if component.module is None or len(installed) < 2:
            continue
        owned = [(one, _files(one, component.module)) for one in installed]
        for index, (one, files) in enumerate(owned):
            for other, others in owned[index + 1 :]:
                if shared := sorted(files & others):
                    more = f" and {len(shared) - 1} more files" if len(shared) > 1 else ""
                    notes.append(
                        f"{one.name} {one.version} and {other.name} {other.version} both own {shared[0]}{more}: "
                        "whichever was "
                        f"installed last overwrote the other. Uninstall both, then install one."
                    )
    return notes


def version_mismatches(distributions: Mapping[str, Distribution], found: Iterable[Extension]) -> list[str]:
    """A sentence for each extension whose torch is of another minor version; its own error shows late."""
    torch = distributions.get("torch")
    notes = []
    for extension in found:
        own = extension.distribution
        if torch is None or own.name not in _known_extensions():
            continue
        theirs, ours = release(own.version)[:2], release(torch.version)[:2]
        if theirs and ours and theirs != ours:
            wanted = ".".join(map(str, theirs))
            notes.append(
                f"{extension.module} {own.version} needs torch {wanted}, and torch {torch.version} is installed. "
                "Install torch "
                f"{wanted}.* or {own.name} {'.'.join(map(str, ours))}.*."
            )
    return notes


@lru_cache(maxsize=1)
def _known_extensions() -> dict[str, Any]:
    return own("extensions.yaml")


def _in(entry: str) -> Iterator[Distribution]:
    try:
        with os.scandir(entry) as listing:
            names = sorted(item.name for item in listing if item.name.endswith(("-info",)))
    except (OSError, ValueError):
        return  # an entry of the search path that is no folder holds nothing
    for name in names:
        match = _INFO.fullmatch(name)
        if match is None:
            continue
        info = Path(entry, name)
        if name.endswith(".dist-info"):
            if match["version"] and (info / "METADATA").is_file():
                yield Distribution(canonical(match["name"]), match["version"], info)
        elif version := match["version"] or _header(info, "Version"):
            yield Distribution(canonical(match["name"]), version, info)


def _ours() -> list[str]:
    """The distributions that components and pairs name."""
    named = [name for component in components().values() for name in component.distributions]
    return list(dict.fromkeys((*named, *paired())))


def _one(first: Distribution, other: Distribution) -> bool:
    """Whether two are one: a folder that a link leads to (lib64), or a source tree beside what was installed from
    it."""
    if os.path.realpath(first.info) == os.path.realpath(other.info):
        return True
    return first.version == other.version and ".egg-info" in (first.info.suffix, other.info.suffix)


def _wants(distribution: Distribution, name: str) -> str:
    """The versions of another distribution that one asks for; empty is any."""
    info = distribution.info
    files = (info / "METADATA", info / "PKG-INFO") if info.is_dir() else (info,)
    return next((asked_of(name, text) for text in map(_read, files) if text is not None), "")


def _header(info: Path, name: str) -> str | None:
    text = _read(info / "PKG-INFO" if info.is_dir() else info) or ""
    match = re.search(rf"^{name}:\s*(\S+)", text, re.M)
    return match.group(1) if match else None


def _entry_points(distribution: Distribution) -> list[str]:
    text = _read(distribution.info / "entry_points.txt")
    if text is None or BACKENDS_GROUP not in text:
        return []
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return []  # torch finds no entry point in it either
    section = parser[BACKENDS_GROUP] if parser.has_section(BACKENDS_GROUP) else {}
    return [value.partition(":")[0].strip() for value in section.values()]


def _files(distribution: Distribution, module: str) -> frozenset[str]:
    text = _read(distribution.info / "RECORD") or ""
    paths = (line.split(",", 1)[0].strip('"') for line in text.splitlines())
    return frozenset(path for path in paths if path.startswith(f"{module}/") and "__pycache__" not in path)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None


def _literal(text: str) -> str | None:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None
