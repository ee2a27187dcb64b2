"""For people: what is new first and apart, then what is stale, each with its place and what to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import Verdict
from confbag.ratchets.report.words import (
    clean,
    count,
    file_of,
    line_of,
    name_of,
    of_finding,
    of_moved,
    of_stale,
    summary,
)


def render(verdict: Verdict, baselines: Mapping[str, Baseline], only: str = "") -> str:
    """The whole report; `only` is `new` or `stale`, for one section of it."""
    parts = []
    if only != "stale":
        parts += _new(verdict)
    if only != "new":
        parts += _behind(verdict, baselines)
    if not only:
        parts += _rest(verdict)
    parts.append(_total(verdict))
    return "\n".join(parts) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return [title, *(f"  {line}" for line in body), ""] if body else []


def _new(verdict: Verdict) -> list[str]:
    lines = []
    for judged in verdict.new:
        finding = judged.finding
        place = clean(f"{finding.path}:{finding.line}:{finding.column}")
        fixable = " [`confbag ratchet fix` does it]" if finding.fixable else ""
        lines.append(f"{place}: {finding.code} {clean(of_finding(judged, verdict))}{fixable}")
        lines.append(clean(f"    {name_of(finding.code)}: {finding.symbol} in {finding.qualname}"))
    refused = [clean(str(fault)) for fault in verdict.refused]
    return [
        *_section(f"NEW: {count(len(verdict.new), 'finding')} that no baseline holds", lines),
        *_section("REFUSED: what this change may not raise", refused),
    ]


def _behind(verdict: Verdict, baselines: Mapping[str, Baseline]) -> list[str]:
    stale = []
    for each in verdict.stale:
        code, *_ = each.key
        line = baselines[code].lines.get(each.key[1:]) if code in baselines else None
        stale.append(f"{file_of(code, baselines)}:{line or 1}: {of_stale(each)}")
        stale.append(f"    {line_of(each)}")
    moved = [
        clean(f"{each.new[1]}:{each.line}:{each.column}: {each.new[0]} {of_moved(each)}") for each in verdict.moved
    ]
    return [
        *_section(f"MOVED: {count(len(moved), 'entry', 'entries')} whose code stands elsewhere now", moved),
        *_section(f"STALE: {count(len(verdict.stale), 'baseline entry', 'baseline entries')}", stale),
        *_section("EXCEPTIONS", (clean(str(fault)) for fault in verdict.exceptions)),
        *_section("UNTIDY", (clean(str(fault)) for fault in verdict.untidy)),
    ]


def _rest(verdict: Verdict) -> list[str]:
    failed = []
    for each in verdict.unanalysed:
        place = clean(f"{each.path}:{each.line}" if each.line else each.path)
        failed.append(f"{place}: {clean(each.reason)}")
    raised = [
        clean(f"{entry.where}: raised by {entry.owner} until {entry.until}: {entry} ({entry.reason})")
        for entry in verdict.raised
    ]
    return [
        *_section("NOT ANALYSED: nothing is known of these", failed),
        *_section("RAISED: exceptions that this change brings", raised),
        *_section("WARNINGS", (clean(str(fault)) for fault in verdict.warnings)),
        *_section("NOTES", (clean(note) for note in verdict.notes)),
    ]


def _total(verdict: Verdict) -> str:
    return ", ".join(f"{number} {name}" for name, number in summary(verdict).items() if number or name == "new")
