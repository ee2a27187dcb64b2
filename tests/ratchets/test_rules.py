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
