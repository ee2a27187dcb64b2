"""From files to findings: triggers, triage, one tree at a time, facts, the link step, the rules."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from confbag.ratchets.analysis.workers import Died, each
from confbag.ratchets.codes import RECORD_RULES
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Unanalysed
from confbag.ratchets.rules import load
from confbag.ratchets.source import triage as triaging
from confbag.ratchets.source.modules import module_of

if TYPE_CHECKING:
    from confbag.ratchets.analysis.cache import Cache
    from confbag.ratchets.binder.facts import ModuleFacts
    from confbag.ratchets.binder.world import Known

# Raised with every change of what rules find: facts of other versions are not used.
VERSION = "2"
_ROUNDS = 24
_PARALLEL = 400_000


@dataclass(frozen=True, slots=True)
class Analysis:
    """Findings in source order, before suppressions, exceptions and baseline are asked.

    `analysed` are the paths that were judged (also those that hold no trigger); `stats` are counts and seconds by
    name; `notes` are sentences for the reader (a partial run without facts of a full one says so).
    """

    findings: tuple[Finding, ...]
    unanalysed: tuple[Unanalysed, ...]
    analysed: frozenset[str]
    stats: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """What one file gave: the reason that it gave nothing, or facts by rule (the record rules' under "records")."""

    unanalysed: Unanalysed | None
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Task:
    """One file to examine: for which rules, and which summaries of its functions others asked for."""

    path: str
    codes: tuple[str, ...]
    records: bool
    wanted: frozenset[str] = frozenset()


def analyse(
    configuration: Configuration,
    files: Iterable[str],
    *,
    read: Callable[[str], bytes],
    cache: Cache | None = None,
    jobs: int = 1,
    triage: bool = True,
    full: bool = True,
) -> Analysis:
    """`files` are POSIX paths relative to the repository; `read` gives their bytes (OSError: unanalysed).

    `full` says that `files` is everything the configuration names; otherwise link facts of the other files come from
    the cache of the last full run.
    """
    return Run(configuration, list(dict.fromkeys(files)), read, cache, jobs, triage, full).analysis()


class Run:
    """One analysis."""

    def __init__(
        self,
        configuration: Configuration,
        files: list[str],
        read: Callable[[str], bytes],
        cache: Cache | None,
        jobs: int,
        triage: bool,
        full: bool,
    ) -> None:
        self.configuration = configuration
        self.files = files
        self.read = read
        self.cache = cache
        self.jobs = jobs
        self.triage = triage
        self.full = full
        self.records = bool(set(configuration.codes) & set(RECORD_RULES)) and bool(configuration.records)
        self.rules: dict[str, Any] = dict(load(configuration))
        self.triggers: dict[str, tuple[bytes, ...] | None] = {
            code: rule.triggers(configuration) for code, rule in self.rules.items()
        }
        self.words = triaging.record_words(configuration) if self.records else frozenset()
        self.sources: dict[str, bytes] = {}
        self.digests: dict[str, bytes] = {}
        self.failed: dict[str, Unanalysed] = {}
        self.facts: dict[str, dict[str, object]] = {code: {} for code in self.rules}
        self.modules: dict[str, ModuleFacts] = {}
        self.others: dict[str, ModuleFacts] = {}
        self.wanted: dict[str, frozenset[str]] = {}
        self.stats: dict[str, float] = {}
        self.notes: list[str] = []
        self.started = time.perf_counter()

    # The whole

    def analysis(self, *, stored: bool = True) -> Analysis:
        """Everything in order; a run on the same files as one before is looked up, unless facts are wanted too."""
        tasks = self._first()
        key = self._key() if self.cache is not None and self.full else None
        if stored and key is not None and self.cache is not None:
            kept = self.cache.result(key)
            if isinstance(kept, Analysis):
                self._took("seconds")
                return replace(kept, stats={**self.stats, "cached": 1.0})
        if tasks or self.full:
            self._examine(tasks, None)
            self._echoes(tasks)
            self.sources.clear()
            if self.records:
                self._rounds()
        found = self._judge()
        self._took("seconds")
        analysed = frozenset(path for path in self.files if path not in self.failed)
        analysis = Analysis(
            tuple(found), tuple(sorted(self.failed.values())), analysed, dict(self.stats), tuple(self.notes)
        )
        if self.cache is not None and self.full:
            self._keep(analysis, key)
        return analysis

    def _took(self, name: str) -> None:
        self.stats[name] = time.perf_counter() - self.started

    # Files

    def _first(self) -> list[Task]:
        """Read every file once; keep those that hold a trigger of a rule."""
        tasks: list[Task] = []
        words = [word.encode() for word in self.words]
        remembered = self._remembered() if self.records and not self.full else ()
        words.extend(word.encode() for word in remembered)
        exact = triaging.pattern([*self.words, *remembered])
        hashing = self.cache is not None
        if hashing:
            from confbag.ratchets.analysis.cache import digest
        for path in self.files:
            try:
                source = self.read(path)
            except OSError as error:
                self.failed[path] = Unanalysed(path, f"cannot be read: {error.strerror or error}")
                continue
            if hashing:
                self.digests[path] = digest(source)
            codes = tuple(
                code
                for code, triggers in self.triggers.items()
                if not self.triage or triggers is None or triaging.holds(source, triggers)
            )
            records = self.records and (
                not self.triage
                or (triaging.holds(source, words) and exact is not None and exact.search(source) is not None)
            )
            if codes or records:
                tasks.append(Task(path, codes, records))
                self.sources[path] = source
        self.stats["files"] = len(self.files)
        self.stats["triggered"] = len(tasks)
        if not self.full and self.records and any(task.records for task in tasks):
            self._others()
        self._took("read")
        return tasks

    def _source(self, path: str) -> bytes:
        found = self.sources.get(path)
        return self.read(path) if found is None else found

    # One file

    def examine(self, task: Task, known: Known) -> Examined:
        """One tree for all rules that want it, dropped when they are done."""
        enabled = gc.isenabled()
        # The collector would walk the tree again and again, and finds nothing in it.
        gc.disable()
        try:
            return self._one(task, known)
        finally:
            if enabled:
                gc.enable()

    def _one(self, task: Task, known: Known) -> Examined:
        from confbag.ratchets.source.parse import Module, parse

        path = task.path
        name, package = module_of(path, self.configuration) or (path, False)
        try:
            module = parse(path, name, package, self._source(path), self.configuration.max_bytes)
            if not isinstance(module, Module):
                return Examined(module, {})
            facts: dict[str, object] = {}
            for code in task.codes:
                rule = self.rules[code]
                if not self.triage or rule.wanted(module.tree, self.configuration):
                    found = rule.collect(module, self.configuration)
                    if found is not None:
                        facts[code] = found
            if task.codes:
                from confbag.ratchets.names.lexicon import release

                release(module)
            if task.records:
                from confbag.ratchets.binder.bind import bind
                from confbag.ratchets.binder.world import World

                bound = bind(module, self.configuration, World(self.configuration, known), task.wanted)
                if bound.inexact and not module.large:
                    from confbag.ratchets.source.newer import lowered

                    better = lowered(module.source)
                    if better is not None:
                        module = replace(module, tree=better[0], exact=True)
                        bound = bind(module, self.configuration, World(self.configuration, known), task.wanted)
                facts["records"] = bound
        except (RecursionError, MemoryError):
            return Examined(Unanalysed(path, "nested too deep"), {})
        except OSError as error:
            return Examined(Unanalysed(path, f"cannot be read: {error.strerror or error}"), {})
        except Exception as error:
            # A fault of ours on one file: it is said and counts in the exit status, and the other files go on.
            return Examined(Unanalysed(path, f"the analysis failed: {type(error).__name__}: {error}"), {})
        return Examined(None, facts)

    def _examine(self, tasks: Sequence[Task], known: Known | None) -> None:
        """Examine files, in processes where there is enough to do."""
        from confbag.ratchets.binder.world import Known as Nothing

        now = Nothing() if known is None else known
        left: list[Task] = []
        for task in tasks:
            kept = self._recall(task, now)
            if kept is None:
                left.append(task)
            else:
                self._take(task, kept)
        size = sum(len(self.sources.get(task.path, b"")) or 10_000 for task in left)
        jobs = self.jobs if size > _PARALLEL else 1
        for task, result in each(
            left,
            lambda task: self.examine(task, now),
            jobs=jobs,
            weight=lambda task: len(self.sources.get(task.path, b"")),
        ):
            examined = Examined(Unanalysed(task.path, result.reason), {}) if isinstance(result, Died) else result
            self._take(task, examined)
            self._note(task, examined)
        self.stats["examined"] = self.stats.get("examined", 0) + len(left)

    def _take(self, task: Task, examined: Examined) -> None:
        from confbag.ratchets.binder.facts import ModuleFacts

        if examined.unanalysed is not None:
            self.failed[task.path] = examined.unanalysed
            return
        for code, facts in examined.facts.items():
            if code == "records":
                if isinstance(facts, ModuleFacts):
                    self.modules[task.path] = facts
            else:
                self.facts[code][task.path] = facts

    def _echoes(self, tasks: Sequence[Task]) -> None:
        """Examine the files that hold a name under which modules hand on what a rule looks for."""
        if not self.triage:
            return
        done = {(code, task.path) for task in tasks for code in task.codes}
        rules = {code: rule for code, rule in self.rules.items() if hasattr(rule, "echoes")}
        for _ in range(_ROUNDS):
            again: dict[str, tuple[str, ...]] = {}
            for code, rule in rules.items():
                words = rule.echoes(self.facts[code], self.configuration)
                for path in self.files if words else ():
                    if path not in self.failed and (code, path) not in done:
                        source = self._maybe(path)
                        if source is not None and triaging.holds(source, words):
                            again[path] = (*again.get(path, ()), code)
            if not again:
                return
            done.update((code, path) for path, codes in again.items() for code in codes)
            self._examine([Task(path, codes, False) for path, codes in again.items()], None)

    # Rounds of the record rules

    def _rounds(self) -> None:
        """Examine again what a new answer of another module changes, until no answer does."""
        from confbag.ratchets.analysis.link import known_of
        from confbag.ratchets.binder.world import answer

        seen: set[str] = set(self.words)
        paths_of = self._paths_of() if "CB104" in self.configuration.codes else {}
        for number in range(_ROUNDS):
            known = known_of([*self.others.values(), *self.modules.values()])
            fresh = known.words - seen
            seen |= fresh
            again: list[Task] = []
            asked = self._asked_for(paths_of)
            pattern = triaging.pattern(fresh)
            encoded = [word.encode() for word in fresh]
            for path in self.files:
                if path in self.failed:
                    continue
                facts = self.modules.get(path)
                wanted = asked.get(path, frozenset()) | self.wanted.get(path, frozenset())
                stale = wanted != self.wanted.get(path, frozenset())
                if not stale and facts is not None:
                    stale = any(answer(known, question) != told for question, told in facts.asked.items())
                if not stale and pattern is not None:
                    source = self._maybe(path)
                    stale = source is not None and triaging.holds(source, encoded) and bool(pattern.search(source))
                    # A name that everything is imported for need not be written.
                    stale = stale or (facts is None and source is not None and triaging.passes_on(source))
                if stale:
                    self.wanted[path] = wanted
                    again.append(Task(path, (), True, wanted))
            if not again:
                break
            self.stats["rounds"] = number + 1
            self._examine(again, known)
        self._took("bound")

    def _maybe(self, path: str) -> bytes | None:
        try:
            return self._source(path)
        except OSError:
            return None

    def _paths_of(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self.files:
            named = module_of(path, self.configuration)
            if named is not None:
                found.setdefault(named[0], path)
        return found

    def _asked_for(self, paths_of: Mapping[str, str]) -> dict[str, frozenset[str]]:
        """The functions that other modules hand records to, by the file they may be in."""
        found: dict[str, set[str]] = {}
        if paths_of:
            for facts in self.modules.values():
                for wanted in facts.wanted:
                    module = wanted
                    while module and module not in paths_of:
                        module = module.rpartition(".")[0]
                    if module:
                        found.setdefault(paths_of[module], set()).add(wanted)
        return {path: frozenset(wanted) for path, wanted in found.items()}

    # Findings

    def _judge(self) -> list[Finding]:
        found: list[Finding] = []
        for code, rule in self.rules.items():
            found.extend(rule.judge(self.facts[code], self.configuration))
        if self.modules:
            from confbag.ratchets.analysis.link import Link

            ours = set(self.files)
            link = Link({**self.others, **self.modules}, self.configuration)
            found.extend(finding for finding in link.findings(ours))
        self._took("judged")
        return sorted(found)

    # The cache

    def _options(self) -> bytes:
        import sys

        configuration = self.configuration
        data = repr(
            (
                VERSION, sys.version_info[:2], configuration.source, configuration.codes, configuration.max_bytes,
                [replace(spec, fields={}) for spec in configuration.records],
                configuration.predicates, configuration.strict, configuration.kernels, configuration.hot,
                configuration.host, sorted(configuration.sites.items()), sorted(configuration.legacy.items()),
                sorted((code, sorted(table.items())) for code, table in configuration.tables.items()),
                configuration.plugins, configuration.prefix, self.triage,
            )
        )  # fmt: skip
        return data.encode("utf-8", "surrogateescape")

    def _key(self) -> bytes:
        from confbag.ratchets.analysis.cache import digest, names

        fields = repr([sorted(spec.fields.items()) for spec in self.configuration.records]).encode()
        paths = [path for path in self.files if path in self.digests]
        return digest(self._options(), fields, names(self.files), names(paths), *(self.digests[path] for path in paths))

    def _entry(self, task: Task) -> bytes:
        from confbag.ratchets.analysis.cache import digest, names

        return digest(
            self._options(), names([task.path, *task.codes, str(task.records), *sorted(task.wanted)]),
            self.digests[task.path],
        )  # fmt: skip

    def _recall(self, task: Task, known: Known) -> Examined | None:
        """What an earlier run found on the same content with the same answers."""
        if self.cache is None or task.path not in self.digests:
            return None
        kept = self.cache.get(self._entry(task))
        if not isinstance(kept, list):
            return None
        for examined in kept:
            if isinstance(examined, Examined) and self._same_answers(task, examined, known):
                return examined
        return None

    def _same_answers(self, task: Task, examined: Examined, known: Known) -> bool:
        from confbag.ratchets.binder.facts import ModuleFacts
        from confbag.ratchets.binder.world import answer

        facts = examined.facts.get("records")
        if not isinstance(facts, ModuleFacts):
            return True
        if facts.words_seen != _words_in(known.words | known.inner, self._maybe(task.path) or b""):
            return False
        return all(answer(known, question) == told for question, told in facts.asked.items())

    def _note(self, task: Task, examined: Examined) -> None:
        if self.cache is None or task.path not in self.digests:
            return
        if examined.unanalysed is not None and "process" in examined.unanalysed.reason:
            # A process that was ended says nothing of the file.
            return
        key = self._entry(task)
        kept = self.cache.get(key)
        versions = [*kept, examined] if isinstance(kept, list) else [examined]
        self.cache.put(key, versions[-4:])

    def _keep(self, analysis: Analysis, key: bytes | None) -> None:
        if self.cache is None:
            return
        self.cache.save()
        if self.records:
            from confbag.ratchets.analysis.link import known_of

            known = known_of(self.modules.values())
            self.cache.write("last-words", (self._options(), sorted(known.words | self.words)))
            self.cache.write("last-facts", (self._options(), self.modules))
        if key is not None:
            self.cache.save_result(key, analysis)

    def _remembered(self) -> Sequence[str]:
        kept = self.cache.read("last-words") if self.cache is not None else None
        if isinstance(kept, tuple) and len(kept) == 2 and kept[0] == self._options():
            return [word for word in kept[1] if isinstance(word, str)]
        return ()

    def _others(self) -> None:
        """The facts of the files that this run does not read."""
        kept = self.cache.read("last-facts") if self.cache is not None else None
        if isinstance(kept, tuple) and len(kept) == 2 and kept[0] == self._options() and isinstance(kept[1], dict):
            ours = set(self.files)
            self.others = {path: facts for path, facts in kept[1].items() if path not in ours}
            return
        self.notes.append(
            "no facts of a full run are kept: aliases that come from other files are not followed; "
            "`confbag ratchet check` without paths is the gate"
        )


def _words_in(words: Iterable[str], source: bytes) -> frozenset[str]:
    return frozenset(word for word in words if word.encode() in source)


__all__ = ["Analysis", "Examined", "Run", "analyse"]
