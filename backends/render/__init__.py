"""A plan as text: pure functions from a plan to a table, JSON, Markdown, HTML, or the story of one decision."""

from __future__ import annotations

FORMATS = ("table", "json", "markdown", "html")


def clean(text: object) -> str:
    """One printable line: what a terminal would act upon (control characters, changes of direction) is escaped."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
