"""Every rule against its own cases, with triage on and off."""

from __future__ import annotations

from importlib import import_module

import pytest

from confbag.ratchets.codes import RECORD_RULES, RULES

ALL = [
    pytest.param(code, case, id=f"{code}-{case.name}")
    for code, name in RULES.items()
    for case in import_module(f"confbag.ratchets.rules.{name}").CASES
]


@pytest.mark.parametrize(("code", "case"), ALL)
def test_case(judge_files, code, case):
    codes = RECORD_RULES if code in RECORD_RULES else (code,)
    files = {case.path: case.complete(), **case.files}
    for triage in (True, False):
        judged = judge_files(files, codes=codes, options=dict(case.options), triage=triage)
        assert judged.symbols(case.path) == list(case.finds)
        elsewhere = [f"{found.code} {found.symbol}" for found in judged.analysis.findings if found.path != case.path]
        assert elsewhere == list(case.elsewhere)
        assert judged.analysis.unanalysed == ()


@pytest.mark.parametrize(("code", "case"), [each for each in ALL if each.values[0] in RECORD_RULES])
def test_a_rule_alone_finds_its_part_of_the_whole(judge_files, code, case):
    files = {case.path: case.complete(), **case.files}
    whole = judge_files(files, codes=RECORD_RULES, options=dict(case.options)).analysis.findings
    for left_out in ("CB104", code):
        codes = tuple(one for one in RECORD_RULES if one != left_out)
        part = judge_files(files, codes=codes, options=dict(case.options)).analysis.findings
        kept = [(one.code, one.path, one.line, one.column, one.symbol) for one in whole if one.code != left_out]
        assert [(one.code, one.path, one.line, one.column, one.symbol) for one in part] == kept


@pytest.mark.parametrize("code", RULES)
def test_rule_says_what_it_is(code):
    rule = import_module(f"confbag.ratchets.rules.{RULES[code]}")
    assert code == rule.CODE
    assert RULES[code] == rule.NAME.replace("-", "_")
    assert all((rule.MEANS, rule.WHY, rule.INSTEAD))
    names = [case.name for case in rule.CASES]
    assert len(names) == len(set(names))
    assert any(code == found.split()[0] for case in rule.CASES for found in case.finds)
    assert any(not case.finds for case in rule.CASES)
