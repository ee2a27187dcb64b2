"""Rules of other distributions: whether each that the configuration lists is installed, and which codes they bring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confbag.ratchets.config.toml_table import Table, closest

GROUP = "confbag.ratchets"


def installed() -> dict[str, Any]:
    """The members of the entry-point group by name. Looking takes tens of milliseconds."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def offered(table: Table, listed: dict[int, str], known: Iterable[str]) -> dict[str, str]:
    """Code -> plugin of the listed ones; whatever is wrong with one of them is a fault at its name."""
    if not listed:
        return {}
    points = installed()
    codes = dict.fromkeys(known, "confbag")
    found: dict[str, str] = {}
    for number, name in listed.items():
        if name not in points:
            what = closest(name, points) if points else "none is installed"
            table.fault(f"no package offers the ratchet plugin {name!r}; {what}", "plugins", number)
            continue
        try:
            module = points[name].load()
        except Exception as error:
            said = f"{type(error).__name__}: {error}; repair it, or take it out of `plugins`"
            table.fault(f"the plugin {name!r} cannot be imported: {said}", "plugins", number)
            continue
        code = getattr(module, "CODE", None)
        if not isinstance(code, str) or not code:
            table.fault(f"the plugin {name!r} is no rule: it has no CODE", "plugins", number)
        elif code in codes:
            table.fault(f"the plugin {name!r} brings {code}, which {codes[code]} brings already", "plugins", number)
        else:
            codes[code] = found[code] = name
    return found
