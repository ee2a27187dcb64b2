"""Lines and columns of a terminal, set by rich: always 80 columns, the same in a pipe, apart from colour.

What a terminal is, and whether colours are wanted, is never asked here: no variable and no window changes the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

WIDTH = 80
BOLD, DIM, GOOD, BAD, WARNING = "bold", "dim", "bold green", "bold red", "bold yellow"
"""Rich's names of styles, by what they say."""
BLANK = Text()


def text_of(parts: Iterable[RenderableType], *, colour: bool = False) -> str:
    """The parts below each other, in lines of at most WIDTH columns without trailing blanks; ANSI colours if asked."""
    console = Console(width=WIDTH, height=1, color_system=None, legacy_windows=False, force_jupyter=False)
    colours = ColorSystem.STANDARD if colour else None
    lines = (line for part in parts for line in console.render_lines(part, pad=False))
    return "".join(f"{''.join(_painted(line, colours))}\n" for line in lines)


def columns(rows: Iterable[Iterable[str | Text | Table]], *widths: int, within: int = WIDTH) -> Table:
    """Rows of cells one blank apart, each wrapped within its column; nothing is cut. The last takes what is left."""
    last = within - sum(widths) - len(widths)
    table = Table.grid(
        *(Column(width=width, overflow="fold", justify="default") for width in (*widths, last)), padding=(0, 1, 0, 0)
    )
    for row in rows:
        # Text, which rich takes as it is: in a str it looks for markup.
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def labelled(lines: Iterable[tuple[str, str | Text]], width: int) -> Table:
    """Lines with a bold label before each."""
    return columns(((Text(label, BOLD), text) for label, text in lines), width)


def against(providers: str, reason: str) -> Text:
    """One reason and those whom it keeps out: they are searched for, so they stand out."""
    return Text.assemble(providers, (f" - {reason}", DIM))


def _painted(line: Sequence[Segment], colours: ColorSystem | None) -> Iterator[str]:
    left = len("".join(part.text for part in line).rstrip())
    for text, style, _ in line:
        yield style.render(text[:left], color_system=colours) if style else text[:left]
        left = max(left - len(text), 0)
