"""Show every baseline entry with the places where its findings are now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.allowed.baseline import shown
from confbag.ratchets.allowed.judge import FAILED, key_of
from confbag.ratchets.commands.codeowners import owners_of
from confbag.ratchets.output import say
from confbag.ratchets.paths import within
from confbag.ratchets.report.words import clean, count, file_of, name_of
from confbag.ratchets.source.files import select


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only the entries of these; none: all")
    parser.add_argument("--by", choices=("owner", "folder", "rule"), default="rule", help="how to group them (rule)")


def run(args: Namespace, cwd: Path) -> int:
    """Print the entries with their literal lines, and places as file:line:column."""

    opened = session.open_session(cwd)
    configuration = opened.configuration
    only = [session.relative(configuration, path, cwd) for path in args.paths]
    verdict = session.run(opened, select(configuration, (), cwd)).verdict
    failed = {each.path: each.reason for each in verdict.unanalysed}
    places = defaultdict(list)
    for judged in verdict.findings:
        if judged.state == "baselined":
            places[key_of(judged.finding)].append(
                f"{judged.finding.path}:{judged.finding.line}:{judged.finding.column}"
            )
    owner = owners_of(configuration.repository)
    groups: dict[str, list[str]] = defaultdict(list)
    totals: dict[str, int] = defaultdict(int)
    for code, baseline in sorted(opened.baselines.items()):
        for place, number in sorted(baseline.entries.items()):
            path = place[0]
            if only and not any(within(path, one) for one in only):
                continue
            group = {
                "rule": f"{code} {name_of(code)}",
                "folder": path.rpartition("/")[0] or ".",
                "owner": owner(path) or "nobody",
            }[args.by]
            totals[group] += number
            found = places.get((code, *place), [])
            groups[group].append(f"{file_of(code, opened.baselines)}: {shown(place, number)}")
            groups[group] += [f"  {clean(at)}" for at in found]
            if path in failed:
                groups[group].append(f"  not known: {clean(failed[path])}")
            elif len(found) < number:
                groups[group].append(f"  {number - len(found)} not there any more; `confbag ratchet tighten`")
    for group, lines in sorted(groups.items()):
        say(f"{clean(group)}: {count(totals[group], 'finding')}\n" + "".join(f"  {line}\n" for line in lines))
    if not groups:
        say("no baseline entry\n")
    return FAILED if failed else 0
