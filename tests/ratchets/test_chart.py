"""The burn-down as a chart: valid XML of any name, every rule to be told apart, the last commit to be seen."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import pytest

from confbag.ratchets.codes import RULES, SUPPRESSION
from confbag.ratchets.commands.chart import COLOURS, draw
from confbag.ratchets.commands.history import State

SVG = "{http://www.w3.org/2000/svg}"


def state(time: str, **counts: int) -> State:
    entries = {code: {("a.py", "f", str(n)): 1 for n in range(number)} for code, number in counts.items()}
    return State("c" * 40, time, "A. Person", "a change", entries)


def drawn(states: list[State], title: str = "engine") -> ElementTree.Element:
    return ElementTree.fromstring(draw(states, sorted({code for each in states for code in each.entries}), title))


def texts(chart: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in chart.iter(f"{SVG}text")]


def points(shape: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in (shape.get("points") or "").split())]


@pytest.mark.parametrize("title", ["a <b> & \"c\" 'd'", "tab\tnull\x00bell\x07", "\udc80", "日本"])
def test_a_name_of_any_letters_is_a_title(title: str) -> None:
    chart = drawn([state("2026-01-03T10:00:00Z", CB101=3)], title)
    name = chart.find(f"{SVG}title")
    assert name is not None
    assert (chart.get("role"), chart.get("aria-labelledby")) == ("img", "title summary")
    if title.isprintable() and "\udc80" not in title:
        assert name.text == f"Ratchets of {title}"


def test_every_rule_has_a_colour_of_its_own() -> None:
    assert set(COLOURS) == {SUPPRESSION, *RULES}
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_no_label_stands_on_another() -> None:
    chart = drawn(
        [state("2026-01-03T10:00:00Z", **dict.fromkeys(COLOURS, 1)), state("2026-03-01T10:00:00Z", CB101=900)]
    )
    labels = [each for each in chart.iter(f"{SVG}text") if (each.text or "").startswith("CB")]
    heights = sorted(float(each.get("y") or 0) for each in labels)
    assert len(heights) == len(COLOURS)
    assert all(after - before >= 12 for before, after in itertools.pairwise(heights))
    widest = max(len(each.text or "") for each in labels)
    assert all(float(each.get("x") or 0) + 6.5 * widest < float(chart.get("width") or 0) for each in labels)


def test_what_the_last_commit_left_is_seen() -> None:
    chart = drawn([state("2026-01-01T10:00:00Z", CB101=300), state("2026-01-20T10:00:00Z", CB101=30)])
    (line,) = chart.iter(f"{SVG}polyline")
    *_, (before, high), (start, low), (end, level) = points(line)
    assert before == start
    assert low == level > high
    assert end - start > 10


def test_a_rule_that_never_had_a_finding_is_left_out() -> None:
    chart = drawn([state("2026-01-01T10:00:00Z", CB101=3, CB103=0), state("2026-01-02T10:00:00Z", CB101=0, CB103=0)])
    assert [text for text in texts(chart) if text.startswith("CB")] == ["CB101 record-read: 0"]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([4], "4 findings, 2026-01-01"),
        ([1], "1 finding, 2026-01-01"),
        ([4, 3], "4 findings became 3 (25 % fewer), 2026-01-01 to 2026-01-02"),
        ([1, 3], "1 finding became 3 (200 % more), 2026-01-01 to 2026-01-02"),
        ([0, 3], "3 findings, 2026-01-01 to 2026-01-02"),
        ([0], "0 findings, 2026-01-01"),
    ],
)
def test_the_words_below_the_title(counts: list[int], said: str) -> None:
    chart = drawn([state(f"2026-01-0{day}T10:00:00Z", CB101=number) for day, number in enumerate(counts, 1)])
    assert said in texts(chart)
