"""For programs: version 1 of the JSON report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import Judged, Key, Moved, Stale, Verdict
from confbag.ratchets.report.words import line_of, of_finding, summary


def render(verdict: Verdict, baselines: Mapping[str, Baseline], only: str = "") -> str:
    """One object; what is not about a finding or an entry stands in its summary."""
    del baselines
    document = {
        "version": 1,
        "findings": [_finding(judged, verdict) for judged in verdict.findings if only != "new" or judged.state == only],
        "stale": [_stale(each) for each in verdict.stale],
        "moved": [_moved(each) for each in verdict.moved],
        "unanalysed": [
            {"path": each.path, "line": each.line or None, "reason": each.reason} for each in verdict.unanalysed
        ],
        "summary": {
            **summary(verdict),
            "status": verdict.status,
            **{
                name: [str(fault) for fault in getattr(verdict, name)]
                for name in ("exceptions", "untidy", "warnings", "refused")
            },
            "raised": [f"{entry.where}: {entry}" for entry in verdict.raised],
            "notes": list(verdict.notes),
        },
    }
    # Bytes of no encoding become lone surrogates, which only escapes can carry.
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _finding(judged: Judged, verdict: Verdict) -> dict[str, Any]:
    finding = judged.finding
    return {
        "code": finding.code,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "qualname": finding.qualname,
        "symbol": finding.symbol,
        "message": of_finding(judged, verdict),
        "fixable": finding.fixable,
        "state": judged.state,
    }


def _key(key: Key) -> dict[str, str]:
    return dict(zip(("code", "path", "qualname", "symbol"), key, strict=True))


def _stale(stale: Stale) -> dict[str, Any]:
    return {**_key(stale.key), "allowed": stale.allowed, "here": stale.here, "entry": line_of(stale)}


def _moved(moved: Moved) -> dict[str, Any]:
    old, new = _key(moved.old), _key(moved.new)
    return {
        "code": old["code"],
        "symbol": old["symbol"],
        "count": moved.number,
        "from": {"path": old["path"], "qualname": old["qualname"]},
        "to": {"path": new["path"], "qualname": new["qualname"], "line": moved.line, "column": moved.column},
    }
