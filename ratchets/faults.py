"""What is wrong with what somebody wrote: place, message, and what to write instead; all of a run at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Fault(NamedTuple):
    """`where` is file:line:column, file:line, an option, or nothing."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(Exception):
    """Usage, configuration, a baseline or an exceptions file is wrong: exit 8, and nothing else is judged."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


def usage(message: str, where: str = "") -> UsageError:
    """An error of one fault."""
    return UsageError([Fault(where, message)])
