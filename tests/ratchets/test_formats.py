"""The five reports of one verdict: what each says, and that none breaks on odd names."""

from __future__ import annotations

import json
import unicodedata
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.exceptions import Allowance
from confbag.ratchets.allowed.judge import Judged, Moved, Stale, Verdict
from confbag.ratchets.codes import RULES, SUPPRESSION
from confbag.ratchets.faults import Fault
from confbag.ratchets.finding import Finding, Unanalysed
from confbag.ratchets.report import FORMATS, renderer

BASELINES = {"CB101": Baseline({("a.py", "g", "record.y"): 2}, lines={("a.py", "g", "record.y"): 7})}


def verdict(
    path: str = "engine/a b#é.py", symbol: str = "record.x", message: str = "a read, 100% : of it\nsee"
) -> Verdict:
    def judged(state: str, line: int) -> Judged:
        finding = Finding(
            path=path, line=line, column=5, code="CB101", symbol=symbol, qualname="A.f", message=message,
            fixable=line == 1, end_line=line, end_column=9,
        )  # fmt: skip
        return Judged(finding, state, (3, 2) if line == 1 else None)

    return Verdict(
        findings=tuple(
            judged(state, line) for line, state in enumerate(("new", "baselined", "excepted", "suppressed"), 1)
        ),
        stale=(Stale(("CB101", "a.py", "g", "record.y"), 2, 1),),
        moved=(Moved(("CB101", "a.py", "h", "record.z"), ("CB101", path, "B.h", "record.z"), 1, 12, 3),),
        unanalysed=(Unanalysed("c.py", "syntax error: invalid", 4),),
        exceptions=(Fault("exceptions.toml:1", "expired"),),
        untidy=(Fault("CB101.tsv:2", "not sorted"),),
        warnings=(Fault("CB101.tsv:3", "there twice"),),
        refused=(Fault("x.py:1:1", "not at main"),),
        raised=(Allowance("CB101", "b.py", "r", "f", owner="@team"),),
        notes=("a note",),
    )


def test_the_json_report_has_the_documented_shape() -> None:
    report = json.loads(renderer("json")(verdict(), BASELINES))
    assert list(report) == ["version", "findings", "stale", "moved", "unanalysed", "summary"]
    assert report["version"] == 1
    for finding in report["findings"]:
        assert list(finding) == [
            "code", "path", "line", "column", "qualname", "symbol", "message", "fixable", "state",
        ]  # fmt: skip
    assert [each["state"] for each in report["findings"]] == ["new", "baselined", "excepted", "suppressed"]
    assert "(3 here, 2 allowed)" in report["findings"][0]["message"]
    assert report["stale"] == [
        {
            "code": "CB101", "path": "a.py", "qualname": "g", "symbol": "record.y", "allowed": 2, "here": 1,
            "entry": "a.py\tg\trecord.y\tx2",
        }
    ]  # fmt: skip
    assert report["moved"][0]["to"] == {"path": "engine/a b#é.py", "qualname": "B.h", "line": 12, "column": 3}
    assert report["unanalysed"] == [{"path": "c.py", "line": 4, "reason": "syntax error: invalid"}]
    assert report["summary"]["status"] == 7
    assert {key: report["summary"][key] for key in ("new", "baselined", "stale", "moved", "unanalysed")} == {
        "new": 1, "baselined": 1, "stale": 1, "moved": 1, "unanalysed": 1,
    }  # fmt: skip


def test_text_has_a_section_for_each_kind_with_the_new_first() -> None:
    text = renderer("text")(verdict(), BASELINES)
    titles = [line.split(":")[0] for line in text.splitlines() if line and line[0].isupper()]
    assert titles == [
        "NEW", "REFUSED", "MOVED", "STALE", "EXCEPTIONS", "UNTIDY", "NOT ANALYSED", "RAISED", "WARNINGS", "NOTES",
    ]  # fmt: skip
    assert "engine/a b#é.py:1:5: CB101 a read, 100% : of it\\nsee (3 here, 2 allowed)" in text
    assert "[`confbag ratchet fix` does it]" in text
    assert ".ratchets/CB101.tsv:7: 2 in the baseline, 1 here" in text
    assert "\n      a.py\tg\trecord.y\tx2\n" in text
    assert text.endswith("1 new, 1 baselined, 1 excepted, 1 suppressed, 1 stale, 1 moved, 1 unanalysed\n")
    assert "STALE" not in renderer("text")(verdict(), BASELINES, "new")
    assert "NEW" not in renderer("text")(verdict(), BASELINES, "stale")


def test_github_annotates_lines_and_escapes() -> None:
    lines = renderer("github")(verdict("a,b:c%.py"), BASELINES).splitlines()
    assert lines[0] == (
        "::error file=a%2Cb%3Ac%25.py,line=1,col=5,title=CB101 record-read::"
        "a read, 100%25 : of it%0Asee (3 here, 2 allowed)"
    )
    assert "::error file=.ratchets/CB101.tsv,line=7,title=CB101 stale::" in "\n".join(lines)
    assert all(line.startswith(("::error", "::warning", "::notice")) for line in lines)
    assert "::error file=c.py,line=4,title=not analysed::syntax error: invalid" in lines
    assert "::error file=x.py,line=1,col=1,title=refused::not at main" in lines
    assert "::error file=exceptions.toml,line=1,title=exception::expired" in lines


# The parts of SARIF 2.1.0 that we write, each as the standard has it.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name"]}}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": {"type": "object"},
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "results": {
                        "items": {
                            "required": ["message", "ruleId"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "message": {"required": ["text"]},
                                "suppressions": {"items": {"properties": {"kind": {"enum": ["inSource", "external"]}}}},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                            },
                        }
                    },
                },
            },
        },
    },
}


def test_sarif_says_code_points_and_what_is_suppressed() -> None:
    document = json.loads(renderer("sarif")(verdict(), BASELINES))
    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    first, *others = run["results"]
    assert (first["level"], first["baselineState"], "suppressions" in first) == ("error", "new", False)
    assert [each["suppressions"][0]["kind"] for each in others] == ["external", "external", "inSource"]
    place = first["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == "engine/a b#é.py"
    assert " " not in place["artifactLocation"]["uri"]
    assert place["region"] == {"startLine": 1, "startColumn": 5, "endLine": 1, "endColumn": 9}
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "CB101"
    assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_describes_each_rule_that_is_named() -> None:
    findings = [Judged(Finding("a.py", 1, 1, code, "x", "f", "m"), "new") for code in ("ACME1", SUPPRESSION, *RULES)]
    rules = json.loads(renderer("sarif")(Verdict(findings=tuple(findings)), {}))["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules if rule.get("help", {}).get("text")} == {SUPPRESSION, *RULES}


def test_junit_counts_failures_and_errors() -> None:
    suites = ElementTree.fromstring(renderer("junit")(verdict(), {**BASELINES, "CB111": Baseline()}))
    assert (suites.get("failures"), suites.get("errors")) == ("6", "1")
    by_name = {suite.get("name"): suite for suite in suites}
    assert [child.tag for child in by_name["CB111 record-write"]] == ["testcase"]
    assert len(list(by_name["CB101 record-read"].iter("failure"))) == 3
    assert sum(int(suite.get("tests") or 0) for suite in suites) == int(suites.get("tests") or 0)


def test_nothing_is_a_pass_in_every_format() -> None:
    assert renderer("text")(Verdict(), {}) == "0 new\n"
    assert renderer("github")(Verdict(), {}) == ""
    assert ElementTree.fromstring(renderer("junit")(Verdict(), BASELINES)).get("failures") == "0"
    assert json.loads(renderer("sarif")(Verdict(), {}))["runs"][0]["results"] == []


ODD = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x00\x1b\n\r\t\udcff\ud800%:,<&\"']]>")), min_size=1)


@pytest.mark.parametrize("name", FORMATS)
@given(path=ODD, symbol=ODD, message=ODD)
def test_no_name_breaks_a_format(name: str, path: str, symbol: str, message: str) -> None:
    text = renderer(name)(verdict(path, symbol, message), BASELINES)
    if name in ("json", "sarif"):
        json.loads(text)
    elif name == "junit":
        ElementTree.fromstring(text.encode("utf-8"))
    elif name == "github":
        assert len(text.split("\n")) == len(renderer(name)(verdict(), BASELINES).split("\n"))
    else:
        assert all(letter in "\t\n" or unicodedata.category(letter) not in ("Cc", "Cs") for letter in text)
