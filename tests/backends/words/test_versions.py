"""Versions against specifiers: the same answers as packaging, which is not even imported for the plain ones."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from confbag.backends.words.versions import is_specifier, normalise_version, release, version_matches

numbers = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
plain = st.tuples(numbers, st.sampled_from(["", "", "rc0", "rc1", "rc2"])).map("".join)
odd = st.sampled_from(
    ["2.1.post1", "2.1.dev3", "1!2.0", "2.1+cpu", "2.1a1", "v2", "2.1-1", "x", "", "2..1", "01.2", "2.0rc01"]
)
versions = plain | odd
clauses = st.tuples(st.sampled_from([">=", "<=", "==", "!=", "<", ">", "~="]), plain | odd).map("".join)
specifiers = st.lists(clauses | st.sampled_from(["==2.*", "", " >= 2.0 "]), max_size=3).map(",".join)


@settings(max_examples=600)
@given(specifiers, versions)
def test_the_answer_is_packagings(specifier: str, version: str) -> None:
    try:
        wanted = SpecifierSet(specifier)
    except InvalidSpecifier:
        assert not is_specifier(specifier)
        return
    assert is_specifier(specifier)
    try:
        parsed = Version(version)
    except InvalidVersion:
        # A local part is cut off before a plain version is told.
        assert not version_matches(specifier, version)
        return
    assert version_matches(specifier, version) is wanted.contains(parsed, prereleases=True)


@given(plain)
def test_a_plain_version_is_what_packaging_makes_of_it(version: str) -> None:
    assert normalise_version(version) == str(Version(version))
    assert release(version) == Version(version).release


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("8.3.RC1", "8.3rc1"),
        ("8.0.RC1.alpha003", "8.0rc1.dev3"),
        ("6.4.43482-0f2d60242", "6.4.43482"),
        ("09.1", "9.1"),
        ("V12.4", "12.4"),
        ("no version", None),
    ],
)
def test_vendors_forms(text: str, normal: str | None) -> None:
    assert normalise_version(text) == normal


def test_a_plan_for_a_known_machine_needs_no_packaging() -> None:
    program = (
        "import sys; from confbag import load; from confbag.backends import make_plan\n"
        "for name in ('npu:ascend910_93', 'cuda:sm90'):\n    make_plan(load(env={}), name).to_dict()\n"
        "print([name for name in sys.modules if name.partition('.')[0] == 'packaging'])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
