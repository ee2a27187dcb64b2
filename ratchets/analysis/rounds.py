"""The rounds of the record rules: a file is read again when another's answers change, until none does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from confbag.ratchets.analysis.results import Task
from confbag.ratchets.source import triage as triaging

if TYPE_CHECKING:
    from confbag.ratchets.binder.facts import ModuleFacts
    from confbag.ratchets.binder.world import Known

# A file is read once more for each answer that is new to it, along a chain of files once a link; one that is read so
# often answers itself another thing each time.
_OFTEN = 64


class Rounds:
    """Asks which files to read again. `modules` and `failed` change while the rounds go on."""

    def __init__(
        self,
        files: Collection[str],
        modules: Mapping[str, ModuleFacts],
        others: Mapping[str, ModuleFacts],
        failed: Collection[str],
        read: Callable[[str], bytes | None],
        words: frozenset[str],
        paths_of: Mapping[str, str],
        *,
        handing: bool,
    ) -> None:
        self.files = files
        self.modules = modules
        self.others = others
        self.failed = failed
        self.read = read
        self.words = words
        self.seen: set[str] = set()
        self.paths_of = paths_of
        # Whether it matters what a function only reads of what others hand to it.
        self.handing = handing
        self.silent: dict[str, dict[str, bool]] = {}
        self.wanted: dict[str, frozenset[str]] = {}
        self.times: Counter[str] = Counter()
        self.unsettled: set[str] = set()

    def until_settled(self, among: Collection[str] | None = None) -> Iterator[tuple[list[Task], Known]]:
        """What to examine, with what is known so far, until nothing is left; what never settles is in `unsettled`.

        `among` limits it to some files, and to those that they ask.
        """
        self.seen = set(self.words)
        for number in count():
            known = self.known()
            again = self._again(known, among, first=not number)
            if not again:
                return
            yield again, known

    def known(self) -> Known:
        """What all files that were examined say."""
        from confbag.ratchets.analysis.link import known_of

        return known_of([*self.others.values(), *self.modules.values()])

    def asked(self, tasks: Iterable[Task]) -> list[Task]:
        """The tasks, with what others ask of their files by now."""
        asked = self._asked_for()
        found: list[Task] = []
        for task in tasks:
            wanted = asked.get(task.path, frozenset()) if task.records else frozenset()
            self.wanted[task.path] = wanted
            found.append(replace(task, wanted=wanted))
        return found

    def _again(self, known: Known, among: Collection[str] | None, *, first: bool) -> list[Task]:
        from confbag.ratchets.binder.world import answer

        fresh = known.words - self.seen
        self.seen |= fresh
        again: list[Task] = []
        asked = self._asked_for()
        pattern = triaging.pattern(fresh)
        encoded = [word.encode() for word in fresh]
        for path in self.files:
            if path in self.failed or path in self.unsettled:
                continue
            if among is not None and path not in among and path not in asked:
                continue
            facts = self.modules.get(path)
            before = self.wanted.get(path, frozenset())
            wanted = asked.get(path, frozenset()) | before
            stale = wanted != before
            if not stale and facts is not None:
                stale = any(answer(known, question) != told for question, told in facts.asked.items())
            if not stale and (first or pattern is not None):
                source = self.read(path) or b""
                if pattern is not None and triaging.holds(source, encoded):
                    # Words that were known when the file was examined say nothing new.
                    told = frozenset() if facts is None else facts.words_seen
                    stale = any(word.decode() not in told for word in pattern.findall(source))
                # A name that everything is imported for need not be written.
                stale = stale or (first and facts is None and triaging.passes_on(source))
            if stale and self.times[path] >= _OFTEN:
                self.unsettled.add(path)
            elif stale:
                self.times[path] += 1
                self.wanted[path] = wanted
                again.append(Task(path, (), True, wanted))
        return again

    def _asked_for(self) -> dict[str, frozenset[str]]:
        """The functions that other modules hand records to, by the file they may be in."""
        names: dict[str, set[str]] = {}
        unheard = set[str]().union(*(facts.unheard for facts in self.modules.values()))
        for facts in self.modules.values():
            for wanted in facts.wanted:
                module = wanted
                while module and module not in self.paths_of:
                    module = module.rpartition(".")[0]
                if module:
                    names.setdefault(module, set()).add(wanted[len(module) + 1 :])
        found: dict[str, frozenset[str]] = {}
        for module, held in names.items():
            asked = {name for name in held if f"{module}.{name}" in unheard}
            told = held if self.handing else asked | (held - asked - self._silent(module, held - asked))
            if told:
                found[self.paths_of[module]] = frozenset(f"{module}.{name}" for name in told)
        return found

    def _silent(self, module: str, names: set[str]) -> set[str]:
        """Of some functions of a module those that certainly give nothing back of what they are given."""
        known = self.silent.setdefault(module, {})
        new = names - known.keys()
        if new:
            from confbag.ratchets.source.returning import silent

            found = silent(self.read(self.paths_of[module]) or b"", new)
            known.update((name, name in found) for name in new)
        return {name for name in names if known[name]}
