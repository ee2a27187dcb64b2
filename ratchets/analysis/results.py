"""What goes through an analysis: tasks, what one file gave, and what the whole came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confbag.ratchets.finding import Finding, Unanalysed


@dataclass(frozen=True, slots=True)
class Analysis:
    """Findings in source order, before suppressions, exceptions and baseline are asked.

    `analysed` are the paths that were judged (also those that hold no trigger); `stats` are counts and seconds by
    name; `notes` are sentences for the reader (a partial run without facts of a full one says so), and `linked` is
    false where such a run had to do without what other files say.
    """

    findings: tuple[Finding, ...]
    unanalysed: tuple[Unanalysed, ...]
    analysed: frozenset[str]
    stats: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    linked: bool = True


@dataclass(frozen=True, slots=True)
class Examined:
    """What one file gave: the reason that it gave nothing, or facts by rule (the record rules' under "records")."""

    unanalysed: Unanalysed | None
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Task:
    """One file to examine: for which rules, and which summaries of its functions others asked for."""

    path: str
    codes: tuple[str, ...]
    records: bool
    wanted: frozenset[str] = frozenset()
