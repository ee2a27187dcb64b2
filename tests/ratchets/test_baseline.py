"""The baseline's file: escapes, numbers, order, what a union merge leaves, and what makes it unusable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.ratchets.allowed.baseline import Baseline, canonical, encode, grown, repaired

Place = tuple[str, str, str]
TEXT = st.text(
    alphabet=st.one_of(st.sampled_from("#\\\t\n\r\x00\x7f\x85\u2028 x2é\udcff\udc80"), st.characters()), min_size=1
)


def parsed(text: str) -> Baseline:
    return Baseline.parse(text.encode("utf-8", "surrogateescape"), "B.tsv")


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("engine/a.py", "A.f", "record.tp_size"), "engine/a.py\tA.f\trecord.tp_size"),
        (("a b.py", "f", "record.x"), "a b.py\tf\trecord.x"),
        (("#a.py", "f", "#s"), "\\x23a.py\tf\t#s"),
        (("a\\b.py", "f", "s"), "a\\\\b.py\tf\ts"),
        (("a\tb\nc\rd.py", "f", "s"), "a\\tb\\nc\\rd.py\tf\ts"),
        (("a\x01\x7f.py", "f", "s"), "a\\x01\\x7f.py\tf\ts"),
        (("a\udcff.py", "f", "s"), "a\\xff.py\tf\ts"),
        (("é/e\u0301.py", "f", "s"), "é/e\u0301.py\tf\ts"),
    ],
)
def test_what_a_line_holds(place: Place, line: str) -> None:
    assert encode(place).decode() == line
    assert parsed(line + "\n").entries == {place: 1}


def test_a_number_is_written_only_where_it_is_more_than_one() -> None:
    assert encode(("a.py", "f", "s"), 1) == b"a.py\tf\ts"
    assert encode(("a.py", "f", "s"), 12) == b"a.py\tf\ts\tx12"
    assert parsed("a.py\tf\ts\tx12\n").entries == {("a.py", "f", "s"): 12}


@given(st.dictionaries(st.tuples(TEXT, TEXT, TEXT), st.integers(1, 999_999_999), max_size=8))
def test_what_is_printed_is_read_back(entries: dict[Place, int]) -> None:
    wanted = {(canonical(a), canonical(b), canonical(c)): count for (a, b, c), count in entries.items()}
    printed = Baseline(wanted).print()
    again = Baseline.parse(printed, "B.tsv")
    assert again.entries == wanted
    assert (again.faults, again.untidy, again.warnings) == ((), (), ())
    assert again.print() == printed
    lines = printed.split(b"\n")[:-1]
    assert lines == sorted(lines)
    assert printed.isascii() or printed.decode("utf-8")


@pytest.mark.parametrize("content", [b"", b"# a comment\n", b"# one\n# two\n"])
def test_an_empty_file_and_one_of_comments_are_fine(content: bytes) -> None:
    baseline = Baseline.parse(content, "B.tsv")
    assert (baseline.entries, baseline.faults, baseline.untidy, baseline.warnings) == ({}, (), (), ())
    assert baseline.print() == content


def test_duplicates_collapse_to_the_largest_number_with_a_warning() -> None:
    baseline = parsed("a.py\tf\ts\na.py\tf\ts\na.py\tf\ts\tx3\n")
    assert baseline.entries == {("a.py", "f", "s"): 3}
    assert (baseline.faults, baseline.untidy) == ((), ())
    assert [fault.where for fault in baseline.warnings] == ["B.tsv:2", "B.tsv:3"]
    assert "confbag ratchet tidy" in str(baseline.warnings[0])


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("b.py\tf\ts\na.py\tf\ts\n", "B.tsv:2"),
        ("a.py\tf\ts", "B.tsv:1"),
        ("a.py\tf\ts\n\nb.py\tf\ts\n", "B.tsv:2"),
        ("a.py\tf\ts\r\nb.py\tf\ts\r\n", "B.tsv:1"),
    ],
)
def test_what_is_untidy_is_read_and_named_with_its_line(text: str, where: str) -> None:
    baseline = parsed(text)
    assert baseline.faults == ()
    assert [fault.where for fault in baseline.untidy] == [where]
    assert "confbag ratchet tidy" in baseline.untidy[0].message
    tidy, dropped = repaired(text.encode(), "B.tsv")
    assert dropped == []
    assert tidy.entries == baseline.entries
    assert Baseline.parse(tidy.print(), "B.tsv").untidy == ()


MALFORMED = """\
one
a.py\tf
a.py\tf\ts\tx1
a.py\tf\ts\tx0
a.py\tf\ts\t2
a.py\tf\ts\tx02
a.py\tf\ts\tx2\tx2
a.py\t\ts
\tf\ts
a.py\tf\\q\ts
a.py\tf\ts\\
a.py\tf\ts\\x4
""".splitlines()


@pytest.mark.parametrize("line", [*MALFORMED, "a.py\tf\ts\tx" + "9" * 5000])
def test_a_malformed_line_is_named_with_what_repairs_it(line: str) -> None:
    baseline = parsed(f"a.py\tf\ta\n{line}\nb.py\tf\ts\n")
    (fault,) = baseline.faults
    assert fault.where == "B.tsv:2"
    assert "malformed" in fault.message
    assert "confbag ratchet tidy" in fault.message
    tidy, _ = repaired(f"a.py\tf\ta\n{line}\nb.py\tf\ts\n".encode(), "B.tsv")
    assert {("a.py", "f", "a"), ("b.py", "f", "s")} <= set(tidy.entries)
    assert Baseline.parse(tidy.print(), "B.tsv").faults == ()


def test_every_fault_of_a_file_is_said() -> None:
    text = "<<<<<<< ours\na.py\tf\ts\n=======\nb\n>>>>>>> theirs\n"
    assert [fault.where for fault in parsed(text).faults] == ["B.tsv:1", "B.tsv:3", "B.tsv:4", "B.tsv:5"]


def test_tidy_keeps_the_lines_of_both_sides_of_a_conflict() -> None:
    text = (
        "# about this\n<<<<<<< ours\nb.py\tf\ts\tx2\n||||||| base\nz.py\tf\ts\n=======\na.py\tf\ts\nb.py\tf\ts\n"
        ">>>>>>> theirs\nc.py\tf\ts\n"
    )
    tidy, dropped = repaired(text.encode(), "B.tsv")
    assert dropped == []
    assert tidy.print().decode() == "# about this\na.py\tf\ts\nb.py\tf\ts\tx2\nc.py\tf\ts\n"


def test_tidy_says_what_it_drops() -> None:
    _, dropped = repaired(b"a.py\tf\ts\nrubbish\n", "B.tsv")
    assert [str(fault) for fault in dropped] == ["B.tsv:2: dropped, malformed: rubbish"]


def test_comments_stay_and_entries_of_no_finding_go() -> None:
    baseline = parsed("# why\na.py\tf\ts\tx2\nb.py\tf\ts\n")
    changed = baseline.updated({("a.py", "f", "s"): 1, ("b.py", "f", "s"): 0})
    assert changed.print() == b"# why\na.py\tf\ts\n"


def test_what_grew() -> None:
    now = {("a", "f", "s"): 3, ("b", "f", "s"): 1, ("c", "f", "s"): 1}
    before = {("a", "f", "s"): 1, ("b", "f", "s"): 2, ("d", "f", "s"): 5}
    assert grown(now, before) == {("a", "f", "s"): 2, ("c", "f", "s"): 1}
