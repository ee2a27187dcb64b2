"""Lines and columns of a terminal: always 80 columns, the same in a pipe, apart from colour.

What a terminal is, and whether colours are wanted, is never asked here: no variable and no window changes the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

WIDTH = 80
BOLD, DIM, GOOD, BAD, WARNING = "1", "2", "1;32", "1;31", "1;33"
"""Styles, by what they say: parameters of the escape sequence that sets one."""

_WORD = re.compile(r"\s*\S+\s*")

Span: TypeAlias = "tuple[str, str]"
"""Letters and their style; the style may be empty."""
Line: TypeAlias = "tuple[Span, ...]"
Lines: TypeAlias = "list[Line]"
"""What columns make: set already, each line within its width."""


class Text:
    """A text, styled in parts."""

    __slots__ = ("spans",)

    def __init__(self, text: str = "", style: str = "") -> None:
        self.spans: Line = ((text, style),)

    @classmethod
    def assemble(cls, *parts: str | Span | Text) -> Text:
        """One text of several; a pair is letters and their style."""
        made = cls()
        spans: list[Span] = []
        for part in parts:
            spans += part.spans if isinstance(part, Text) else [(part, "")] if isinstance(part, str) else [part]
        made.spans = tuple(spans)
        return made


Cell: TypeAlias = "str | Text | Lines"
BLANK = Text()


def text_of(parts: Iterable[Text | Lines], *, colour: bool = False) -> str:
    """The parts below each other, in lines of at most WIDTH columns without trailing blanks; ANSI colours if asked."""
    lines = (line for part in parts for line in (_wrapped(part, WIDTH) if isinstance(part, Text) else part))
    return "".join(f"{_painted(_stripped(line), colour)}\n" for line in lines)


def columns(rows: Iterable[Iterable[Cell]], *widths: int, within: int = WIDTH) -> Lines:
    """Rows of cells one blank apart, each wrapped within its column; nothing is cut. The last takes what is left."""
    every = (*widths, within - sum(widths) - len(widths))
    lines: Lines = []
    for row in rows:
        cells = [_set(cell, width) for cell, width in zip(row, every, strict=False)]
        lines += (_beside(beside, every) for beside in zip_longest(*cells, fillvalue=()))
    return lines


def labelled(lines: Iterable[tuple[str, str | Text]], width: int) -> Lines:
    """Lines with a bold label before each."""
    return columns(((Text(label, BOLD), text) for label, text in lines), width)


def against(providers: str, reason: str) -> Text:
    """One reason and those whom it keeps out: they are searched for, so they stand out."""
    return Text.assemble(providers, (f" - {reason}", DIM))


def _set(cell: Cell, width: int) -> Lines:
    if isinstance(cell, list):
        return cell
    return _wrapped(Text(cell) if isinstance(cell, str) else cell, width)


def _beside(cells: Sequence[Line], widths: Sequence[int]) -> Line:
    """The lines of one row's cells as one line, every cell but the last filled up with blanks."""
    spans: list[Span] = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=False)):
        spans += cell
        if number < len(cells) - 1:
            spans.append((" " * (width - _size("".join(text for text, _ in cell)) + 1), ""))
    return tuple(spans)


def _wrapped(text: Text, width: int) -> Lines:
    whole = "".join(letters for letters, _ in text.spans)
    if "\n" not in whole and _size(whole) <= width:
        return [_stripped(text.spans)]
    ends = [*_breaks(whole, width), len(whole)]
    return [_stripped(tuple(_cut(text.spans, start, end))) for start, end in zip([0, *ends], ends, strict=False)]


def _breaks(text: str, width: int) -> Iterator[int]:
    """Where a line begins: before a word that does not fit, and within one that no line can hold."""
    column = 0
    for match in _WORD.finditer(text):
        word = match[0]
        size = _size(word.rstrip())
        if column and size > width - column:
            yield match.start()
            column = 0
        if size > width:
            for at, letter in enumerate(word.rstrip()):
                if _size(letter) > width - column:
                    yield match.start() + at
                    column = 0
                column += _size(letter)
            column += len(word) - len(word.rstrip())
        else:
            column += _size(word)


def _cut(spans: Line, start: int, end: int) -> Iterator[Span]:
    at = 0
    for text, style in spans:
        part = text[max(start - at, 0) : max(end - at, 0)]
        at += len(text)
        if part:
            yield part, style


def _stripped(line: Line) -> Line:
    """A line without its trailing blanks."""
    left = len("".join(text for text, _ in line).rstrip())
    return tuple(_cut(line, 0, left))


def _painted(line: Line, colour: bool) -> str:
    return "".join(f"\x1b[{style}m{text}\x1b[0m" if colour and style else text for text, style in line)


def _size(text: str) -> int:
    """How many columns a terminal takes for it."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)
