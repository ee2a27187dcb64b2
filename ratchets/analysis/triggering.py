"""Which files a rule may find something in, by their bytes: words first, then the rule's own look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source import triage as triaging


class Triggers:
    """What the rules look for in bytes. `more` and `echoed` are words that the last full run added.

    `glancing`: only what may hold a finding is wanted, not what other files may ask of it.
    """

    def __init__(
        self,
        configuration: Configuration,
        rules: Mapping[str, Any],
        words: frozenset[str] | None,
        more: Sequence[str],
        echoed: Mapping[str, Sequence[bytes]],
        *,
        glancing: bool,
    ) -> None:
        self._words: dict[str, tuple[bytes, ...] | None] = {}
        self._looks: dict[str, Callable[[bytes], bool]] = {}
        for code, rule in rules.items():
            words_of = rule.triggers(configuration)
            self._words[code] = None if words_of is None else (*words_of, *echoed.get(code, ()))
            if glancing and hasattr(rule, "glance"):
                self._looks[code] = rule.glance(configuration)
        self._records = None if words is None else [word.encode() for word in (*words, *more)]
        self._exact = None if words is None else triaging.pattern([*words, *more])

    def of(self, source: bytes) -> tuple[tuple[str, ...], bool]:
        """The rules that may find something in a file, and whether the record rules may."""
        codes = tuple(
            code
            for code, words in self._words.items()
            if (words is None or triaging.holds(source, words))
            and (code not in self._looks or self._looks[code](source))
        )
        records = (
            self._records is not None
            and self._exact is not None
            and triaging.holds(source, self._records)
            and self._exact.search(source) is not None
        )
        return codes, records
