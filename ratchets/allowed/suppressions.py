"""`# ratchet: allow CB101 -- reason`: which findings a comment allows, and which comments allow nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from confbag.ratchets.codes import RULES, SUPPRESSION
from confbag.ratchets.finding import Finding

_OURS = re.compile(r"(?:^|(?<=\s))#+[ \t]*ratchet:[ \t]*(?P<body>.*)")
_CODES = r"(?P<codes>[A-Z]+[0-9]+(?:[ \t]*,[ \t]*[A-Z]+[0-9]+)*)"
_WHEN = r"(?P<maybe>[ \t]+maybe)?(?:[ \t]+if=py(?P<sign>>=|<)(?P<version>3\.[0-9]+))?"
_REASON = r"[ \t]*(?:--[ \t]*(?P<reason>.*?))?[ \t]*\Z"
_ALLOW = re.compile(rf"(?P<verb>allow|allow-file)[ \t]+{_CODES}{_WHEN}{_REASON}")
WRITE = "write `# ratchet: allow CB101 -- reason`"


class Suppression(NamedTuple):
    """One code that one comment allows, on its line's statement or in the whole file.

    `judged`: whether it is a finding when it allows nothing; not with `maybe`, nor on a Python that `if=` leaves out.
    """

    path: str
    line: int
    column: int
    code: str
    reason: str
    whole_file: bool = False
    judged: bool = True

    def allows(self, finding: Finding) -> bool:
        """On the finding's line, or on the first or last line of its statement or header."""
        if finding.code != self.code or finding.path != self.path:
            return False
        return self.whole_file or self.line in (finding.line, finding.first, finding.last)


def read(path: str, source: bytes, known: Collection[str] = tuple(RULES)) -> tuple[list[Suppression], list[Finding]]:
    """The suppressions of one file, and a finding for each comment of ours that is none."""
    suppressions: list[Suppression] = []
    findings: list[Finding] = []
    if b"ratchet:" not in source:
        return suppressions, findings
    from confbag.ratchets.source.comments import comments  # here: few files have a comment of ours

    for line, column, comment in comments(source):
        match = _OURS.search(comment)
        if match is None:
            continue
        at = column + match.start()
        body = match["body"]
        allow = _ALLOW.match(body)
        if allow is None:
            findings.append(_finding(path, line, at, body.strip(), f"`ratchet: {body.strip()}` means nothing; {WRITE}"))
        elif not allow["reason"]:
            what = f"{allow['verb']} {allow['codes']}"
            message = f"`{what}` gives no reason, so it allows nothing; {WRITE}"
            findings.append(_finding(path, line, at, what, message))
        else:
            for code in re.split(r"[ \t]*,[ \t]*", allow["codes"]):
                if code in known:
                    whole = allow["verb"] == "allow-file"
                    judged = not allow["maybe"] and _here(allow["sign"], allow["version"])
                    suppressions.append(Suppression(path, line, at, code, allow["reason"], whole, judged))
                else:
                    message = f"unknown code {code}; `confbag ratchet explain` lists them"
                    findings.append(_finding(path, line, at, f"{allow['verb']} {code}", message))
    return suppressions, findings


def unused(suppressions: Iterable[Suppression], used: Collection[Suppression]) -> Iterator[Finding]:
    """A finding for each suppression that allows nothing."""
    for each in suppressions:
        if each.judged and each not in used:
            verb = "allow-file" if each.whole_file else "allow"
            message = f"`{verb} {each.code}` allows nothing here; remove it"
            yield _finding(each.path, each.line, each.column, f"{verb} {each.code}", message)


def _here(sign: str | None, version: str | None) -> bool:
    """Whether this Python is one that the comment speaks of."""
    if sign is None or version is None:
        return True
    named = tuple(map(int, version.split(".")))
    return (sys.version_info[:2] >= named) == (sign == ">=")


def _finding(path: str, line: int, column: int, symbol: str, message: str) -> Finding:
    return Finding(
        path=path, line=line, column=column, code=SUPPRESSION, symbol=symbol, qualname="<module>", message=message,
        first=line, last=line,
    )  # fmt: skip
