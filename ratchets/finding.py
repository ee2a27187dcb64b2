"""What a rule finds: one access at one place, with the edit that would end it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """A token, 1-based in code points, its qualname, and the lines of its statement."""

    line: int
    column: int
    end_line: int
    end_column: int
    qualname: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Fix:
    """One edit in bytes of the file; `imports` are statements the new text needs, `record` what it reads no more."""

    start: int
    end: int
    text: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Line and column are 1-based and count code points; the path is POSIX and relative to the repository root.

    `first` and `last` are the lines of the innermost simple statement or compound header, where a suppression may
    stand (0 where the rule knows no statement).
    """

    path: str
    line: int
    column: int
    code: str
    symbol: str
    qualname: str
    message: str
    fixable: bool = False
    end_line: int = 0
    end_column: int = 0
    first: int = 0
    last: int = 0
    fix: Fix | None = field(default=None, compare=False)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a baseline counts: nothing in it changes when code only moves."""
        return (self.code, self.path, self.qualname, self.symbol)


@dataclass(frozen=True, slots=True, order=True)
class Unanalysed:
    """A file that no rule could judge, and the reason in words.

    `lasting`: the file itself is the reason, so that another run would say the same.
    """

    path: str
    reason: str
    line: int = 0
    lasting: bool = True
