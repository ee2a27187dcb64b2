"""The names that are taken: what registers adds to what is there, and never stands in for it unseen."""

from __future__ import annotations

from collections.abc import Container

from confbag.backends.declare.derived import DERIVED, PLATFORM_FACTS
from confbag.backends.platforms.known import lookup
from confbag.backends.platforms.platform import THIS

REGIMES = ("phase", "range")
"""The facts that hold the regime of a slot."""

TOOLKIT = "platform.toolkit."
COMPONENT = "component."
_BEGINNINGS = {"platform.": "platforms", COMPONENT: "components", "site.": "sites"}
_OWN_PLATFORMS = (THIS, "cpu")


def of_ours(name: str) -> str | None:
    """Whose a fact's name is, where the core or the machine gives it; None for any other."""
    if name in DERIVED:
        return "a fact that follows from settings"
    if name in PLATFORM_FACTS or name in REGIMES:
        return f"a fact of {'a slot' if name in REGIMES else 'the platform'}"
    return next((f"a fact of {whose}" for start, whose in _BEGINNINGS.items() if name.startswith(start)), None)


def of_fact(name: str, keys: Container[str], ops: Container[str]) -> str | None:
    """What has the name that a condition would be given; None where nothing has."""
    if name in keys:
        return "a key of the schema"
    if name in ("any", "none"):
        return "a word of conditions"
    op = name.partition("@")[0].partition(":")[0]
    return f"what is decided for {op}" if op in ops else of_ours(name)


def of_platform(name: str) -> str | None:
    """What `--platform` would take the name for already, in any spelling; None where for nothing."""
    written = name.strip().lower()
    if written in _OWN_PLATFORMS or lookup(name) is not None:
        return "a platform that is known here"
    return "the name of a file" if written.endswith((".yaml", ".yml")) else None
