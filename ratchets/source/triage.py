"""What is not worth a tree: byte triggers first, then a quick look that only ever errs towards keeping a file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from confbag.ratchets.configuration import Configuration

_STAR = re.compile(rb"import[ \t\\\r\n\x0c]*\*")
_BY_NAME = {"CB102", "CB103", "CB104", "CB111"}


def by_name(configuration: Configuration) -> bool:
    """Whether an enabled rule looks at records that come by a name or a type, not from an accessor."""
    return bool(_BY_NAME & set(configuration.codes))


def record_words(configuration: Configuration) -> frozenset[str]:
    """The words without which a file can neither reach a record nor pass one on."""
    words: set[str] = set()
    named = by_name(configuration)
    for spec in configuration.records:
        for path in spec.accessors:
            words.add(path.removesuffix("()").rpartition(".")[2])
        if named:
            words.update(spec.holders)
            words.update(path.rpartition(".")[2] for path in spec.types)
    return frozenset(words)


def pattern(words: Iterable[str]) -> re.Pattern[bytes] | None:
    """What finds any of the words as a whole word; None for no words."""
    found = sorted({word for word in words if word}, key=lambda word: (-len(word), word))
    if not found:
        return None
    return re.compile(rb"(?<![\w])(?:" + b"|".join(re.escape(word.encode()) for word in found) + rb")(?![\w])")


def passes_on(source: bytes) -> bool:
    """Whether a file may hand on what it never names: it imports everything of some module."""
    return b"*" in source and _STAR.search(source) is not None


def holds(source: bytes, words: Iterable[bytes]) -> bool:
    """Whether any of the words is in a file's bytes."""
    return any(word in source for word in words)
