"""Where settings come from: one module for each source, each a pure function that answers what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confbag.errors import Fault
from confbag.words.provenance import Setting


@dataclass(frozen=True)
class Found:
    """What one source said.

    settings: in the source's order, each dotted key at most once; of a record twice, where its flags override its file.
    faults: everything that is wrong with it. ignored: what a record holds that is not understood, by name, with the
    reason. preset: what a file says under `preset`, its value the name. environment: the variable names that plug-ins
    declare as their own.
    """

    settings: tuple[Setting, ...] = ()
    faults: tuple[Fault, ...] = ()
    ignored: Mapping[str, str] = field(default_factory=dict)
    preset: Setting | None = None
    environment: tuple[str, ...] = ()
