"""The reference page is what the rules' own modules say today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from confbag.ratchets.commands import reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ratchet-rules.md"


def test_the_page_is_fresh() -> None:
    said = "it is not what the rules say; write it with `confbag ratchet explain --page > docs/ratchet-rules.md`"
    assert PAGE.read_text(encoding="utf-8") == reference.page(), said


def test_its_links_lead_to_its_titles() -> None:
    page = reference.page()
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) == titles


@pytest.mark.parametrize("code", reference.CODES)
def test_every_rule_says_what_why_and_what_instead_and_shows_cases(code: str) -> None:
    rule = reference.rule(code)
    assert code == rule.CODE
    for text in (rule.MEANS, rule.WHY, rule.INSTEAD):
        assert text.strip()
    assert any(case.finds for case in rule.CASES)
    assert any(not case.finds for case in rule.CASES)
    assert rule.NAME in reference.explained(code)
