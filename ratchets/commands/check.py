"""Judge the files given, or every file of the roots, against the baselines."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from confbag.ratchets import session
from confbag.ratchets.faults import usage
from confbag.ratchets.output import complain, say
from confbag.ratchets.report import FORMATS, renderer
from confbag.ratchets.source.files import gone_from, select


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what it takes."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; none: everything in the roots")
    parser.add_argument("--against", metavar="REF", help="compare with another commit: nothing may have grown since")
    parser.add_argument("--no-raise", action="store_true", help="with --against: exceptions may not grow either")
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to say it (text)")
    parser.add_argument("--only", choices=("new", "stale"), default="", help="show one section; the status is the same")
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    parser.add_argument("--jobs", type=jobs, default=0, metavar="N", help="processes (as many as processors, up to 2)")
    parser.add_argument("--stats", action="store_true", help="say on stderr what was done and how long it took")
    parser.add_argument("--require-files", action="store_true", help="fail where no file is left to analyse")


def jobs(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def run(args: Namespace, cwd: Path) -> int:
    """Check, report, and return the status."""
    if args.against == "":
        # A variable that a workflow left empty must not turn the comparison off.
        raise usage("names no commit; write --against origin/main", "--against")
    if args.no_raise and args.against is None:
        raise usage("goes with --against REF: it is about what a change may raise", "--no-raise")
    opened = session.open_session(cwd)
    selection = select(opened.configuration, args.paths, cwd, require=args.require_files)
    outcome = session.run(opened, selection, jobs=args.jobs, cached=not args.no_cache)
    verdict = outcome.verdict
    if args.against is not None:
        from confbag.ratchets.allowed import against  # here: most runs compare with nothing

        before = against.read_before(opened.configuration, args.against, opened.codes, cached=not args.no_cache)
        verdict = against.compare(
            verdict,
            before,
            baselines=opened.baselines,
            allowed=opened.exceptions,
            judged=lambda path: path in outcome.analysis.analysed,
            gone=gone_from(opened.configuration),
            no_raise=args.no_raise,
        )
    say(renderer(args.format)(verdict, opened.baselines, args.only))
    if args.stats:
        complain("".join(f"{name:<24}{value:>12.6g}\n" for name, value in outcome.analysis.stats.items()))
    return verdict.status
