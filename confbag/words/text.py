"""Text as a person may be shown it."""

from __future__ import annotations

from typing import Any


def printable(text: object) -> str:
    """One printable line: what a terminal would act upon (control characters, changes of direction) is escaped."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def printable_data(value: Any) -> Any:
    """Plain data, every text of it printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): printable_data(item) for key, item in value.items()}
    return [printable_data(item) for item in value] if isinstance(value, list) else value


def count(number: int, noun: str) -> str:
    """`1 fault`, `2 faults`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
