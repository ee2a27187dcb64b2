"""Setting text for a terminal: nothing is cut, no line is wider than it may be, no text is taken for markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.backends.render.terminal import BAD, GOOD, WIDTH, Text, against, columns, labelled, text_of
from confbag.words.text import printable

TEXT = st.text(st.characters(codec="ascii") | st.sampled_from(" -[/]:é漢字é\u0301\x1b\u202e"))
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MARKUP = "[bold]a[/bold] :smile: [link=https://acme.example]b[/] [/] \\[c] 'd' 12"


def taken(text: str) -> int:
    """How many columns a terminal takes for it."""
    wide = sum(unicodedata.east_asian_width(char) in ("W", "F") for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def letters(text: str) -> str:
    """The text without blanks, in no order: beside each other, columns are mixed line by line."""
    return "".join(sorted("".join(text.split())))


@given(TEXT, st.integers(2, 60))
def test_wrapping_loses_nothing_and_fits(text: str, width: int) -> None:
    text = printable(text)
    shown = text_of([columns([(text,)], within=width)])
    assert "".join(shown.split()) == "".join(text.split())
    assert all(taken(line) <= width for line in shown.splitlines())


def test_wide_letters_count_twice() -> None:
    assert text_of([columns([("漢字漢字",)], within=4)]) == "漢字\n漢字\n"


def test_a_long_word_is_folded_and_indentation_stays() -> None:
    assert text_of([columns([("  a/long/path b",)], within=6)]) == "  a/lo\nng/pat\nh b\n"
    assert text_of([Text()]) == "\n"
    assert text_of([columns([])]) == text_of([]) == ""


def test_columns_stand_beside_each_other() -> None:
    inner = columns([("k", "v"), ("l", "w")], 2, within=6)
    assert text_of([columns([("a b", inner, "c d")], 1, 6, within=10)]) == "a k  v   c\nb l  w   d\n"


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=4))
def test_colour_changes_nothing_but_colour(rows: list[tuple[str, str, str]]) -> None:
    def parts() -> Iterator[object]:
        for row in rows:
            one, two, three = map(printable, row)
            yield columns([(Text(one, GOOD), two, Text(three, BAD))], 20, 9)
            yield labelled([(one, against(two, three))], 12)
            yield Text(three, BAD)

    plain, coloured = text_of(parts()), text_of(parts(), colour=True)
    assert ANSI.sub("", coloured) == plain
    assert "\x1b" not in plain
    assert all(taken(line) <= WIDTH and line == line.rstrip() for line in plain.splitlines())
    told = "".join(one + two + three + one + two + " - " + three + three for one, two, three in map(_cleaned, rows))
    assert letters(plain) == letters(told)


def _cleaned(row: tuple[str, str, str]) -> tuple[str, str, str]:
    one, two, three = map(printable, row)
    return one, two, three


def test_no_text_is_taken_for_markup() -> None:
    for part in (columns([(MARKUP,)]), labelled([("", MARKUP)], 0), against(MARKUP, ""), Text(MARKUP)):
        for colour in (False, True):
            assert MARKUP in ANSI.sub("", text_of([part], colour=colour))
    assert "\x1b" not in text_of([columns([(MARKUP,)])], colour=True)


@pytest.mark.parametrize(
    "variables", [{"COLUMNS": "40"}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"JPY_PARENT_PID": "1"}]
)
@pytest.mark.parametrize("colour", [False, True])
def test_no_variable_changes_what_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colour: bool
) -> None:
    def shown() -> str:
        return text_of([columns([(Text("a " * 100, GOOD), "b")], 60)], colour=colour)

    expected = shown()
    assert ("\x1b[1;32m" in expected) is colour
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert shown() == expected


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "a\x00b", "\u202egnp.exe", "\udc80", "\u2028", "\x9b31m"])
def test_what_a_terminal_acts_upon_is_escaped(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert "\\" in shown


@given(st.text(st.characters(codec="utf-8") | st.sampled_from(" -漢字é\u0301\x1b\u202e")))
def test_printable_text_is_left_alone(text: str) -> None:
    assert (printable(text) == text) is text.isprintable()


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_can_be_shown_and_none_is_lost(text: str) -> None:
    text = printable(text)
    assert "".join(text_of([labelled([("any", text)], 4)]).split()) == "any" + "".join(text.split())
