"""Which module a file is: by the `source` entries, longest path first; __init__.py is never required."""

from __future__ import annotations

from collections.abc import Iterable

from confbag.ratchets.configuration import Configuration


def module_of(path: str, configuration: Configuration) -> tuple[str, bool] | None:
    """The module's dotted name and whether it is a package; None for a file under no source."""
    prefix = configuration.prefix
    if not path.startswith(prefix):
        return None
    inside = path[len(prefix) :]
    best: tuple[int, str] | None = None
    for source in configuration.source:
        folder = "" if source.path in (".", "") else source.path.rstrip("/") + "/"
        if inside.startswith(folder) and (best is None or len(folder) > best[0]):
            parts = inside[len(folder) :].removesuffix(".pyi").removesuffix(".py").split("/")
            dotted = ".".join([*([source.module] if source.module else []), *parts])
            best = (len(folder), dotted)
    if best is None:
        return None
    name = best[1]
    if name == "__init__":
        return "", True
    if name.endswith(".__init__"):
        return name.removesuffix(".__init__"), True
    return name, False


def paths_of(files: Iterable[str], configuration: Configuration) -> dict[str, str]:
    """The files by the modules that they are."""
    found: dict[str, str] = {}
    for path in files:
        named = module_of(path, configuration)
        if named is not None:
            found.setdefault(named[0], path)
    return found


def absolute(package: str, name: str, level: int) -> str:
    """The module that `name` is from a package, `level` dots before it; without dots it is the module itself."""
    if not level:
        return name
    parts = package.split(".") if package else []
    if level > 1:
        parts = parts[: max(0, len(parts) - (level - 1))]
    return ".".join([*parts, *([name] if name else [])])
