"""Comments that allow: comment tokens of any Python only, with a reason; what is none of them is a finding."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from confbag.ratchets.allowed import suppressions
from confbag.ratchets.rules.suppression import CASES
from confbag.ratchets.source.comments import comments

if TYPE_CHECKING:
    from confbag.ratchets.rules.case import Case

SHAPES = [
    ("x = 1  # yes\n", [(1, 8, "# yes")]),
    ('x = "# no"  # yes\n', [(1, 13, "# yes")]),
    ("'''\n# no\n'''  # yes\n", [(3, 6, "# yes")]),
    ('rb"\\\\"  # yes\n', [(1, 9, "# yes")]),
    ('"\\\n# no"  # yes\n', [(2, 8, "# yes")]),
    ("f\"{a['#']:{w}#x} {{#}} {b!r:#x}\"  # yes\n", [(1, 35, "# yes")]),
    ("f\"{ {'a': '#'}['a'] }\"  # yes\n", [(1, 25, "# yes")]),
    ('f"{d["#"]}"  # yes\n', [(1, 14, "# yes")]),
    ('f"{x:=^#}"  # yes\n', [(1, 13, "# yes")]),
    ('f"\\N{NUMBER SIGN}#"  # yes\n', [(1, 22, "# yes")]),
    ('f"""{\n x  # yes\n}#"""\n', [(2, 5, "# yes")]),
    ('rf"\\{a}#"  # yes\n', [(1, 12, "# yes")]),
    ("x = 1\r\ny = 2  # yes\r\n", [(2, 8, "# yes")]),
    ("x = 1\ry = 2  # yes\r", [(2, 8, "# yes")]),
    ("\x0c# yes\nx = 'é'  # yes\n", [(1, 2, "# yes"), (2, 10, "# yes")]),
    ("x = 'broken\n# yes\n", [(2, 1, "# yes")]),
    ('x = """never closed\n# no\n', []),
    ('if"a" or"#":  # yes\n    pass\n', [(1, 15, "# yes")]),
]


@pytest.mark.parametrize(("text", "found"), SHAPES)
def test_comment_tokens(text: str, found: list[tuple[int, int, str]]) -> None:
    assert list(comments(text.encode())) == found


def test_text_of_another_encoding_and_a_mark_at_its_start() -> None:
    assert list(comments("# -*- coding: latin-1 -*-\nx = 'é'  # é\n".encode("latin-1")))[1] == (2, 10, "# é")
    assert list(comments(b"\xef\xbb\xbfx = 1  # yes\n")) == [(1, 8, "# yes")]
    assert len(list(comments(b"# \x80\n"))) == 1


def allowed(text: str) -> list[tuple[int, str, str, bool]]:
    found, _ = suppressions.read("a.py", text.encode())
    return [(each.line, each.code, each.reason, each.whole_file) for each in found]


def test_one_code_several_codes_and_the_whole_file() -> None:
    text = (
        "x  # ratchet: allow CB101 -- it is the owner\n"
        "y  # noqa: E501  # ratchet: allow CB101, CB111 -- both\n"
        "# ratchet: allow-file CB102 -- generated\n"
        "#ratchet:allow CB101 --tight\n"
    )
    assert allowed(text) == [
        (1, "CB101", "it is the owner", False),
        (2, "CB101", "both", False),
        (2, "CB111", "both", False),
        (3, "CB102", "generated", True),
        (4, "CB101", "tight", False),
    ]


def test_strings_and_words_about_it_allow_nothing() -> None:
    assert allowed('x = "# ratchet: allow CB101 -- no"\n# write `# ratchet: allow CB101 -- reason`\n') == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cases_of_the_rule(case: Case) -> None:
    found, wrong = suppressions.read("a.py", case.code.encode())
    everything = [*wrong, *suppressions.unused(found, ())]
    assert tuple(f"{each.code} {each.symbol}" for each in everything) == case.finds


@pytest.mark.parametrize("text", ["allow CB101", "allow CB101 --", "allow CB101 --   ", "allow-file CB101"])
def test_a_reason_is_required(text: str) -> None:
    found, wrong = suppressions.read("a.py", f"x  # ratchet: {text}\n".encode())
    assert found == []
    assert "no reason" in wrong[0].message
    assert (wrong[0].line, wrong[0].column) == (1, 4)


@pytest.mark.parametrize("text", ["", "allow", "allow all -- x", "allow cb101 -- x", "deny CB101 -- x"])
def test_what_cannot_be_read_is_a_finding(text: str) -> None:
    found, wrong = suppressions.read("a.py", f"x  # ratchet: {text}\n".encode())
    assert found == []
    assert "means nothing" in wrong[0].message


def test_a_python_that_is_named_is_the_one_that_judges() -> None:
    minor = sys.version_info[1]
    text = f"x  # ratchet: allow CB101 if=py>=3.{minor} -- r\ny  # ratchet: allow CB101 if=py<3.{minor} -- r\n"
    found, wrong = suppressions.read("a.py", text.encode())
    assert wrong == []
    assert [each.line for each in suppressions.unused(found, ())] == [1]
