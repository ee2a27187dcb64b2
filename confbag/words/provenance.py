"""Where a value came from: one Setting for each source that set it, the last one winning."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

AUTO = "auto"
"""A value, not a hole: `the plan decides`, and the provenance says which rule did."""


class Layer(enum.IntEnum):
    """The kinds of sources by precedence, lowest first. Several files are several sources of one kind, a later one
    higher."""

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


class Filled(NamedTuple):
    """What a plan makes of a setting: the value, the rule's name, and why in a sentence's end."""

    value: Any
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One source's value for one key.

    key: dotted. value: as the source gave it, before the schema saw it. text: the source's own spelling, for errors.
    origin: `default`, `preset NAME`, `plugin NAME`, `checkpoint PATH`, `record NAME FLAG`, `FILE:LINE:COLUMN`, `env
    NAME`, `--set`, `override NAME`, `rule NAME`. why: a rule's reason in a sentence, or the key that covers this one
    there; None elsewhere. order: among sources of one layer, a higher one wins. rule: its name, in the layer of rules.
    """

    key: str
    value: Any
    layer: Layer
    origin: str
    text: str | None = None
    why: str | None = None
    order: int = 0
    rule: str | None = None

    @classmethod
    def filled(cls, key: str, filled: Filled) -> Setting:
        """The setting that a plan's decision makes."""
        return cls(key, filled.value, Layer.RULE, f"rule {filled.rule}", why=filled.why, rule=filled.rule)

    @property
    def rank(self) -> tuple[Layer, int]:
        """Its place among all sources: of two, the higher one wins."""
        return self.layer, self.order

    @property
    def plugin(self) -> str | None:
        """The plug-in whose default it is; None for what anybody else said."""
        return self.origin.removeprefix("plugin ") if self.layer is Layer.PLUGIN else None

    @property
    def source(self) -> str:
        """The origin without its place: the file of `FILE:LINE:COLUMN`, the record of a flag."""
        if self.layer is Layer.FILE:
            name, *place = self.origin.rsplit(":", 2)
            return name if len(place) == 2 and all(part.isdigit() for part in place) else self.origin
        if self.layer is Layer.RECORD:
            return " ".join(self.origin.split(" ", 2)[:2])
        return "environment" if self.layer is Layer.ENVIRONMENT else self.origin
