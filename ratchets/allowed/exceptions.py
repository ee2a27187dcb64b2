"""`.ratchets/exceptions.toml`: findings that are allowed, by whom, why and until when."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from confbag.ratchets.codes import RULES
from confbag.ratchets.config import toml_text
from confbag.ratchets.config.toml_table import Table, closest
from confbag.ratchets.faults import Fault
from confbag.ratchets.finding import Finding
from confbag.ratchets.paths import is_glob, matches, normal, within

KEYS = ("code", "path", "qualname", "symbol", "max", "reason", "owner", "until", "issue")
LONGEST = 180
_HEADER = "[[exception]]"
MARKER = re.compile(r"(<{7}|={7}|>{7}|\|{7})(?:[ \t].*)?\Z")


class Allowance(NamedTuple):
    """One entry. `most` is 0 where no number is pinned: then path and qualname or symbol are exact."""

    code: str
    path: str
    reason: str
    qualname: str = ""
    symbol: str = ""
    most: int = 0
    owner: str = ""
    until: datetime.date | None = None
    issue: str = ""
    where: str = ""

    @property
    def target(self) -> tuple[str, str, str, str]:
        """What it is about."""
        return (self.code, self.path, self.qualname, self.symbol)

    @property
    def wide(self) -> bool:
        """Whether its path can be of more than one file."""
        return is_glob(self.path) or not self.path.endswith(".py")

    def reaches(self, path: str) -> bool:
        """Whether it can match findings of a file."""
        return matches(path, self.path) if is_glob(self.path) else within(path, self.path)

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is one of those it allows."""
        return (
            finding.code == self.code
            and self.reaches(finding.path)
            and self.qualname in ("", finding.qualname)
            and self.symbol in ("", finding.symbol)
        )

    def __str__(self) -> str:
        about = f"{self.path}::{self.qualname}" if self.qualname else self.path
        return " ".join(part for part in (self.code, about, self.symbol) if part)


def parse(
    content: bytes,
    name: str,
    *,
    known: Collection[str] = tuple(RULES),
    visited: Callable[[str, str], str | None] = lambda code, path: None,
) -> tuple[list[Allowance], list[Fault]]:
    """The entries, and every mistake. `visited` gives the reason why a rule never finds anything at a path."""
    marked = _conflict(content)
    if marked:
        return [], [
            Fault(f"{name}:{marked}", "a conflict marker; `confbag ratchet tidy` keeps the entries of both sides")
        ]
    document = toml_text.read(name, content)
    if isinstance(document, Fault):
        return [], [Fault(document.where, f"{document.message}; an entry is a table {_HEADER}")]
    faults: list[Fault] = []
    whole = Table(document, (), document.tables, faults)
    entries: list[Allowance] = []
    for table in whole.tables("exception"):
        before = len(faults)
        entry = _entry(table, known)
        if len(faults) > before:
            continue
        same = next((other for other in entries if other.target == entry.target), None)
        if same is not None:
            table.fault(
                f"{entry} is there twice, at {same.where} too; `confbag ratchet tidy` drops a copy, or keep one"
            )
            continue
        reason = None if is_glob(entry.path) else visited(entry.code, entry.path)
        if reason is not None:
            table.fault(f"{entry} can never match: {reason}; remove it", "path")
        entries.append(entry)
    whole.close()
    return entries, faults


def _entry(table: Table, known: Collection[str]) -> Allowance:
    for key in ("code", "path", "reason"):
        if not table.has(key):
            table.fault(f'an exception needs {"a reason" if key == "reason" else f"its {key}"}: write {key} = "..."')
    code, path, reason = table.text("code"), table.text("path"), table.text("reason")
    if table.has("reason") and isinstance(table.values["reason"], str) and reason and not reason.strip():
        table.fault("the reason is blank", "reason")
    if code and code not in known:
        table.fault(f"unknown code {code!r}; {closest(code, known)}", "code")
    if path and (path.startswith("/") or ".." in path.split("/") or "\\" in path):
        table.fault(f"{path!r} must be relative to the repository's top, with /", "path")
    most = table.number("max", 1) if table.has("max") else 0
    entry = Allowance(
        code=code,
        path=normal(path) if path else "",
        reason=reason,
        qualname=table.text("qualname"),
        symbol=table.text("symbol"),
        most=most,
        owner=table.text("owner"),
        until=_until(table),
        issue=table.text("issue"),
        where=table.document.at(table.path),
    )
    table.known(*KEYS)
    if path and not table.has("max"):
        if entry.wide:
            table.fault(f"{path!r} is of several files; pin how many findings it allows: max = N", "path")
        elif not (table.has("qualname") or table.has("symbol")):
            table.fault("an exception names a qualname or a symbol, or pins how many findings it allows: max = N")
    table.close()
    return entry


def _until(table: Table) -> datetime.date | None:
    value = table.values.get("until")
    table.known("until")
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d\Z", value):
            return datetime.date.fromisoformat(value)
    except ValueError:
        pass
    table.fault(f"`until` is a date as 2031-01-31, not {value!r}", "until")
    return None


def _conflict(content: bytes) -> int:
    """The line of the first conflict marker; 0 without one."""
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        if MARKER.match(line.removesuffix("\r")):
            return number
    return 0


def write(entry: Allowance) -> str:
    """An entry as it stands in the file."""
    values = {
        "code": entry.code, "path": entry.path, "qualname": entry.qualname, "symbol": entry.symbol, "max": entry.most,
        "reason": entry.reason, "owner": entry.owner, "until": entry.until, "issue": entry.issue,
    }  # fmt: skip
    lines = [_HEADER]
    for key, value in values.items():
        if value:
            lines.append(f"{key} = {_quoted(value) if isinstance(value, str) else value}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', lambda m: escapes.get(m[0], f"\\u{ord(m[0]):04x}"), text) + '"'


def narrowest(entries: Iterable[Allowance]) -> list[Allowance]:
    """In the order in which they take findings: a glob is not used up by what an exact entry names."""
    return sorted(entries, key=lambda entry: (entry.wide, not entry.qualname, not entry.symbol, entry.target))


def expired(entries: Iterable[Allowance], today: datetime.date) -> list[Allowance]:
    """Those whose day has passed."""
    return [entry for entry in entries if entry.until is not None and entry.until < today]


def raised(now: Sequence[Allowance], before: Sequence[Allowance]) -> list[Allowance]:
    """The entries that allow more, or longer, than those of another time: new ones, and those that grew."""
    old = {entry.target: entry for entry in before}
    found = []
    for entry in now:
        was = old.get(entry.target)
        if was is None or (was.most and not 0 < entry.most <= was.most) or _later(entry.until, was.until):
            found.append(entry)
    return found


def _later(now: datetime.date | None, before: datetime.date | None) -> bool:
    return before is not None and (now is None or now > before)


def lacks(entry: Allowance, today: datetime.date) -> str | None:
    """Why an entry may not be brought by a change; None where it may."""
    missing = [key for key, value in (("owner", entry.owner), ("until", entry.until)) if not value]
    if missing:
        return f"it has no {' and no '.join(missing)}"
    if entry.until is not None and entry.until > today + datetime.timedelta(days=LONGEST):
        last = today + datetime.timedelta(days=LONGEST)
        return f"until {entry.until} is more than {LONGEST} days away; write {last} or earlier"
    return None
