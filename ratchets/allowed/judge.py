"""What becomes of findings: suppressed, excepted, baselined or new; and what of a baseline nothing is left of."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from confbag.ratchets.allowed.baseline import Baseline, Place, canonical
from confbag.ratchets.allowed.suppressions import Suppression, unused
from confbag.ratchets.faults import Fault
from confbag.ratchets.finding import Finding, Unanalysed

if TYPE_CHECKING:
    from confbag.ratchets.allowed.exceptions import Allowance

NEW, STALE, FAILED, USAGE = 1, 2, 4, 8
Key = tuple[str, str, str, str]
"""code, path, qualname, symbol"""


class Judged(NamedTuple):
    """A finding and its state: new, baselined, excepted or suppressed. `over` says it exceeds an entry's number."""

    finding: Finding
    state: str
    over: tuple[int, int] | None = None


class Stale(NamedTuple):
    """A baseline entry that stands for more than is there."""

    key: Key
    allowed: int
    here: int = 0


class Moved(NamedTuple):
    """An entry whose finding is elsewhere now, with the place in the new file."""

    old: Key
    new: Key
    number: int
    line: int
    column: int


class Verdict(NamedTuple):
    """Everything that a report shows. `refused` are violations of --against, `raised` exceptions that it let pass."""

    findings: tuple[Judged, ...] = ()
    stale: tuple[Stale, ...] = ()
    moved: tuple[Moved, ...] = ()
    unanalysed: tuple[Unanalysed, ...] = ()
    exceptions: tuple[Fault, ...] = ()
    untidy: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    refused: tuple[Fault, ...] = ()
    raised: tuple[Allowance, ...] = ()
    notes: tuple[str, ...] = ()
    elsewhere: Mapping[Key, str] = MappingProxyType({})

    @property
    def new(self) -> tuple[Judged, ...]:
        """The findings that fail the run."""
        return tuple(judged for judged in self.findings if judged.state == "new")

    @property
    def status(self) -> int:
        """The exit status: a sum of bits."""
        behind = self.stale or self.moved or self.exceptions or self.untidy
        return (NEW if self.new or self.refused else 0) + (STALE if behind else 0) + (FAILED if self.unanalysed else 0)


def key_of(finding: Finding) -> Key:
    """The finding's key as a baseline file gives it back."""
    return (finding.code, canonical(finding.path), canonical(finding.qualname), canonical(finding.symbol))


def judge(
    findings: Iterable[Finding],
    *,
    baselines: Mapping[str, Baseline],
    codes: Collection[str],
    judged: Callable[[str], bool],
    suppressions: Sequence[Suppression] = (),
    exceptions: Sequence[Allowance] = (),
    unanalysed: Sequence[Unanalysed] = (),
    analysed_wholly: Callable[[Allowance], bool] = lambda entry: True,
    gone: Callable[[str], bool] = lambda path: False,
    today: datetime.date | None = None,
) -> Verdict:
    """Pure. `codes` ran; `judged` says of a path whether its entries may be called stale.

    `gone` says of a path that was not judged that its file is not there: where what it held has moved is still seen.
    """
    ordered = sorted(findings)
    used: set[Suppression] = set()
    left, states = _suppressed(ordered, suppressions, used)
    checked = [each for each in suppressions if each.code in codes and judged(each.path)]
    for finding in unused(checked, used):
        left.append(finding)
    left, faults = _excepted(sorted(left), states, exceptions, baselines, codes, analysed_wholly, today)
    verdict = _counted(left, states, baselines, codes, judged, gone)
    return verdict._replace(
        unanalysed=tuple(sorted(unanalysed)),
        exceptions=tuple(faults),
        untidy=tuple(fault for baseline in baselines.values() for fault in baseline.untidy),
        warnings=tuple(fault for baseline in baselines.values() for fault in baseline.warnings),
    )


def _suppressed(
    findings: Sequence[Finding], suppressions: Sequence[Suppression], used: set[Suppression]
) -> tuple[list[Finding], list[Judged]]:
    by_path: dict[str, list[Suppression]] = defaultdict(list)
    for each in suppressions:
        by_path[each.path].append(each)
    left: list[Finding] = []
    states: list[Judged] = []
    for finding in findings:
        allowing = [each for each in by_path.get(finding.path, ()) if each.allows(finding)]
        if allowing:
            used.update(allowing)
            states.append(Judged(finding, "suppressed"))
        else:
            left.append(finding)
    return left, states


def _excepted(
    findings: Sequence[Finding],
    states: list[Judged],
    exceptions: Sequence[Allowance],
    baselines: Mapping[str, Baseline],
    codes: Collection[str],
    analysed_wholly: Callable[[Allowance], bool],
    today: datetime.date | None,
) -> tuple[list[Finding], list[Fault]]:
    if not exceptions:
        return list(findings), []
    from confbag.ratchets.allowed.exceptions import narrowest  # here: most repositories have none

    left: list[Finding] = []
    taken: dict[Allowance, list[Finding]] = {entry: [] for entry in narrowest(exceptions)}
    for finding in findings:
        entry = next((entry for entry in taken if entry.covers(finding)), None)
        (left if entry is None else taken[entry]).append(finding)
    for entry, found in taken.items():
        for finding in _beyond(entry, found, baselines):
            found.remove(finding)
            left.append(finding)
        states += [Judged(finding, "excepted") for finding in found]
    left.sort()
    counts = {entry.target: len(found) for entry, found in taken.items()}
    faults = []
    day = today or datetime.date.today()
    for entry in exceptions:
        if entry.code not in codes:
            continue
        count = counts[entry.target]
        if entry.until is not None and entry.until < day:
            faults.append(Fault(entry.where, f"expired on {entry.until}: {entry}; mend the code, or accept it anew"))
        if not count and analysed_wholly(entry):
            faults.append(Fault(entry.where, f"unused: {entry} matches no finding; remove the entry"))
        if entry.most and count > entry.most:
            faults.append(Fault(entry.where, f"over max: {entry} has {count} findings, {entry.most} allowed"))
    return left, faults


def _beyond(entry: Allowance, found: Sequence[Finding], baselines: Mapping[str, Baseline]) -> list[Finding]:
    """Of more findings than an exception allows, those that the baseline holds, the first in source order."""
    more = len(found) - entry.most if entry.most else 0
    if more <= 0:
        return []
    room = Counter({key: number for key, number in _allowed(baselines).items() if key[0] == entry.code})
    held: list[Finding] = []
    for finding in found:
        key = key_of(finding)
        if len(held) < more and room[key] > 0:
            room[key] -= 1
            held.append(finding)
    return held


def _allowed(baselines: Mapping[str, Baseline]) -> dict[Key, int]:
    return {(code, *place): count for code, baseline in baselines.items() for place, count in baseline.entries.items()}


def _counted(
    findings: Sequence[Finding],
    states: list[Judged],
    baselines: Mapping[str, Baseline],
    codes: Collection[str],
    judged: Callable[[str], bool],
    gone: Callable[[str], bool],
) -> Verdict:
    by_key: dict[Key, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_key[key_of(finding)].append(finding)
    allowed = _allowed(baselines)
    lost = {key: count for key, count in allowed.items() if key[0] in codes and key not in by_key}
    lost = {key: count for key, count in lost.items() if judged(key[1]) or gone(key[1])}
    appeared = {key: len(found) for key, found in by_key.items() if key not in allowed}
    pairs = moves(lost, appeared)
    moved = []
    for old, new in pairs.items():
        first = by_key[new][0]
        moved.append(Moved(old, new, lost[old], first.line, first.column))
    arrived = set(pairs.values())
    for key, found in by_key.items():
        count = len(found) if key in arrived else allowed.get(key, 0)
        over = (len(found), count) if count and len(found) > count else None
        for number, finding in enumerate(found):
            beyond = number >= count
            states.append(Judged(finding, "new" if beyond else "baselined", over if beyond else None))
    stale = [Stale(key, count) for key, count in lost.items() if key not in pairs and judged(key[1])]
    for key, found in by_key.items():
        count = allowed.get(key, 0)
        if count > len(found) and key[0] in codes and judged(key[1]):
            stale.append(Stale(key, count, len(found)))
    states.sort(key=lambda each: each.finding)
    return Verdict(
        findings=tuple(states),
        stale=tuple(sorted(stale, key=lambda each: each.key)),
        moved=tuple(sorted(moved, key=lambda each: each.new)),
    )


def moves(lost: Mapping[Key, int], appeared: Mapping[Key, int]) -> dict[Key, Key]:
    """Old key -> new key where code, symbol, number and the last part of the qualname agree, and only there."""

    def kinds(keys: Mapping[Key, int]) -> dict[tuple[str, str, int, str], list[Key]]:
        found: dict[tuple[str, str, int, str], list[Key]] = defaultdict(list)
        for key, count in keys.items():
            code, _, qualname, symbol = key
            found[(code, symbol, count, qualname.rpartition(".")[2])].append(key)
        return found

    news = kinds(appeared)
    return {
        old[0]: news[kind][0] for kind, old in kinds(lost).items() if len(old) == 1 and len(news.get(kind, ())) == 1
    }


def tightened(baselines: Mapping[str, Baseline], verdict: Verdict) -> dict[str, Baseline]:
    """The baselines that change: stale entries go or lose, moved ones stand at their new place."""
    entries: dict[str, dict[Place, int]] = {code: dict(baseline.entries) for code, baseline in baselines.items()}
    for stale in verdict.stale:
        code, *place = stale.key
        entries[code][(place[0], place[1], place[2])] = stale.here
    for moved in verdict.moved:
        code, *place = moved.old
        del entries[code][(place[0], place[1], place[2])]
        entries[code][moved.new[1:]] = moved.number
    return {
        code: baseline.updated(entries[code])
        for code, baseline in baselines.items()
        if baseline.updated(entries[code]).entries != baseline.entries
    }
