"""Whom a path belongs to, by the repository's CODEOWNERS file: the last pattern that matches counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


def owners_of(repository: Path) -> Callable[[str], str]:
    """Path -> its owners in one line; empty without an owner, or a file."""
    file = next((repository / place for place in PLACES if (repository / place).is_file()), None)
    text = file.read_text(encoding="utf-8", errors="replace") if file else ""
    rules = []
    for line in text.splitlines():
        words = re.split(r"(?<!\\)\s+", line.partition(" #")[0].strip())
        if words[0] and not words[0].startswith("#"):
            rules.append((_pattern(words[0].replace("\\ ", " ").replace("\\#", "#")), " ".join(words[1:])))

    def owner(path: str) -> str:
        return next((who for pattern, who in reversed(rules) if pattern.match(path)), "")

    return owner


def _pattern(written: str) -> re.Pattern[str]:
    """One with a slash before its end is anchored at the top; any other one matches at every depth."""
    body = written.strip("/")
    parts = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", body):
        special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part)
        parts.append(re.escape(part) if special is None else special)
    anchor = "" if "/" in written.rstrip("/") else "(?:.*/)?"
    # A folder has all that is in it, but `docs/*` has no more than what is right in docs.
    inside = "/.*" if written.endswith("/") else "" if body.rpartition("/")[2] == "*" else "(?:/.*)?"
    return re.compile(f"{anchor}{''.join(parts)}{inside}\\Z", re.DOTALL)
