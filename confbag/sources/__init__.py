"""Where settings come from: one module for each source, each a pure function that answers what it found."""

from __future__ import annotations

from dataclasses import dataclass

from confbag.errors import Fault
from confbag.provenance import Setting


@dataclass(frozen=True)
class Found:
    """What one source said.

    settings: in the source's order, each dotted key at most once. faults: everything that is wrong with it.
    ignored: what a record holds that no key answers to. preset: what a file says under `preset`, its value the name.
    environment: the variable names that plug-ins declare as their own.
    """

    settings: tuple[Setting, ...] = ()
    faults: tuple[Fault, ...] = ()
    ignored: tuple[str, ...] = ()
    preset: Setting | None = None
    environment: tuple[str, ...] = ()
