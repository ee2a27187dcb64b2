"""For test reports: JUnit XML, one suite for each rule."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import Verdict
from confbag.ratchets.report.words import in_xml, line_of, name_of, of_finding, of_moved, of_stale

Case = tuple[str, str, str, str]
"""its name, failure or error, a message, a text"""


def render(verdict: Verdict, baselines: Mapping[str, Baseline], only: str = "") -> str:
    """A failure for each new finding and stale entry, an error for each file not analysed, and a pass for the rest."""
    suites: dict[str, list[Case]] = {f"{code} {name_of(code)}": [] for code in sorted(baselines)}

    def add(code: str, case: Case) -> None:
        suites.setdefault(f"{code} {name_of(code)}" if name_of(code) != code else code, []).append(case)

    if only != "stale":
        for judged in verdict.new:
            finding = judged.finding
            place = f"{finding.path}:{finding.line}:{finding.column}"
            message = of_finding(judged, verdict)
            add(finding.code, (f"{finding.path}::{finding.qualname}", "failure", message, f"{place}: {message}"))
        for fault in verdict.refused:
            add("against", (fault.where, "failure", fault.message, str(fault)))
    if only != "new":
        for moved in verdict.moved:
            message = of_moved(moved)
            add(moved.new[0], (f"{moved.new[1]}::{moved.new[2]}", "failure", message, message))
        for stale in verdict.stale:
            add(stale.key[0], (f"{stale.key[1]}::{stale.key[2]}", "failure", of_stale(stale), line_of(stale)))
        for fault in (*verdict.exceptions, *verdict.untidy):
            add("files", (fault.where, "failure", fault.message, str(fault)))
    for each in verdict.unanalysed:
        add("analysis", (each.path, "error", each.reason, f"{each.path}:{each.line}: {each.reason}"))
    return _document(suites)


def _document(suites: Mapping[str, list[Case]]) -> str:
    cases = [case for suite in suites.values() for case in suite]
    failures = sum(kind == "failure" for _, kind, _, _ in cases)
    tests = sum(len(suite) or 1 for suite in suites.values())
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="confbag ratchet" tests="{tests}" failures="{failures}" errors="{len(cases) - failures}">',
    ]
    for name, suite in suites.items():
        failed = sum(kind == "failure" for _, kind, _, _ in suite)
        counts = f'tests="{len(suite) or 1}" failures="{failed}" errors="{len(suite) - failed}"'
        lines.append(f"  <testsuite name={_attribute(name)} {counts}>")
        if not suite:
            lines.append(f'    <testcase classname="ratchet" name={_attribute(name)}/>')
        for case, kind, message, text in suite:
            lines.append(f"    <testcase classname={_attribute(name)} name={_attribute(case)}>")
            lines.append(f"      <{kind} message={_attribute(message)}>{escape(in_xml(text))}</{kind}>")
            lines.append("    </testcase>")
        lines.append("  </testsuite>")
    # Characters beyond ASCII as references: stdout may have another encoding than the first line says.
    return "\n".join([*lines, "</testsuites>", ""]).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _attribute(text: str) -> str:
    return quoteattr(in_xml(text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
