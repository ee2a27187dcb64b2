"""What runs keep for each other: facts by content, whole results, and what the last full run said of every file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from confbag.ratchets.analysis.cache import Cache, digest, names, packed, unpacked
from confbag.ratchets.analysis.results import Analysis, Examined, Task
from confbag.ratchets.codes import RULES
from confbag.ratchets.configuration import Configuration

if TYPE_CHECKING:
    from confbag.ratchets.binder.facts import ModuleFacts
    from confbag.ratchets.binder.world import Known

# Raised with a change of what rules find that leaves every file of ours as long as it was.
VERSION = "3"


class Keeper:
    """The cache as one run uses it. `source` gives a file's bytes, None where it cannot be read."""

    def __init__(
        self, cache: Cache, configuration: Configuration, source: Callable[[str], bytes | None], *, triage: bool
    ) -> None:
        self.cache = cache
        self.configuration = configuration
        self.source = source
        self.digests: dict[str, bytes] = {}
        self.options = _options(configuration, triage)

    def reads(self, path: str, source: bytes) -> bytes:
        """Note what is in a file; its digest."""
        found = self.digests[path] = digest(source)
        return found

    # Whole runs

    def key(self, files: Sequence[str]) -> bytes:
        """What a whole run depends on."""
        fields = repr([sorted(spec.fields.items()) for spec in self.configuration.records]).encode()
        paths = [path for path in files if path in self.digests]
        return digest(self.options, fields, names(files), names(paths), *(self.digests[path] for path in paths))

    def result(self, key: bytes) -> Analysis | None:
        """What a run on exactly these files came to."""
        kept = self.cache.result(key)
        return kept if isinstance(kept, Analysis) else None

    # Facts by file

    def recall(self, task: Task, known: Known) -> Examined | None:
        """What an earlier run found on the same content with the same answers."""
        if task.path not in self.digests:
            return None
        kept = self.cache.get(self._entry(task))
        if not isinstance(kept, list):
            return None
        for examined in kept:
            if isinstance(examined, Examined) and self._same_answers(task, examined, known):
                return examined
        return None

    def note(self, task: Task, examined: Examined) -> None:
        """Keep what a file gave."""
        if task.path not in self.digests:
            return
        if examined.unanalysed is not None and not examined.unanalysed.lasting:
            return
        key = self._entry(task)
        kept = self.cache.get(key)
        versions = [*kept, examined] if isinstance(kept, list) else [examined]
        self.cache.put(key, versions[-4:])

    def _entry(self, task: Task) -> bytes:
        asked = names([task.path, *task.codes, str(task.records), *sorted(task.wanted)])
        return digest(self.options, asked, self.digests[task.path])

    def _same_answers(self, task: Task, examined: Examined, known: Known) -> bool:
        from confbag.ratchets.binder.facts import ModuleFacts
        from confbag.ratchets.binder.world import answer

        facts = examined.facts.get("records")
        if not isinstance(facts, ModuleFacts):
            return True
        if facts.words_seen != _words_in(known.words | known.inner, self.source(task.path) or b""):
            return False
        return all(answer(known, question) == told for question, told in facts.asked.items())

    # The last full run

    def keep(
        self,
        rules: Mapping[str, Mapping[str, object]],
        echoed: Mapping[str, Sequence[bytes]],
        words: Sequence[str],
        modules: Mapping[str, ModuleFacts] | None,
    ) -> None:
        """Keep what every file says: facts by rule and path, and the words that make files speak of them."""
        self.cache.save()
        if modules is not None:
            self.cache.write("last-facts", (self.options, modules))
        for code, facts in rules.items():
            held = facts if code in RULES else {path: packed(one) for path, one in facts.items()}
            self.cache.write(f"last-{code}", (self.options, held))
        self.cache.write("last-words", (self.options, words, echoed))

    def keep_result(self, key: bytes, analysis: Analysis) -> None:
        """Keep what a whole run came to, unless another one on the same files may come to more."""
        if all(each.lasting for each in analysis.unanalysed):
            self.cache.save_result(key, analysis)

    def words(self) -> tuple[Sequence[str], Mapping[str, Sequence[bytes]]] | None:
        """The words that the last full run found to be triggers: of the record rules, and of others by code."""
        kept = self._last("last-words", 3)
        return None if kept is None else (kept[1], kept[2])

    def said(self, code: str, but: frozenset[str]) -> tuple[dict[str, object], bool]:
        """What other files said for a rule, and whether that is all of it."""
        kept = self._last(f"last-{code}", 2)
        if kept is None:
            return {}, False
        facts = {path: facts for path, facts in kept[1].items() if path not in but}
        if code in RULES:
            return facts, True
        # Those of a plugin may be of a class of its own, which no cache brings back.
        facts = {path: unpacked(held) for path, held in facts.items()}
        found = {path: one for path, one in facts.items() if one is not None}
        return found, len(found) == len(facts)

    def modules(self, but: frozenset[str]) -> dict[str, ModuleFacts] | None:
        """What other files said for the record rules."""
        kept = self._last("last-facts", 2)
        return None if kept is None else {path: facts for path, facts in kept[1].items() if path not in but}

    def _last(self, name: str, parts: int) -> tuple[Any, ...] | None:
        kept = self.cache.read(name)
        if isinstance(kept, tuple) and len(kept) == parts and kept[0] == self.options:
            return kept
        return None


def tool() -> tuple[tuple[str, int], ...]:
    """Our own modules and their sizes: a checkout that moves on keeps its version number, and must not keep its facts.

    Sizes, for they are the same wherever a cache is restored, and no file need be read.
    """
    found: list[tuple[str, int]] = []
    top = os.path.dirname(os.path.dirname(__file__))
    folders = [top]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    found.append((entry.path[len(top) :], entry.stat().st_size))
    return tuple(sorted(found))


def _options(configuration: Configuration, triage: bool) -> bytes:
    data = repr(
        (
            VERSION, tool(), sys.version_info[:2], configuration.source, configuration.codes, configuration.max_bytes,
            [replace(spec, fields={}) for spec in configuration.records],
            configuration.predicates, configuration.strict, configuration.kernels, configuration.hot,
            configuration.host, sorted(configuration.sites.items()), sorted(configuration.legacy.items()),
            sorted((code, sorted(table.items())) for code, table in configuration.tables.items()),
            configuration.plugins, configuration.prefix, triage,
        )
    )  # fmt: skip
    return data.encode("utf-8", "surrogateescape")


def _words_in(words: Iterable[str], source: bytes) -> frozenset[str]:
    return frozenset(word for word in words if word.encode() in source)
