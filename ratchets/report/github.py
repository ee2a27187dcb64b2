"""For GitHub: workflow commands that annotate the lines of a change."""

from __future__ import annotations

import re
from collections.abc import Mapping

from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import Verdict
from confbag.ratchets.faults import Fault
from confbag.ratchets.report.words import file_of, line_of, name_of, of_finding, of_moved, of_stale

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(?::(?P<column>[0-9]+))?\Z", re.DOTALL)


def render(verdict: Verdict, baselines: Mapping[str, Baseline], only: str = "") -> str:
    """One line each; an error for what fails the run, a warning or a notice for the rest."""
    lines = []
    if only != "stale":
        for judged in verdict.new:
            finding = judged.finding
            title = f"{finding.code} {name_of(finding.code)}"
            message = of_finding(judged, verdict)
            lines.append(
                _command("error", message, file=finding.path, line=finding.line, col=finding.column, title=title)
            )
        lines += [_fault("error", fault, "refused") for fault in verdict.refused]
    if only != "new":
        for moved in verdict.moved:
            title = f"{moved.new[0]} moved"
            lines.append(
                _command("error", of_moved(moved), file=moved.new[1], line=moved.line, col=moved.column, title=title)
            )
        for stale in verdict.stale:
            code = stale.key[0]
            line = baselines[code].lines.get(stale.key[1:], 1) if code in baselines else 1
            message = f"{of_stale(stale)}: {line_of(stale)}"
            lines.append(_command("error", message, file=file_of(code, baselines), line=line, title=f"{code} stale"))
        lines += [_fault("error", fault, "exception") for fault in verdict.exceptions]
        lines += [_fault("error", fault, "untidy") for fault in verdict.untidy]
    for each in verdict.unanalysed:
        lines.append(_command("error", each.reason, file=each.path, line=each.line or 1, title="not analysed"))
    lines += [_fault("warning", fault, "baseline") for fault in verdict.warnings]
    lines += [_command("notice", f"raised: {entry} ({entry.reason})", title="raised") for entry in verdict.raised]
    lines += [_command("notice", note) for note in verdict.notes]
    return "".join(line + "\n" for line in lines)


def _fault(kind: str, fault: Fault, title: str) -> str:
    """At the line that it is about."""
    place = _PLACE.match(fault.where)
    if place is None:
        return _command(kind, str(fault), title=title)
    column: dict[str, str | int] = {"col": place["column"]} if place["column"] else {}
    return _command(kind, fault.message, file=place["file"], line=place["line"], **column, title=title)


def _command(kind: str, message: str, **properties: str | int) -> str:
    written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{kind}{' ' + written if written else ''}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
