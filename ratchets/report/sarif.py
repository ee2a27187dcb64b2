"""For code scanning: SARIF 2.1.0, columns in code points."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote

from confbag.ratchets.allowed.baseline import Baseline, canonical, shown
from confbag.ratchets.allowed.judge import Judged, Verdict
from confbag.ratchets.codes import RULES, SUPPRESSION
from confbag.ratchets.report.words import line_of, name_of, of_finding, of_moved, of_stale

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(verdict: Verdict, baselines: Mapping[str, Baseline], only: str = "") -> str:
    """One run. What the baseline, an exception or a comment allows is there, and suppressed."""
    del baselines
    findings = [judged for judged in verdict.findings if only != "new" or judged.state == only]
    codes = sorted({judged.finding.code for judged in findings} | {each.key[0] for each in verdict.stale})
    run = {
        "tool": {"driver": {"name": "confbag-ratchet", "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "the top of the repository"}}},
        "results": [_result(judged, verdict, codes) for judged in findings],
        "invocations": [
            {
                "executionSuccessful": not verdict.unanalysed,
                "exitCode": verdict.status,
                "toolExecutionNotifications": _notifications(verdict),
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "name": name_of(code)}
    named = {**RULES, SUPPRESSION: "suppression"}.get(code)
    if named is not None:
        module: Any = import_module(f"confbag.ratchets.rules.{named}")
        rule["shortDescription"] = {"text": " ".join(module.MEANS.split())}
        rule["fullDescription"] = {"text": " ".join(module.WHY.split())}
        rule["help"] = {"text": " ".join(module.INSTEAD.split())}
    return rule


def _result(judged: Judged, verdict: Verdict, codes: list[str]) -> dict[str, Any]:
    finding = judged.finding
    region = {"startLine": finding.line, "startColumn": finding.column}
    if finding.end_line:
        region |= {"endLine": finding.end_line, "endColumn": finding.end_column}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": "error" if judged.state == "new" else "note",
        "message": {"text": of_finding(judged, verdict)},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": _artifact(finding.path), "region": region},
                "logicalLocations": [{"fullyQualifiedName": finding.qualname}],
            }
        ],
        "baselineState": "new" if judged.state == "new" else "unchanged",
        # One key may stand for several findings; what counts them is the baseline.
        "partialFingerprints": {
            "ratchetKey/v1": hashlib.sha256(shown(finding.key[1:]).encode() + finding.code.encode()).hexdigest()
        },
    }
    if judged.state != "new":
        kind = "inSource" if judged.state == "suppressed" else "external"
        result["suppressions"] = [{"kind": kind, "justification": judged.state}]
    return result


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(canonical(path).encode("utf-8", "surrogateescape")), "uriBaseId": "SRCROOT"}


def _notifications(verdict: Verdict) -> list[dict[str, Any]]:
    found = []
    for each in verdict.unanalysed:
        place: dict[str, Any] = {"artifactLocation": _artifact(each.path)}
        if each.line:
            place["region"] = {"startLine": each.line}
        found.append({**_note("error", each.reason), "locations": [{"physicalLocation": place}]})
    found += [_note("error", f"stale: {line_of(stale)}: {of_stale(stale)}") for stale in verdict.stale]
    found += [_note("error", f"{moved.new[1]}: {of_moved(moved)}") for moved in verdict.moved]
    found += [_note("error", str(fault)) for fault in (*verdict.refused, *verdict.exceptions, *verdict.untidy)]
    found += [_note("warning", str(fault)) for fault in verdict.warnings]
    found += [_note("note", f"raised: {entry}") for entry in verdict.raised]
    return found + [_note("note", note) for note in verdict.notes]


def _note(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}
