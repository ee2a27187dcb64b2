"""Words that several formats use: each says what is wrong and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from confbag.ratchets.allowed.baseline import Baseline, shown
from confbag.ratchets.allowed.judge import Judged, Moved, Stale, Verdict
from confbag.ratchets.codes import RULES
from confbag.ratchets.configuration import FOLDER

# What XML 1.0 cannot hold, even escaped.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """A text on one line that no terminal obeys: controls and bytes of no encoding are escaped."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def in_xml(text: str) -> str:
    """A text that XML can hold once it is escaped."""
    return _NOT_IN_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def name_of(code: str) -> str:
    """A rule's name: `record-read`; the code itself for one out of the tree."""
    return "suppression" if code == "CB100" else RULES.get(code, code).replace("_", "-")


def count(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def of_finding(judged: Judged, verdict: Verdict) -> str:
    """The message of a finding, with what its state adds."""
    finding = judged.finding
    message = finding.message
    if judged.over is not None:
        here, allowed = judged.over
        message += f" ({here} here, {allowed} allowed)"
    ref = verdict.elsewhere.get(finding.key)
    if ref is not None:
        message += f" (its baseline entry exists on {ref}; merge it)"
    return message


def of_stale(stale: Stale) -> str:
    """What became of an entry."""
    if stale.here:
        return f"{stale.allowed} in the baseline, {stale.here} here; `confbag ratchet tighten` lowers it"
    return "nothing of it is left; `confbag ratchet tighten` removes it"


def of_moved(moved: Moved) -> str:
    """Where an entry went."""
    _, path, qualname, symbol = moved.old
    return f"{symbol} moved here from {path}::{qualname}; `confbag ratchet tighten` rewrites the entry"


def line_of(stale: Stale) -> str:
    """The line of the baseline file, literally."""
    return shown(stale.key[1:], stale.allowed)


def file_of(code: str, baselines: Mapping[str, Baseline]) -> str:
    """The baseline of a rule."""
    return (baselines[code].name if code in baselines else "") or f"{FOLDER}/{code}.tsv"


def summary(verdict: Verdict) -> dict[str, int]:
    """How many there are of each kind."""
    states = [judged.state for judged in verdict.findings]
    return {
        "new": states.count("new"),
        "baselined": states.count("baselined"),
        "excepted": states.count("excepted"),
        "suppressed": states.count("suppressed"),
        "stale": len(verdict.stale),
        "moved": len(verdict.moved),
        "unanalysed": len(verdict.unanalysed),
    }
