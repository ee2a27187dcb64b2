"""Where a value came from: one Setting for each source that set it, the last one winning."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

AUTO = "auto"
"""A value, not a hole: `the plan decides`, and the provenance says which rule did."""


class Layer(enum.IntEnum):
    """The sources by precedence, lowest first. Within one layer order never matters, save that a later file wins."""

    DEFAULT = 0
    PRESET = 1
    PLUGIN = 2
    CHECKPOINT = 3
    RECORD = 4
    FILE = 5
    ENVIRONMENT = 6
    ARGV = 7
    OVERRIDE = 8
    RULE = 9


@dataclass(frozen=True, slots=True)
class Setting:
    """One source's value for one key.

    key: dotted. value: as the source gave it, before the schema saw it. text: the source's own spelling, for errors.
    origin: `default`, `preset NAME`, `plugin NAME`, `checkpoint PATH`, `record NAME FLAG`, `FILE:LINE:COLUMN`, `env
    NAME`, `--set`, `override NAME`, `rule NAME`. why: a rule's reason in a sentence; None elsewhere.
    """

    key: str
    value: Any
    layer: Layer
    origin: str
    text: str | None = None
    why: str | None = None

    @property
    def source(self) -> str:
        """The origin without its place: the file of `FILE:LINE:COLUMN`, the record of a flag."""
        if self.layer is Layer.FILE:
            name, *place = self.origin.rsplit(":", 2)
            return name if len(place) == 2 and all(part.isdigit() for part in place) else self.origin
        if self.layer is Layer.RECORD:
            return " ".join(self.origin.split(" ", 2)[:2])
        return "environment" if self.layer is Layer.ENVIRONMENT else self.origin
