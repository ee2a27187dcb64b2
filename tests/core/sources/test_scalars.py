"""What plain scalars mean: YAML 1.2, not 1.1, and no surprises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.sources.scalars import ScalarError, plain, tagged

CORE = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e-5", 1e-5),
        ("1E+5", 1e5),
        (".5", 0.5),
        ("2.", 2.0),
        ("13.0", 13.0),
        ("-1.5e3", -1500.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
    ],
)
def test_reads_as_a_value(text: str, value: object) -> None:
    got = plain(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "on",
        "off",
        "yes",
        "no",
        "y",
        "n",
        "12:30",
        "190:20:30",
        "017",
        "-017",
        "017.5",
        "00",
        "2026-01-02",
        "1_000",
        "0b11",
        "1e",
        "e5",
        ".",
        "-",
        "+",
        "nulls",
        "truer",
        "tRUE",
        "0x",
        "0o8",
        "inf",
        "nan",
        "13.0.1",
        "=",
        "1,000",
    ],
)
def test_stays_text(text: str) -> None:
    assert plain(text) == text


def test_not_a_number_is_one() -> None:
    got = plain(".nan")
    assert isinstance(got, float)
    assert math.isnan(got)


@given(st.integers(-(10**30), 10**30))
def test_every_decimal_integer_reads_back(number: int) -> None:
    assert plain(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_as_python_writes_it_reads_back(number: float) -> None:
    got = plain(repr(number))
    assert got == number
    assert isinstance(got, float)


@given(st.text(max_size=30))
def test_any_text_reads_as_something(text: str) -> None:
    got = plain(text)
    assert got is None or isinstance(got, (str, int, float))
    assert not isinstance(got, str) or got == text


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [("str", "017", "017"), ("str", "true", "true"), ("int", "3", 3), ("float", "3", 3.0), ("bool", "true", True)],
)
def test_core_tags(tag: str, text: str, value: object) -> None:
    got = tagged(text, CORE + tag)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(("tag", "text"), [("int", "s3cret"), ("int", "1.5"), ("bool", "on"), ("null", "s3cret")])
def test_a_tag_that_the_text_contradicts_is_refused_without_the_text(tag: str, text: str) -> None:
    with pytest.raises(ScalarError) as caught:
        tagged(text, CORE + tag)
    assert f"!!{tag}" in str(caught.value)
    assert text not in str(caught.value)


@pytest.mark.parametrize("tag", ["tag:yaml.org,2002:python/object:os.system", "!secret", CORE + "binary"])
def test_other_tags_are_refused(tag: str) -> None:
    with pytest.raises(ScalarError, match="core tags"):
        tagged("x", tag)


@pytest.mark.parametrize("text", ["9" * 5000, "0x" + "f" * 5000])
def test_a_number_of_thousands_of_digits_is_refused(text: str) -> None:
    with pytest.raises(ScalarError, match="digits"):
        plain(text)
