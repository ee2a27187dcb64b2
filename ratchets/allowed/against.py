"""`--against REF`: nothing may have grown since another commit, judged by this tool with today's configuration."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from confbag.ratchets.allowed import exceptions
from confbag.ratchets.allowed.baseline import Baseline, encode, grown
from confbag.ratchets.allowed.exceptions import Allowance
from confbag.ratchets.allowed.judge import Key, Verdict, key_of, moves
from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.analysis.engine import Analysis, analyse
from confbag.ratchets.configuration import CACHE, EXCEPTIONS, FOLDER, Configuration
from confbag.ratchets.faults import Fault, usage
from confbag.ratchets.finding import Finding
from confbag.ratchets.output import Progress
from confbag.ratchets.source.files import covered
from confbag.ratchets.source.git import Blobs, Git


class Before(NamedTuple):
    """What another commit held. `baselines` has only the rules that had one there."""

    ref: str
    analysis: Analysis
    baselines: Mapping[str, Baseline]
    exceptions: tuple[Allowance, ...]


class _Elsewhere(Cache):
    """The cache for a tree that is not checked out: what partial runs take from the last full one stays as it is."""

    def write(self, name: str, value: object) -> None:
        """Replace one file, but for those that speak of the working tree."""
        if not name.startswith("last-"):
            super().write(name, value)


def read_before(configuration: Configuration, ref: str, codes: tuple[str, ...], *, cached: bool = True) -> Before:
    """Analyse a commit's own tree, from its blobs. UsageError where it cannot be reached."""
    git = Git(configuration.repository)
    commit = git.commit(ref)
    roots = [configuration.prefix + root if root != "." else configuration.prefix for root in configuration.roots]
    tree = git.tree(commit, *(root for root in roots if root))
    if "" in roots:
        tree = git.tree(commit)
    files = sorted(path for path in tree if covered(configuration, path))
    with Blobs(git) as blobs:

        def read(path: str) -> bytes:
            content = blobs.get(tree[path])
            if content is None:
                raise usage(f"{path} of {ref!r} is not in this clone; fetch it whole (no --filter)", "--against")
            return content

        cache = _Elsewhere(configuration.root / CACHE) if cached else None
        with Progress(f"files of {ref}") as watch:
            # Forked processes would talk into one pipe to git.
            analysis = analyse(configuration, files, read=read, cache=cache, jobs=1, full=True, watch=watch)
        ours = f"{configuration.prefix}{FOLDER}"
        baselines = {}
        for code in codes:
            content = blobs.get(f"{commit}:{ours}/{code}.tsv")
            if content is not None:
                baselines[code] = Baseline.parse(content, f"{ref}:{ours}/{code}.tsv")
        content = blobs.get(f"{commit}:{ours}/{EXCEPTIONS}")
        allowed, _ = exceptions.parse(content or b"", f"{ref}:{ours}/{EXCEPTIONS}", known=codes)
    return Before(ref, analysis, baselines, tuple(allowed))


def compare(
    verdict: Verdict,
    before: Before,
    *,
    baselines: Mapping[str, Baseline],
    allowed: tuple[Allowance, ...],
    judged: Callable[[str], bool],
    gone: Callable[[str], bool] = lambda path: False,
    no_raise: bool = False,
    today: datetime.date | None = None,
) -> Verdict:
    """Pure. The verdict with what the change may not raise, and the exceptions that it may."""
    day = today or datetime.date.today()
    refused = [*_findings(verdict, before, judged, gone), *_lines(baselines, before)]
    raised: list[Allowance] = []
    for entry in exceptions.raised(allowed, before.exceptions):
        reason = "--no-raise forbids new exceptions" if no_raise else exceptions.lacks(entry, day)
        if reason is None:
            raised.append(entry)
        else:
            refused.append(Fault(entry.where, f"{entry} is not at {before.ref}, and {reason}"))
    there = {(code, *place) for code, baseline in before.baselines.items() for place in baseline.entries}
    new = {key_of(each.finding): each.finding.key for each in verdict.new}
    elsewhere = {plain: before.ref for key, plain in new.items() if key in there}
    failed = [each.path for each in before.analysis.unanalysed]
    notes = tuple(f"{path} could not be analysed at {before.ref}: only its baseline is compared" for path in failed)
    return verdict._replace(
        refused=tuple(refused),
        raised=tuple(raised),
        elsewhere=elsewhere,
        notes=(*verdict.notes, *notes),
    )


def _findings(
    verdict: Verdict, before: Before, judged: Callable[[str], bool], gone: Callable[[str], bool]
) -> list[Fault]:
    """What is here more often than there. New findings are told of as such; a comment allows none here."""
    was = Counter(key_of(finding) for finding in before.analysis.findings)
    here: dict[Key, list[Finding]] = defaultdict(list)
    states = {}
    for each in verdict.findings:
        if each.state != "excepted":
            here[key_of(each.finding)].append(each.finding)
            states[each.finding] = each.state
    failed = {each.path for each in before.analysis.unanalysed}
    gained = {key: len(found) - was[key] for key, found in here.items() if len(found) > was[key]}
    gained = {key: count for key, count in gained.items() if judged(key[1]) and key[1] not in failed}
    # Comments of ours are findings of the judge: the other commit's were not asked.
    gained = {key: count for key, count in gained.items() if key[0] != "CB100"}
    lost = {key: count for key, count in was.items() if key not in here and (judged(key[1]) or gone(key[1]))}
    arrived = set(moves(lost, {key: count for key, count in gained.items() if not was[key]}).values())
    faults = []
    for key, count in sorted(gained.items()):
        if key in arrived:
            continue
        for finding in here[key][-count:]:
            if states[finding] != "new":
                how = "a comment allows it, but only `confbag ratchet accept` lets a change raise the number"
                why = how if states[finding] == "suppressed" else finding.message
                where = f"{finding.path}:{finding.line}:{finding.column}"
                what = f"{finding.code} {finding.symbol} in {finding.qualname} is not at {before.ref}"
                faults.append(Fault(where, f"{what}: {why}"))
    return faults


def _lines(baselines: Mapping[str, Baseline], before: Before) -> list[Fault]:
    faults = []
    for code, baseline in sorted(baselines.items()):
        was = before.baselines.get(code)
        if was is None:
            continue
        more = grown(baseline.entries, was.entries)
        lost = {(code, *place): number for place, number in was.entries.items() if place not in baseline.entries}
        appeared = {(code, *place): number for place, number in baseline.entries.items() if place not in was.entries}
        arrived = set(moves(lost, appeared).values())
        for place in sorted(more):
            if (code, *place) not in arrived:
                line = encode(place, baseline.entries[place]).decode()
                where = f"{baseline.name or code}:{baseline.lines.get(place, 1)}"
                faults.append(Fault(where, f"not at {before.ref}: {line}; only `confbag ratchet accept` lets it grow"))
    return faults
