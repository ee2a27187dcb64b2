"""Findings against suppressions, exceptions and baselines: states, stale, moved, numbers, and the exit status."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.exceptions import Allowance
from confbag.ratchets.allowed.judge import Verdict, judge, key_of, tightened
from confbag.ratchets.allowed.suppressions import Suppression
from confbag.ratchets.faults import Fault
from confbag.ratchets.finding import Finding, Unanalysed

TODAY = datetime.date(2030, 1, 15)
CODES = ("CB100", "CB101", "CB111")


def finding(path: str = "a.py", line: int = 1, qualname: str = "f", symbol: str = "record.x", **more: Any) -> Finding:
    return Finding(
        path=path, line=line, column=1, code=more.pop("code", "CB101"), symbol=symbol, qualname=qualname,
        message="a read", **{"first": line, "last": line, **more},
    )  # fmt: skip


def entry(path: str = "a.py", qualname: str = "f", symbol: str = "record.x") -> tuple[str, str, str]:
    return (path, qualname, symbol)


def judged(findings: list[Finding], entries: dict[tuple[str, str, str], int] | None = None, **more: Any) -> Verdict:
    baselines = more.pop("baselines", {"CB101": Baseline(entries or {})})
    settings: dict[str, Any] = {"codes": CODES, "judged": lambda path: True, "today": TODAY, **more}
    return judge(findings, baselines=baselines, **settings)


def states(verdict: Verdict) -> list[str]:
    return [each.state for each in verdict.findings]


def test_nothing_is_nothing() -> None:
    assert judged([]).status == 0


def test_what_no_baseline_holds_is_new() -> None:
    verdict = judged([finding()])
    assert (states(verdict), verdict.status) == (["new"], 1)


def test_what_the_baseline_holds_is_baselined() -> None:
    verdict = judged([finding()], {entry(): 1})
    assert (states(verdict), verdict.stale, verdict.status) == (["baselined"], (), 0)


def test_an_entry_without_a_finding_is_stale() -> None:
    verdict = judged([], {entry(): 2})
    assert [(each.key, each.allowed, each.here) for each in verdict.stale] == [(("CB101", *entry()), 2, 0)]
    assert verdict.status == 2


def test_one_fixed_and_one_new_do_not_cancel() -> None:
    verdict = judged([finding(symbol="record.dp")], {entry(symbol="record.tp"): 1})
    assert (states(verdict), len(verdict.stale), verdict.status) == (["new"], 1, 3)


def test_over_the_number_the_last_in_source_order_are_new() -> None:
    verdict = judged([finding(line=9), finding(line=2), finding(line=5)], {entry(): 2})
    assert [(each.finding.line, each.state, each.over) for each in verdict.findings] == [
        (2, "baselined", None),
        (5, "baselined", None),
        (9, "new", (3, 2)),
    ]
    assert verdict.status == 1


def test_under_the_number_the_entry_is_stale() -> None:
    verdict = judged([finding()], {entry(): 3})
    assert [(each.allowed, each.here) for each in verdict.stale] == [(3, 1)]
    assert (states(verdict), verdict.status) == (["baselined"], 2)


def test_only_files_that_were_analysed_are_judged() -> None:
    verdict = judged([], {entry("a.py"): 1, entry("b.py"): 1}, judged=lambda path: path == "b.py")
    assert [each.key[1] for each in verdict.stale] == ["b.py"]


def test_a_file_that_could_not_be_analysed_is_its_own_bit() -> None:
    verdict = judged([], {entry(): 1}, judged=lambda path: False, unanalysed=[Unanalysed("a.py", "syntax error")])
    assert (verdict.stale, verdict.status) == ((), 4)


def test_an_entry_of_a_rule_that_did_not_run_is_not_stale() -> None:
    assert judged([], baselines={"CB141": Baseline({entry(): 1})}).status == 0


def test_untidy_is_bit_two_and_a_warning_is_none() -> None:
    untidy = Baseline(untidy=(Fault("B.tsv:2", "not sorted"),))
    assert judged([], baselines={"CB101": untidy}).status == 2
    warned = Baseline(warnings=(Fault("B.tsv:2", "there twice"),))
    assert judged([], baselines={"CB101": warned}).status == 0


# Moved


def test_one_stale_and_one_new_key_of_a_kind_moved() -> None:
    verdict = judged([finding("b.py", 7, "B.f")], {entry("a.py", "A.f"): 1})
    assert [(each.old[1], each.new[1], each.line) for each in verdict.moved] == [("a.py", "b.py", 7)]
    assert (states(verdict), verdict.stale, verdict.status) == (["baselined"], (), 2)


@pytest.mark.parametrize(
    ("found", "entries"),
    [
        ([finding("b.py", qualname="g")], {entry(): 1}),
        ([finding("b.py", symbol="record.y")], {entry(): 1}),
        ([finding("b.py")], {entry(): 2}),
        ([finding("b.py"), finding("c.py")], {entry(): 1}),
        ([finding("b.py")], {entry(): 1, entry("z.py"): 1}),
        ([finding("b.py", code="CB111")], {entry(): 1}),
    ],
)
def test_what_is_not_unique_or_not_equal_has_not_moved(found: list[Finding], entries: dict[Any, int]) -> None:
    verdict = judged(found, entries)
    assert verdict.moved == ()
    assert verdict.status == 3


def test_a_key_that_only_lost_some_has_not_moved() -> None:
    verdict = judged([finding(), finding("b.py")], {entry(): 2})
    assert (verdict.moved, verdict.status) == ((), 3)


def test_what_a_file_held_that_is_gone_may_have_moved_in_a_partial_run() -> None:
    verdict = judged(
        [finding("b.py")], {entry("a.py"): 1, entry("gone.py", "g"): 1},
        judged=lambda path: path == "b.py", gone=lambda path: path != "b.py",
    )  # fmt: skip
    assert ([each.old[1] for each in verdict.moved], verdict.stale, verdict.status) == (["a.py"], (), 2)


# Suppressions


def comment(line: int, code: str = "CB101", **more: Any) -> Suppression:
    return Suppression("a.py", line, 1, code, "because", **more)


@pytest.mark.parametrize("line", [3, 4, 6])
def test_a_comment_on_the_line_or_an_edge_of_the_statement_allows(line: int) -> None:
    verdict = judged([finding(line=4, first=3, last=6)], suppressions=[comment(line)])
    assert (states(verdict), verdict.status) == (["suppressed"], 0)


@pytest.mark.parametrize("line", [2, 5, 7])
def test_a_comment_elsewhere_allows_nothing_and_is_a_finding(line: int) -> None:
    verdict = judged([finding(line=4, first=3, last=6)], suppressions=[comment(line)])
    assert sorted((each.finding.code, each.state) for each in verdict.findings) == [("CB100", "new"), ("CB101", "new")]
    assert verdict.status == 1


def test_a_comment_for_another_code_allows_nothing() -> None:
    assert judged([finding()], suppressions=[comment(1, "CB111")]).status == 1


def test_a_comment_of_the_whole_file_allows_all() -> None:
    verdict = judged([finding(line=4), finding(line=9)], suppressions=[comment(1, whole_file=True)])
    assert (states(verdict), verdict.status) == (["suppressed", "suppressed"], 0)


def test_comments_of_rules_that_did_not_run_and_of_files_not_judged_are_left_alone() -> None:
    assert judged([], suppressions=[comment(1, "CB141")]).status == 0
    assert judged([], suppressions=[comment(1)], judged=lambda path: False).status == 0


def test_a_comment_that_may_allow_nothing_is_no_finding() -> None:
    assert judged([], suppressions=[comment(1, judged=False)]).status == 0


def test_what_a_comment_allows_needs_no_entry() -> None:
    verdict = judged([finding()], {entry(): 1}, suppressions=[comment(1)])
    assert (states(verdict), len(verdict.stale), verdict.status) == (["suppressed"], 1, 2)


# Exceptions


def allowance(**more: Any) -> Allowance:
    values = {"code": "CB101", "path": "a.py", "qualname": "f", "reason": "r", "where": "exceptions.toml:1"}
    return Allowance(**{**values, **more})


def test_an_exception_comes_before_the_baseline_and_after_a_comment() -> None:
    both = judged([finding()], {entry(): 1}, exceptions=[allowance()])
    assert (states(both), len(both.stale)) == (["excepted"], 1)
    all_three = judged([finding()], exceptions=[allowance()], suppressions=[comment(1)])
    assert states(all_three) == ["suppressed"]
    assert "unused" in str(all_three.exceptions[0])


@pytest.mark.parametrize(
    ("found", "changes", "said"),
    [
        ([finding()], {"until": datetime.date(2030, 1, 14)}, "expired"),
        ([], {}, "unused"),
        ([finding(), finding(line=2)], {"most": 1}, "over max"),
    ],
)
def test_expired_unused_and_over_max_are_bit_two(found: list[Finding], changes: dict[str, Any], said: str) -> None:
    verdict = judged(found, exceptions=[allowance(**changes)])
    (fault,) = verdict.exceptions
    assert said in fault.message
    assert verdict.status == 2


def test_an_exception_holds_to_the_end_of_its_last_day() -> None:
    assert judged([finding()], exceptions=[allowance(until=TODAY)]).status == 0


def test_five_unused_exceptions_are_said_at_once() -> None:
    entries = [allowance(path=f"{name}.py") for name in "abcde"]
    assert len(judged([], exceptions=entries).exceptions) == 5


def test_unused_is_judged_only_when_all_that_it_can_match_was_analysed() -> None:
    assert judged([], exceptions=[allowance()], analysed_wholly=lambda entry: False).status == 0


def test_a_narrow_exception_does_not_use_up_a_wide_one() -> None:
    wide = allowance(path="engine/*", qualname="", most=1)
    narrow = allowance(path="engine/a.py", where="exceptions.toml:9")
    verdict = judged([finding("engine/a.py"), finding("engine/b.py")], exceptions=[wide, narrow])
    assert (states(verdict), verdict.status) == (["excepted", "excepted"], 0)


# Tighten


FINDINGS = st.lists(
    st.builds(
        finding,
        st.sampled_from(["a.py", "b.py"]),
        st.integers(1, 9),
        st.sampled_from(["f", "A.f", "B.f", "g"]),
        st.sampled_from(["record.x", "record.y"]),
    ),
    max_size=12,
)


@given(FINDINGS, FINDINGS)
def test_tightening_only_shrinks_and_leaves_nothing_stale(before: list[Finding], now: list[Finding]) -> None:
    entries: dict[tuple[str, str, str], int] = {}
    for each in before:
        place = key_of(each)[1:]
        entries[place] = entries.get(place, 0) + 1
    verdict = judged(now, entries)
    baseline = tightened({"CB101": Baseline(entries)}, verdict).get("CB101", Baseline(entries))
    assert sum(baseline.entries.values()) <= sum(entries.values())
    arrived = {each.new[1:] for each in verdict.moved}
    assert all(count <= entries.get(place, 0) for place, count in baseline.entries.items() if place not in arrived)
    again = judged(now, dict(baseline.entries))
    assert (again.stale, again.moved) == ((), ())
    assert len(again.new) == len(verdict.new)


@given(FINDINGS)
def test_a_baseline_of_what_is_there_allows_it_in_any_order(found: list[Finding]) -> None:
    entries: dict[tuple[str, str, str], int] = {}
    for each in found:
        place = key_of(each)[1:]
        entries[place] = entries.get(place, 0) + 1
    assert judged(found, entries).status == 0
    assert judged(found[::-1], entries).findings == judged(found, entries).findings
