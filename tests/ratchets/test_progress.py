"""A long run shows how far it is, where a person watches, and only there."""

from __future__ import annotations

import io
import itertools
import re
import sys
from typing import TYPE_CHECKING

import pytest

from confbag.ratchets import output
from confbag.ratchets.output import Progress

if TYPE_CHECKING:
    from conftest import Engine


class Screen(io.StringIO):
    """A stream that somebody watches, or not."""

    def __init__(self, watched: bool) -> None:
        super().__init__()
        self.watched = watched

    def isatty(self) -> bool:
        return self.watched


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes whenever somebody looks at the clock."""
    monkeypatch.setattr(output.time, "monotonic", itertools.count().__next__)


def test_it_is_shown_from_the_second_second_on_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 0.5, 1.5, 1.6, 1.8])
    monkeypatch.setattr(output.time, "monotonic", moments.__next__)
    monkeypatch.setattr(sys, "stderr", Screen(watched=True))
    with Progress() as watch:
        for done in range(1, 5):
            watch(done, 9)
    assert isinstance(sys.stderr, Screen)
    assert sys.stderr.getvalue() == "\r\x1b[K2 of 9 files\r\x1b[K4 of 9 files\r\x1b[K"


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("argv", [(), ("--against", "HEAD"), ("--jobs", "2")])
def test_a_check_tells_of_the_files_that_it_examines(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    from confbag.ratchets.command import main

    for number in range(6):
        engine.write(f"engine/m{number}.py", "def f():\n    return get_server_args().tp_size\n")
    engine.commit()
    for watched in (True, False):
        screen = Screen(watched)
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        assert main(["check", "--no-cache", *argv], engine.folder) == 1
        said = screen.getvalue()
        if not watched:
            assert said == ""
            continue
        assert said.endswith("\r\x1b[K")
        steps = [tuple(map(int, step)) for step in re.findall(r"(\d+) of (\d+) files", said)]
        assert len(steps) >= 6
        assert all(done <= total for done, total in steps)
        assert ("files of HEAD" in said) == bool("--against" in argv)
