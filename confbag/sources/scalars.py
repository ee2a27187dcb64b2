"""What a plain YAML scalar means: YAML 1.2's core schema, narrowed so that nothing but a plain number reads as one."""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

CORE = "tag:yaml.org,2002:"
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
DIGITS = 400  # more than any setting; int() itself refuses thousands

# A leading zero makes text: YAML 1.1 reads 017 as 15 and 1.2 as 17, and whoever wrote it meant neither.
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"(?:([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_FIRST = frozenset("0123456789.-+~nNtTfF")


class ScalarError(ValueError):
    """A scalar contradicts its tag. The message never holds the scalar."""


def plain(text: str) -> Scalar:
    """The value of an unquoted, untagged scalar."""
    if text and text[0] not in _FIRST:
        return text
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    number = _number(text)
    return text if number is None else number


def tagged(text: str, tag: str) -> Scalar:
    """The value of a scalar that carries one of the core tags; ScalarError where the text is not one."""
    kind = tag[len(CORE) :] if tag.startswith(CORE) else ""
    if kind == "str":
        return text
    if kind == "null" and text in NULLS:
        return None
    if kind == "bool" and text in BOOLEANS:
        return BOOLEANS[text]
    if kind in ("int", "float"):
        number = _number(text)
        if isinstance(number, int if kind == "int" else (int, float)):
            return number if kind == "int" else float(number)
    if kind in ("null", "bool", "int", "float"):
        raise ScalarError(f"the value is not what its tag !!{kind} says")
    raise ScalarError(
        "only YAML's core tags are read (!!str, !!int, !!float, !!bool, !!null, !!map, !!seq); remove the tag"
    )


def _number(text: str) -> int | float | None:
    if _INT.match(text):
        if len(text) > DIGITS:
            raise ScalarError(f"the number has more than {DIGITS} digits; quote it if it is text")
        return int(text)
    if _BASED.match(text):
        if len(text) > DIGITS:
            raise ScalarError(f"the number has more than {DIGITS} digits; quote it if it is text")
        return int(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.match(text):
        return float(text)
    special = _SPECIAL.match(text)
    if special is None:
        return None
    if text[-3:].lower() == "nan":
        return float("nan")
    return float("-inf") if special.group(1) == "-" else float("inf")
