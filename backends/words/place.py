"""A slot by its parts, as `ops[op, site, regime]` and `plan[op, site, regime]` take them."""

from __future__ import annotations

from typing import Any

from confbag.words.given import wrong_type

Parts = tuple[str, str | None, str | None]
"""An op, a site and a regime."""


def parts(given: Any, what: str) -> Parts:
    """An op, its site and its regime, of which the last are left out where the op has none; TypeError of `what`."""
    every = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(every) <= 3 or not isinstance(every[0], str):
        odd = every[0] if len(every) == 1 else given
        raise wrong_type(f"{what}[...]", "an op, a site and a regime", odd, _forms(what))
    op, site, regime = (*every, None, None)[:3]
    if isinstance(site, bool) or not isinstance(site, (str, int, type(None))):
        raise wrong_type(f"{what}[{op!r}, ...]", "as site a name or a number", site, _forms(what))
    if not isinstance(regime, (str, type(None))):
        raise wrong_type(f"{what}[{op!r}, ...]", "as regime a name", regime, _forms(what))
    return op, None if site is None else str(site), regime


def _forms(what: str) -> str:
    return f"{what}['attention', None, 'decode']: OP, SITE, REGIME, None for what the op lacks"
