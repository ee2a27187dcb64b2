"""Comment tokens of Python text of any version: what stands in a string, f-strings and their parts too, is none."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Iterator

_NEWLINE = re.compile(r"\r\n|\r|\n")
# What matters in code: a comment, the start of a string, a bracket, and in a replacement field what ends it.
_CODE = re.compile(
    r"""#[^\r\n]*|(?P<prefix>\b[rRbBuUfFtT]{1,2})?(?P<quote>\"{3}|'{3}|\"|')|[()\[\]{}:]""",
)
# A backslash protects what follows, but for a brace: `\\N{NAME}` is the one brace that it makes text.
_ESCAPE = r"\\N\{[^}\r\n]*\}|\\(?:\r\n|[^{}])"
_SPEC = "spec"
_TEXT = {
    **{
        quote: re.compile(rf"{_ESCAPE}|(?P<end>{quote})|(?P<brace>\{{\{{|\}}\}}|\{{|\}})", re.DOTALL)
        for quote in ('"', "'", '"""', "'''")
    },
    _SPEC: re.compile(r"(?P<end>\})|(?P<brace>\{)"),
}


def comments(source: bytes) -> Iterator[tuple[int, int, str]]:
    """Line and column (1-based, code points) and text of each comment."""
    text = _decoded(source)
    starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    line = 0
    for offset, comment in _scan(text):
        while line + 1 < len(starts) and starts[line + 1] <= offset:
            line += 1
        yield line + 1, offset - starts[line] + 1, comment


def _decoded(source: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:
        encoding = "utf-8"
    return source.removeprefix(codecs.BOM_UTF8).decode(encoding.removesuffix("-sig"), "replace")


def _scan(text: str) -> Iterator[tuple[int, str]]:
    """A stack of what is open: a string (its quote, and whether braces are fields), or a field (its bracket depth)."""
    open_: list[tuple[str, bool] | int] = []
    at = 0
    while at < len(text):
        inside = open_[-1] if open_ else None
        if isinstance(inside, tuple):
            at = _string(text, at, inside, open_)
            continue
        match = _CODE.search(text, at)
        if match is None:
            return
        at = match.end()
        found = match[0]
        if found[0] == "#":
            yield match.start(), found
        elif match["quote"]:
            prefix = (match["prefix"] or "").lower()
            open_.append((match["quote"], "f" in prefix or "t" in prefix))
        elif inside is not None:
            _field(found, inside, open_)


def _string(text: str, at: int, inside: tuple[str, bool], open_: list[tuple[str, bool] | int]) -> int:
    quote, fields = inside
    match = _TEXT[quote].search(text, at)
    end = len(text) if match is None else match.start()
    # A string of one line that was not closed: the file cannot be parsed, and the rest of it is no string.
    broken = re.search(r"(?<!\\)[\r\n]", text[at:end]) if len(quote) == 1 else None
    if broken is not None or match is None:
        open_.clear()
        return len(text) if broken is None else at + broken.end()
    if match["end"]:
        open_.pop()
        if quote == _SPEC:
            open_.pop()  # what ends a format specification ends its field
    elif fields and match["brace"] == "{":
        open_.append(0)
    return match.end()


def _field(found: str, depth: int, open_: list[tuple[str, bool] | int]) -> None:
    if found in ("(", "[", "{"):
        open_[-1] = depth + 1
    elif depth and found in (")", "]", "}"):
        open_[-1] = depth - 1
    elif found == "}":
        open_.pop()
    elif not depth and found == ":":
        open_.append((_SPEC, True))
