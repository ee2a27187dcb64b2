"""Whom a path belongs to, by the repository's CODEOWNERS file: the last pattern that matches counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from confbag.ratchets.paths import matches

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


def owners_of(repository: Path) -> Callable[[str], str]:
    """Path -> its owners in one line; empty without an owner, or a file."""
    file = next((repository / place for place in PLACES if (repository / place).is_file()), None)
    text = file.read_text(encoding="utf-8", errors="replace") if file else ""
    rules = []
    for line in text.splitlines():
        words = re.split(r"(?<!\\)\s+", line.partition(" #")[0].strip())
        if words[0] and not words[0].startswith("#"):
            rules.append((_globs(words[0].replace("\\ ", " ")), " ".join(words[1:])))

    def owner(path: str) -> str:
        return next((who for globs, who in reversed(rules) if any(matches(path, glob) for glob in globs)), "")

    return owner


def _globs(pattern: str) -> tuple[str, ...]:
    """A pattern with a slash before its end is anchored at the top; any other one matches at every depth."""
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    return (body,) if anchored else (body, f"**/{body}")
