"""One run in a working directory: its configuration, its baselines and exceptions, and what it finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from confbag.ratchets.allowed import suppressions
from confbag.ratchets.allowed.baseline import Baseline
from confbag.ratchets.allowed.judge import Verdict, judge
from confbag.ratchets.allowed.suppressions import Suppression
from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.analysis.engine import Analysis, analyse
from confbag.ratchets.codes import RECORD_RULES, RULES, SUPPRESSION
from confbag.ratchets.config import file as config_file
from confbag.ratchets.config.file import shown_of as shown_of
from confbag.ratchets.configuration import CACHE, EXCEPTIONS, FOLDER, Configuration
from confbag.ratchets.faults import Fault, UsageError
from confbag.ratchets.finding import Finding
from confbag.ratchets.output import Progress
from confbag.ratchets.paths import local, named, normal, outside, within, within_any
from confbag.ratchets.source.files import Selection, gone_from, read_regular, select

if TYPE_CHECKING:
    from datetime import date

    from confbag.ratchets.allowed.exceptions import Allowance


class Session(NamedTuple):
    """What was read before anything is analysed. `baselines` has an empty one for each rule that runs without."""

    configuration: Configuration
    baselines: dict[str, Baseline]
    exceptions: tuple[Allowance, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The rules that run; comments of ours are always judged."""
        return (SUPPRESSION, *self.configuration.codes)

    def file(self, name: str) -> Path:
        """A file of ours."""
        return self.configuration.root / FOLDER / name


class Outcome(NamedTuple):
    """An analysis and what came of it."""

    analysis: Analysis
    verdict: Verdict


def open_session(cwd: Path, *, repairing: bool = False) -> Session:
    """Read everything; UsageError with every fault of every file. `repairing`: what `tidy` can mend is no fault."""
    file = config_file.find(cwd)
    faults: list[Fault] = []
    configuration: Configuration | None = None
    try:
        configuration = config_file.load(file, shown=shown_of(file))
    except UsageError as error:
        faults += error.faults
    known = known_codes(configuration)
    baselines: dict[str, Baseline] = {}
    allowed: list[Allowance] = []
    if not repairing:
        baselines = read_baselines(file.parent, known, faults)
        allowed = read_exceptions(file.parent, known, configuration, faults)
    if configuration is None or faults:
        raise UsageError(faults)
    for code in (SUPPRESSION, *configuration.codes):
        baselines.setdefault(code, Baseline())
    return Session(configuration, baselines, tuple(allowed))


def known_codes(configuration: Configuration | None) -> tuple[str, ...]:
    """Every code that a baseline or an exception may name."""
    return tuple(dict.fromkeys((SUPPRESSION, *RULES, *(configuration.codes if configuration else ()))))


def read_baselines(root: Path, known: Sequence[str], faults: list[Fault]) -> dict[str, Baseline]:
    """The baseline files that are there."""
    baselines = {}
    folder = root / FOLDER
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for name in names:
        code, dot, suffix = name.partition(".")
        if dot and suffix == "tsv" and not code.startswith("."):
            shown = shown_of(folder / name)
            if code not in known:
                faults.append(Fault(shown, f"there is no rule {code}; remove the file or enable the rule's plug-in"))
                continue
            content = _content(folder / name, shown, faults)
            baseline = Baseline.parse(content or b"", shown)
            faults += baseline.faults
            baselines[code] = baseline
    return baselines


def read_exceptions(
    root: Path, known: Sequence[str], configuration: Configuration | None, faults: list[Fault]
) -> list[Allowance]:
    """The exceptions file's entries; none where it is not there."""
    file = root / FOLDER / EXCEPTIONS
    shown = shown_of(file)
    if not file.exists():
        return []
    content = _content(file, shown, faults)
    if content is None:
        return []
    from confbag.ratchets.allowed import exceptions  # here: most repositories have none

    visited = never_visits(configuration) if configuration else lambda code, path: None
    entries, found = exceptions.parse(content, shown, known=known, visited=visited)
    faults += found
    return entries


def _content(file: Path, shown: str, faults: list[Fault]) -> bytes | None:
    try:
        return read_regular(os.fspath(file))
    except OSError as error:
        faults.append(Fault(shown, f"cannot be read: {error.strerror}"))
        return None


def never_visits(configuration: Configuration) -> Callable[[str, str], str | None]:
    """Why a rule finds nothing at a path of the repository; None where it may."""

    def reason(code: str, path: str) -> str | None:
        prefix = configuration.prefix
        if not path.startswith(prefix):
            return "it is outside the configuration's folder"
        inside = path[len(prefix) :]
        if within_any(inside, configuration.exclude):
            return "it is excluded"
        if not any(within(inside, root) or within(root, inside) for root in configuration.roots):
            return "it is outside the roots"
        records = configuration.records
        if code in RECORD_RULES and records and len(configuration.owned(path)) == len(records):
            return "it is an owner of the record, where record rules find nothing"
        if code == "CB132" and within_any(inside, configuration.kernels):
            return "raw operators may stand in a folder of kernels"
        return None

    return reason


class Reading:
    """Reads files of the repository, and remembers those with a comment of ours."""

    def __init__(self, repository: Path) -> None:
        self.marked: dict[str, bytes] = {}
        self.seen: set[str] = set()
        self._top = os.fspath(repository)

    def __call__(self, path: str) -> bytes:
        """The bytes of one file; OSError where it cannot be read."""
        content = read_regular(f"{self._top}/{local(path)}")
        if path not in self.seen:
            self.seen.add(path)
            if b"ratchet:" in content:
                self.marked[path] = content
        return content

    def __reduce__(self) -> tuple[object, ...]:
        # A worker only reads.
        return type(self), (Path(self._top),)


def run(
    session: Session, selection: Selection, *, jobs: int = 0, cached: bool = True, today: date | None = None
) -> Outcome:
    """Analyse files and judge what was found."""
    configuration = session.configuration
    reading = Reading(configuration.repository)
    jobs = jobs or default_jobs()

    def analysed(files: Sequence[str], full: bool) -> Analysis:
        cache = cache_of(configuration) if cached else None
        with Progress() as watch:
            return analyse(configuration, files, read=reading, cache=cache, jobs=jobs, full=full, watch=watch)

    analysis = analysed(selection.files, selection.full)
    outcome = _judged(session, selection, analysis, reading, today)
    said = outcome.verdict
    if not analysis.linked and (said.new or said.stale or said.moved or said.exceptions):
        # What other files say could take a finding away, or bring the one that an entry stands for.
        everything = select(configuration, (), configuration.root)
        whole = analysed(sorted({*everything.files, *selection.files}), True)
        outcome = _judged(session, selection, _of(whole, selection.files), reading, today)
    return outcome


def _of(analysis: Analysis, files: Sequence[str]) -> Analysis:
    """What an analysis of everything says of some files."""
    wanted = set(files)
    return replace(
        analysis,
        findings=tuple(finding for finding in analysis.findings if finding.path in wanted),
        unanalysed=tuple(each for each in analysis.unanalysed if each.path in wanted),
        analysed=analysis.analysed & wanted,
    )


def _judged(
    session: Session, selection: Selection, analysis: Analysis, reading: Reading, today: date | None
) -> Outcome:
    comments, malformed = comments_of(session, analysis, reading)
    away = gone_from(session.configuration)
    failed = {each.path for each in analysis.unanalysed}

    def judged(path: str) -> bool:
        return path not in failed and (selection.full or path in analysis.analysed)

    def wholly(entry: Allowance) -> bool:
        if any(entry.reaches(path) for path in failed):
            return False
        return selection.full or (not entry.wide and entry.path in analysis.analysed)

    def gone(path: str) -> bool:
        return not selection.full and away(path)

    verdict = judge(
        [*analysis.findings, *malformed],
        baselines=session.baselines,
        codes=session.codes,
        judged=judged,
        suppressions=comments,
        exceptions=session.exceptions,
        unanalysed=analysis.unanalysed,
        analysed_wholly=wholly,
        gone=gone,
        today=today,
    )
    return Outcome(analysis, verdict._replace(notes=(*selection.notes, *analysis.notes)))


def cache_of(configuration: Configuration) -> Cache:
    """What earlier runs found out."""
    return Cache(configuration.root / CACHE)


def comments_of(session: Session, analysis: Analysis, reading: Reading) -> tuple[list[Suppression], list[Finding]]:
    """The suppressions in what was analysed, and findings about comments of ours that are none."""
    found: list[Suppression] = []
    malformed: list[Finding] = []
    known = known_codes(session.configuration)
    for path in sorted(analysis.analysed):
        # A worker may have read it.
        content = reading.marked.get(path) if path in reading.seen else reading(path)
        if content is not None and b"ratchet:" in content:
            ours, wrong = suppressions.read(path, content, known)
            found += ours
            malformed += wrong
    return found, malformed


def default_jobs() -> int:
    """As many processes as there are processors for us, and no more than memory is meant for."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, 2)


def relative(configuration: Configuration, written: str, cwd: Path) -> str:
    """A path that somebody typed, as a path of the repository: of what is there, or of what was."""
    top = os.path.realpath(configuration.repository)
    here = os.path.realpath(cwd / written)
    inside = named(os.path.relpath(here, top).replace(os.sep, "/"))
    copied = normal(named(written))
    # A report's own path may be pasted in any folder.
    pasted = not os.path.lexists(here) and os.path.lexists(os.path.join(top, local(copied)))
    return copied if pasted or outside(inside) else normal(inside)
