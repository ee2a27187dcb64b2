"""The exceptions file: every mistake at once and with its place, what grew, and how entries are written."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.ratchets.allowed.exceptions import Allowance, expired, lacks, parse, raised, write
from confbag.ratchets.allowed.written import added, tidied
from confbag.ratchets.faults import UsageError

TODAY = datetime.date(2030, 1, 15)
ENTRY = """\
[[exception]]
code = "CB101"
path = "engine/a.py"
qualname = "A.f"
reason = "the owner moves out"
owner = "@team"
until = 2030-03-01
issue = "https://example.invalid/1"
"""


def parsed(text: str) -> tuple[list[Allowance], list[str]]:
    entries, faults = parse(text.encode(), "exceptions.toml")
    return entries, [str(fault) for fault in faults]


def test_an_entry_and_its_place() -> None:
    (entry,), faults = parsed("# why\n\n" + ENTRY)
    assert faults == []
    assert (entry.target, entry.most, entry.until) == (
        ("CB101", "engine/a.py", "A.f", ""),
        0,
        datetime.date(2030, 3, 1),
    )
    assert entry.where == "exceptions.toml:3:1"


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_no_entry(text: str) -> None:
    assert parsed(text) == ([], [])


def test_all_mistakes_are_said_at_once_with_their_places() -> None:
    text = (
        '[[exception]]\ncode = "CB999"\npath = "engine/a.py"\nsymbol = "record.x"\nreason = "r"\n'
        '[[exception]]\ncode = "CB101"\npath = "engine/"\nreason = "r"\n'
        '[[exception]]\ncode = "CB101"\npath = "engine/b.py"\nqualname = "f"\n'
        '[[exception]]\ncode = "CB101"\npath = "engine/c.py"\nqualname = "f"\nreason = "r"\n'
        'until = "soon"\nmaximum = 2\n'
        '[[exception]]\ncode = "CB101"\npath = "engine/d.py"\nreason = "r"\nmax = 0\n'
        '[[exception]]\ncode = "CB101"\npath = "engine/e.py"\nreason = "r"\n'
        "[other]\n"
    )
    entries, faults = parsed(text)
    assert entries == []
    assert [fault.split(": ")[0] for fault in sorted(faults, key=lambda fault: int(fault.split(":")[1]))] == [
        "exceptions.toml:2:1",
        "exceptions.toml:8:1",
        "exceptions.toml:10:1",
        "exceptions.toml:19:1",
        "exceptions.toml:20:1",
        "exceptions.toml:25:1",
        "exceptions.toml:26:1",
        "exceptions.toml:30:1",
    ]
    said = "\n".join(faults)
    for words in ("unknown code 'CB999'", "max = N", "needs a reason", "`until` is a date", "unknown key `maximum`"):
        assert words in said


@pytest.mark.parametrize("path", ["engine/*", "engine/**/a.py", "engine/mod?.py", "engine/", "engine"])
def test_a_glob_and_a_folder_need_a_number(path: str) -> None:
    text = f'[[exception]]\ncode = "CB101"\npath = "{path}"\nqualname = "f"\nreason = "r"\n'
    assert "max = N" in parsed(text)[1][0]
    (entry,), faults = parsed(text + "max = 3\n")
    assert faults == []
    assert (entry.most, entry.wide) == (3, True)
    assert not entry.reaches("other/a.py")


@pytest.mark.parametrize(
    ("path", "reached", "missed"),
    [
        ("engine/*", ["engine/a.py", "engine/sub/a.py"], ["engineer/a.py", "a.py"]),
        ("engine/*.py", ["engine/a.py"], ["engine/sub/a.py"]),
        ("engine/**/a.py", ["engine/a.py", "engine/x/y/a.py"], ["engine/b.py"]),
        ("engine/a?.py", ["engine/ab.py"], ["engine/a.py", "engine/a/.py"]),
        ("engine", ["engine/a.py", "engine/x/a.py"], ["engine2/a.py"]),
        ("engine/[a].py", ["engine/[a].py"], ["engine/a.py"]),
    ],
)
def test_what_a_path_reaches(path: str, reached: list[str], missed: list[str]) -> None:
    entry = Allowance("CB101", path, "r", most=1)
    assert all(entry.reaches(each) for each in reached)
    assert not any(entry.reaches(each) for each in missed)


def test_a_conflict_marker_is_named_and_tidy_keeps_both_sides() -> None:
    other = ENTRY.replace("a.py", "b.py")
    text = f"<<<<<<< ours\n{ENTRY}=======\n{other}>>>>>>> theirs\n"
    assert parsed(text)[1] == [
        "exceptions.toml:1: a conflict marker; `confbag ratchet tidy` keeps the entries of both sides"
    ]
    assert tidied(text.encode(), "exceptions.toml").decode() == ENTRY + other


def test_an_entry_that_is_there_twice_is_named_and_tidy_drops_it() -> None:
    text = f"{ENTRY}\n{ENTRY}"
    (fault,) = parsed(text)[1]
    assert fault.startswith("exceptions.toml:10:1: ")
    assert "exceptions.toml:1:1" in fault
    assert "confbag ratchet tidy" in fault
    assert parsed(tidied(text.encode(), "exceptions.toml").decode()) == (parsed(ENTRY)[0], [])


def test_what_is_no_toml_is_named_with_its_line() -> None:
    assert parsed("[[exception]]\ncode = \n")[1][0].startswith("exceptions.toml:2:")


def test_an_entry_where_the_rule_never_looks_is_a_mistake() -> None:
    _, faults = parse(ENTRY.encode(), "exceptions.toml", visited=lambda code, path: "it is an owner")
    assert "can never match: it is an owner" in str(faults[0])
    assert faults[0].where == "exceptions.toml:3:1"


TEXT = st.text(min_size=1).filter(
    lambda text: text.strip() and not any("\ud800" <= letter <= "\udfff" for letter in text)
)


@given(TEXT, TEXT, st.dates(), st.integers(1, 99))
def test_what_is_written_is_read_back(reason: str, owner: str, until: datetime.date, most: int) -> None:
    entry = Allowance("CB101", "engine/a b#.py", reason, "A.f", most=most, owner=owner, until=until)
    (again,), faults = parsed(write(entry))
    assert faults == []
    assert (again.target, again.reason, again.owner, again.until, again.most) == (
        entry.target, entry.reason, entry.owner, entry.until, entry.most,
    )  # fmt: skip


def test_an_entry_is_added_at_the_end_and_the_rest_stays() -> None:
    before = "# ours\n\n" + ENTRY + "\n# the last word\n"
    entry = Allowance("CB101", "engine/b.py", "r", "g", most=1)
    after = added(before.encode(), entry, "exceptions.toml").decode()
    assert after.startswith(before)
    assert [each.path for each in parsed(after)[0]] == ["engine/a.py", "engine/b.py"]


def test_an_entry_of_the_same_target_is_replaced() -> None:
    entry = Allowance("CB101", "engine/a.py", "longer", "A.f", most=2, until=datetime.date(2030, 6, 1))
    entries, _ = parsed(added(ENTRY.encode(), entry, "exceptions.toml").decode())
    assert [(each.reason, each.most) for each in entries] == [("longer", 2)]


OTHER = """\
[[ exception ]]  # spaces are fine
code = "CB102"
path = "engine/b.py"
qualname = "g"
reason = \"\"\"of two lines:
[[exception]]
# no comment
\"\"\"
"""


def test_an_entry_is_replaced_where_it_stands_and_the_words_of_its_neighbours_stay() -> None:
    before = f"# the team's\n\n# about a\n{ENTRY}\n# about b\n{OTHER}\n# the last word\n"
    entry = Allowance("CB101", "engine/a.py", "longer", "A.f", most=2)
    after = added(before.encode(), entry, "exceptions.toml").decode()
    assert after == before.replace(ENTRY, write(entry))
    entry = Allowance("CB102", "engine/b.py", "longer", "g", most=2)
    after = added(before.encode(), entry, "exceptions.toml").decode()
    assert after == before.replace(OTHER, write(entry))
    assert [each.reason for each in parsed(after)[0]] == [parsed(ENTRY)[0][0].reason, "longer"]


def test_line_ends_of_a_file_stay() -> None:
    before = ENTRY.replace("\n", "\r\n")
    after = added(before.encode(), Allowance("CB101", "engine/b.py", "r", "g", most=1), "exceptions.toml").decode()
    assert after.startswith(before)
    assert after.count("\n") == after.count("\r\n")


def test_what_cannot_be_added_is_said() -> None:
    text = 'exception = [{code = "CB101", path = "a.py", symbol = "s", reason = "r"}]\n'
    with pytest.raises(UsageError, match=r"exceptions\.toml:1:1: entries are written as tables"):
        added(text.encode(), Allowance("CB101", "engine/b.py", "r", "g", most=1), "exceptions.toml")
    with pytest.raises(UsageError, match="no entry can be added"):
        added(b"", Allowance("CB101", "engine\\b.py", "r", "g", most=1), "exceptions.toml")


def test_tidy_keeps_the_words_of_a_copy_that_it_drops() -> None:
    text = f"# first\n{ENTRY}\n# first\n{ENTRY}\n# another thought\n{ENTRY}\n# first\n{ENTRY}"
    after = tidied(text.encode(), "exceptions.toml").decode()
    assert after == f"# another thought\n# first\n{ENTRY}"


def test_expired() -> None:
    entries, _ = parsed(ENTRY)
    assert expired(entries, datetime.date(2030, 3, 1)) == []
    assert expired(entries, datetime.date(2030, 3, 2)) == entries


def test_what_grew() -> None:
    old = [Allowance("CB101", "a.py", "r", "f", most=2, until=TODAY)]
    same = [Allowance("CB101", "a.py", "other words", "f", most=1, until=TODAY)]
    assert raised(same, old) == []
    more = Allowance("CB101", "a.py", "r", "f", most=3, until=TODAY)
    later = Allowance("CB101", "a.py", "r", "f", most=2, until=TODAY + datetime.timedelta(1))
    without = Allowance("CB101", "a.py", "r", "f", until=TODAY)
    new = Allowance("CB101", "b.py", "r", "f", most=1)
    for entry in (more, later, without, new):
        assert raised([entry], old) == [entry]


@pytest.mark.parametrize(
    ("owner", "days", "words"),
    [("@team", 180, None), ("@team", 181, "180 days"), ("", 10, "no owner"), ("@team", None, "no until")],
)
def test_what_a_change_may_bring(owner: str, days: int | None, words: str | None) -> None:
    until = None if days is None else TODAY + datetime.timedelta(days)
    reason = lacks(Allowance("CB101", "a.py", "r", "f", owner=owner, until=until), TODAY)
    assert (reason is None) if words is None else (reason is not None and words in reason)
