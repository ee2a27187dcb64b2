"""A plan as text: pure functions from a plan to a table, JSON, Markdown, HTML, or the story of one decision."""

from __future__ import annotations

FORMATS = ("table", "json", "markdown", "html")
