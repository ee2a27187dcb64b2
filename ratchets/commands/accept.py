"""Allow what is new at one place: an exception with a reason, an owner and a date. The only way up."""

from __future__ import annotations

import datetime
from argparse import ArgumentParser, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.exceptions import LONGEST, Allowance, narrowest
from confbag.ratchets.allowed.written import added
from confbag.ratchets.configuration import EXCEPTIONS
from confbag.ratchets.faults import Fault, UsageError, usage
from confbag.ratchets.output import say
from confbag.ratchets.report.words import clean, count
from confbag.ratchets.source.files import select
from confbag.ratchets.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("code", metavar="CODE", help="the rule")
    parser.add_argument("place", metavar="PATH[::QUALNAME]", help="a file, or a function or class in it")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why it may stand")
    parser.add_argument("--owner", required=True, metavar="WHO", help="who will take it away")
    parser.add_argument("--until", required=True, metavar="DATE", help="the last day that it holds, as 2031-01-31")
    parser.add_argument("--symbol", default="", metavar="SYMBOL", help="only this symbol")
    parser.add_argument("--issue", default="", metavar="URL", help="where it is discussed")


def run(args: Namespace, cwd: Path) -> int:
    """Write the exception; it pins the number of findings that are there now."""
    opened = session.open_session(cwd)
    written, _, qualname = args.place.partition("::")
    path = session.relative(opened.configuration, written, cwd)
    faults = [*_dates(args.until), *_texts(args)]
    if args.code not in opened.codes:
        faults.append(Fault("CODE", f"{args.code} does not run here; write one of {', '.join(opened.codes)}"))
    else:
        reason = session.never_visits(opened.configuration)(args.code, path)
        if reason is not None:
            faults.append(Fault("PATH", f"{path}: {reason}"))
    if faults:
        raise UsageError(faults)
    outcome = session.run(opened, select(opened.configuration, (), cwd))
    entry = Allowance(
        code=args.code, path=path, reason=args.reason, qualname=qualname, symbol=args.symbol, owner=args.owner,
        until=datetime.date.fromisoformat(args.until), issue=args.issue,
    )  # fmt: skip
    held = next((other for other in opened.exceptions if other.target == entry.target), None)
    # What the entry has, or a narrower one would leave it.
    order = narrowest([*(other for other in opened.exceptions if other is not held), entry])
    states = [
        judged.state
        for judged in outcome.verdict.findings
        if next((each for each in order if each.covers(judged.finding)), None) is entry
    ]
    number = states.count("new") + states.count("excepted")
    if not number or (held is None and "new" not in states):
        raise usage(f"{clean(str(entry))} has nothing new: there is nothing to accept", "PATH")

    file = opened.file(EXCEPTIONS)
    content = file.read_bytes() if file.exists() else b""
    issue = args.issue or (held.issue if held is not None else "")
    write_whole(file, added(content, entry._replace(most=number, issue=issue), session.shown_of(file)))
    say(f"{session.shown_of(file)}: {clean(str(entry))} may have {count(number, 'finding')}")
    say(f" until {args.until}\n")
    return 0


def _dates(until: str) -> list[Fault]:
    today = datetime.date.today()
    try:
        # Newer Pythons read more forms of a date than others do.
        date = datetime.datetime.strptime(until, "%Y-%m-%d").date()
        if date.isoformat() != until:
            raise ValueError(until)
    except ValueError:
        return [Fault("--until", f"{until!r} is no date; write it as {today + datetime.timedelta(days=90)}")]
    if date < today:
        return [Fault("--until", f"{until} has passed")]
    if date > today + datetime.timedelta(days=LONGEST):
        last = today + datetime.timedelta(days=LONGEST)
        return [Fault("--until", f"{until} is more than {LONGEST} days away; write {last} or earlier")]
    return []


def _texts(args: Namespace) -> list[Fault]:
    return [Fault(f"--{key}", "is blank") for key in ("reason", "owner") if not getattr(args, key).strip()]
