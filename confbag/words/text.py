"""Text as a person may be shown it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


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


def amount(number: int, measure: str) -> str:
    """So much of a measure: `32 rows`; of bytes in the largest binary unit that is exact, `8 MiB`."""
    if measure == "bytes":
        for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
            if number >= 1 << power and number % (1 << power) == 0:
                return f"{number >> power} {unit}"
    return f"{number} {measure}"


LISTED = 200
"""So many of a kind are told one by one."""


def capped(items: Iterable[T], more: Callable[[int], T], most: int = LISTED) -> Iterator[T]:
    """The first of many, and `more(count)` for the rest: nobody reads thirty thousand faults."""
    left = 0
    for number, item in enumerate(items):
        if number < most:
            yield item
        else:
            left += 1
    if left:
        yield more(left)


def listed(names: Iterable[str], most: int = 40) -> str:
    """Names joined by commas; of very many, the first and how many more there are."""
    every = list(names)
    return ", ".join(every) if len(every) <= most else f"{', '.join(every[:most])} and {len(every) - most} more"
