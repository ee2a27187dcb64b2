"""From files to findings: triggers, triage, one tree at a time, facts, the link step, the rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from confbag.ratchets.analysis.results import Analysis, Examined, Task
from confbag.ratchets.analysis.triggering import Triggers
from confbag.ratchets.codes import RECORD_RULES, RULES
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.faults import usage
from confbag.ratchets.finding import Finding, Unanalysed
from confbag.ratchets.rules import load
from confbag.ratchets.source import triage as triaging

if TYPE_CHECKING:
    from confbag.ratchets.analysis.cache import Cache
    from confbag.ratchets.analysis.keeping import Keeper
    from confbag.ratchets.analysis.rounds import Rounds
    from confbag.ratchets.binder.facts import ModuleFacts
    from confbag.ratchets.binder.world import Known

_PARALLEL = 400_000
# Bytes of sources that may stay in memory while rounds ask for them again.
_HELD = 64_000_000


def analyse(
    configuration: Configuration,
    files: Iterable[str],
    *,
    read: Callable[[str], bytes],
    cache: Cache | None = None,
    jobs: int = 1,
    triage: bool = True,
    full: bool = True,
    watch: Callable[[int, int], None] | None = None,
) -> Analysis:
    """`files` are POSIX paths relative to the repository; `read` gives their bytes (OSError: unanalysed).

    `full` says that `files` is everything the configuration names; otherwise link facts of the other files come from
    the cache of the last full run. `watch` is told how many files were examined, of how many that are known so far.
    """
    run = Run(configuration, list(dict.fromkeys(files)), read, cache, jobs, triage, full)
    run.watch = watch
    return run.analysis()


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
        self.jobs = jobs
        self.triage = triage
        self.full = full
        self.records = bool(set(configuration.codes) & set(RECORD_RULES)) and bool(configuration.records)
        self.rules: dict[str, Any] = dict(load(configuration))
        self.words = triaging.record_words(configuration) if self.records else frozenset()
        self.sources: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        self.failed: dict[str, Unanalysed] = {}
        self.facts: dict[str, dict[str, object]] = {code: {} for code in self.rules}
        self.modules: dict[str, ModuleFacts] = {}
        # What the last full run kept of the files that this one does not read.
        self.others: dict[str, ModuleFacts] = {}
        self.kept: dict[str, dict[str, object]] = {}
        self.linked = True
        self.stats: dict[str, float] = {}
        self.notes: list[str] = []
        self.watch: Callable[[int, int], None] | None = None
        self.done = self.promised = 0
        self.started = time.perf_counter()
        self.keeper: Keeper | None = None
        if cache is not None:
            from confbag.ratchets.analysis.keeping import Keeper

            self.keeper = Keeper(cache, configuration, self._maybe, triage=triage)

    # The whole

    def analysis(self, *, stored: bool = True) -> Analysis:
        """Everything in order; a run on the same files as one before is looked up, unless facts are wanted too."""
        triggers = self._triggers()
        tasks = self._read(triggers)
        key = self.keeper.key(self.files) if self.keeper is not None and self.full else None
        if stored and key is not None and self.keeper is not None:
            kept = self.keeper.result(key)
            if kept is not None:
                self._took("seconds")
                return replace(kept, stats={**self.stats, "cached": 1.0})
        if not self.full:
            self._recall_others(tasks)
        if tasks or self.full:
            rounds = self._rounds() if self.records else None
            self._first(tasks, rounds)
            self._more(tasks)
            if sum(self.sizes.values()) > _HELD:
                self.sources.clear()
            if rounds is not None:
                self._settle(rounds)
            self.sources.clear()
        found = self._judge()
        self._took("seconds")
        analysed = frozenset(path for path in self.files if path not in self.failed)
        analysis = Analysis(
            tuple(found),
            tuple(sorted(self.failed.values())),
            analysed,
            dict(self.stats),
            tuple(self.notes),
            self.linked,
        )
        if key is not None:
            self._keep(analysis, key)
        return analysis

    def _took(self, name: str) -> None:
        self.stats[name] = time.perf_counter() - self.started

    # Files

    def _triggers(self) -> Triggers:
        more: Sequence[str] = ()
        echoed: Mapping[str, Sequence[bytes]] = {}
        if not self.full:
            kept = self.keeper.words() if self.keeper is not None else None
            if kept is None:
                self.linked = False
            else:
                more, echoed = kept
        words = self.words if self.records else None
        return Triggers(self.configuration, self.rules, words, more, echoed, glancing=not self.full)

    def _read(self, triggers: Triggers) -> list[Task]:
        """Read every file once; keep those that hold a trigger of a rule."""
        tasks: list[Task] = []
        for path in self.files:
            try:
                source = self.read(path)
            except OSError as error:
                self.failed[path] = Unanalysed(path, f"cannot be read: {error.strerror or error}", lasting=False)
                continue
            self.sizes[path] = len(source)
            codes, records = triggers.of(source) if self.triage else (tuple(self.rules), self.records)
            if self.keeper is not None and (self.full or codes or records):
                self.keeper.reads(path, source)
            if codes or records:
                tasks.append(Task(path, codes, records))
                self.sources[path] = source
        self.stats["files"] = len(self.files)
        self.stats["triggered"] = len(tasks)
        self._took("read")
        return tasks

    def _source(self, path: str) -> bytes:
        found = self.sources.get(path)
        return self.read(path) if found is None else found

    def _maybe(self, path: str) -> bytes | None:
        try:
            return self._source(path)
        except OSError:
            return None

    def _recall_others(self, tasks: Sequence[Task]) -> None:
        """The facts of the files that this run does not read, of each rule that it needs."""
        ours = frozenset(self.files)
        for code in sorted({code for task in tasks for code in task.codes}):
            self.kept[code], whole = self.keeper.said(code, ours) if self.keeper is not None else ({}, False)
            self.linked = self.linked and whole
        if any(task.records for task in tasks):
            modules = self.keeper.modules(ours) if self.keeper is not None else None
            self.linked = self.linked and modules is not None
            self.others = modules or {}
        if not self.linked:
            self.notes.append(
                "no facts of a full run are kept: aliases that come from other files are not followed; "
                "`confbag ratchet check` without paths is the gate"
            )

    # One file after the other

    def _examine(self, tasks: Sequence[Task], known: Known | None) -> None:
        """Examine files, but for those of which everything is kept."""
        from confbag.ratchets.analysis.examining import Examiner
        from confbag.ratchets.analysis.workers import Died, each
        from confbag.ratchets.binder.world import Known as Nothing

        now = Nothing() if known is None else known
        left: list[Task] = []
        for task in tasks:
            kept = self.keeper.recall(task, now) if self.keeper is not None else None
            if kept is None:
                left.append(task)
            else:
                self._take(task, kept)
        examine = Examiner(self.configuration, self.rules, self._source, triage=self.triage)
        size = sum(self.sizes[task.path] for task in left)
        jobs = self.jobs if size > _PARALLEL else 1
        self.promised += len(left)
        for task, result in each(
            left,
            lambda task: examine(task, now),
            jobs=jobs,
            weight=lambda task: self.sizes[task.path] * (3 if task.records else 1),
        ):
            if isinstance(result, Died):
                examined = Examined(Unanalysed(task.path, result.reason, lasting=False), {})
            else:
                examined = result
            self._take(task, examined)
            self.done += 1
            if self.watch is not None:
                self.watch(self.done, self.promised)
            if self.keeper is not None:
                self.keeper.note(task, examined)
        self.stats["examined"] = self.stats.get("examined", 0) + len(left)

    def _take(self, task: Task, examined: Examined) -> None:
        from confbag.ratchets.binder.facts import ModuleFacts

        if examined.unanalysed is not None:
            self.failed[task.path] = examined.unanalysed
            return
        for code, facts in examined.facts.items():
            if code != "records":
                self.facts[code][task.path] = facts
            elif isinstance(facts, ModuleFacts):
                self.modules[task.path] = facts

    def _more(self, tasks: Sequence[Task]) -> None:
        """Examine further files that the facts so far lead to, until they lead to no other."""
        asking = {
            code: rule for code, rule in self.rules.items() if hasattr(rule, "echoes") or hasattr(rule, "follows")
        }
        if not self.triage or not asking:
            return
        from confbag.ratchets.analysis.following import Leads

        leads = Leads(self.configuration, self.files, self._maybe)
        done = {(code, task.path) for task in tasks for code in task.codes}
        while True:
            again: dict[str, tuple[str, ...]] = {}
            for code, rule in asking.items():
                for path in sorted(leads.of(rule, self._facts_of(code))):
                    if path not in self.failed and (code, path) not in done:
                        again[path] = (*again.get(path, ()), code)
            if not again:
                self._took("followed")
                return
            done.update((code, path) for path, codes in again.items() for code in codes)
            self._examine([Task(path, codes, False) for path, codes in again.items()], None)

    # What files say to each other of records

    def _rounds(self) -> Rounds:
        from confbag.ratchets.analysis.rounds import Rounds
        from confbag.ratchets.source.modules import paths_of

        return Rounds(
            self.files,
            self.modules,
            self.others,
            self.failed,
            self._maybe,
            self.words,
            paths_of(self.files, self.configuration),
            handing="CB104" in self.configuration.codes,
        )

    def _first(self, tasks: Sequence[Task], rounds: Rounds | None) -> None:
        """Examine every file once; first those of the records' owners, for most of what others ask is about them."""
        owners = {task.path for task in tasks if task.records and self.configuration.owned(task.path)}
        if rounds is None or not owners:
            self._examine(tasks, None)
            return
        self._examine([task for task in tasks if task.path in owners], None)
        self._settle(rounds, owners)
        rest = rounds.asked(task for task in tasks if task.path not in owners)
        self._examine(rest, rounds.known())

    def _settle(self, rounds: Rounds, among: Collection[str] | None = None) -> None:
        """Examine again what a new answer of another module changes, until no answer does."""
        for tasks, known in rounds.until_settled(among):
            self.stats["rounds"] = self.stats.get("rounds", 0) + 1
            self._examine(tasks, known)
        for path in rounds.unsettled:
            reason = "what it takes from other modules and what it gives them do not settle"
            self.failed[path] = Unanalysed(path, reason)
        self._took("bound")

    # Findings

    def _judge(self) -> list[Finding]:
        found: list[Finding] = []
        ours = set(self.files)
        for code, rule in self.rules.items():
            if not (self.full or self.facts[code]) and hasattr(rule, "glance"):
                # Nothing in these files can be a finding.
                continue
            try:
                judged = list(rule.judge(self._facts_of(code), self.configuration))
            except Exception as error:
                if code in RULES:
                    raise
                said = f"{type(error).__name__}: {error}; repair it, or take it out of `plugins`"
                raise usage(f"the plugin of {code} failed: {said}", "plugins") from error
            # A whole run may find something at a path that is no file any more.
            found.extend(finding for finding in judged if self.full or finding.path in ours)
        if self.modules:
            from confbag.ratchets.analysis.link import Link

            link = Link({**self.others, **self.modules}, self.configuration)
            found.extend(finding for finding in link.findings(ours))
        self._took("judged")
        return sorted(found)

    def _facts_of(self, code: str) -> Mapping[str, object]:
        """What every file says that is known: those of this run, and what a full run kept of the others."""
        kept = self.kept.get(code)
        return {**kept, **self.facts[code]} if kept else self.facts[code]

    def _keep(self, analysis: Analysis, key: bytes) -> None:
        """Keep what partial runs, and runs on the same files, may ask for."""
        assert self.keeper is not None
        words: list[str] = []
        if self.records:
            from confbag.ratchets.analysis.link import known_of

            words = sorted(known_of(self.modules.values()).words | self.words)
        echoed = {
            code: sorted(rule.echoes(self.facts[code], self.configuration)[0])
            for code, rule in self.rules.items()
            if hasattr(rule, "echoes")
        }
        self.keeper.keep(self.facts, echoed, words, self.modules if self.records else None)
        self.keeper.keep_result(key, analysis)


__all__ = ["Analysis", "Examined", "Run", "analyse"]
