"""`confbag ratchet`: one parser for each subcommand, and what every failure exits with."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from confbag.ratchets.output import complain, say

USAGE = 8
COMMANDS = {
    "check": "judge the files given, or the whole tree",
    "fix": "rewrite the reads that have a replacement",
    "tighten": "shrink the baselines to what is there",
    "tidy": "sort the baselines, drop duplicates and conflict markers",
    "accept": "allow what is new at one place, with a reason, an owner and a date",
    "list": "show where the findings of every baseline entry are now",
    "blame": "say which commits changed a baseline entry",
    "explain": "say what a rule finds, why, and what to write instead",
    "init": "set the ratchets up: configuration, first baseline, workflow",
    "trend": "show how the baselines shrank, as a table or a chart",
}
# A command's name that is none of a module.
_MODULES = {"list": "listing"}
EPILOG = """\
exit status, a sum: 0 nothing; 1 new findings; 2 stale, moved, expired or untidy entries; 4 files that could not be
analysed; 8 usage or configuration, and then nothing else was judged."""


class Parser(argparse.ArgumentParser):
    """A parser that exits 8, and takes no abbreviated option."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {message}; `{self.prog} --help` shows what it takes")
        raise SystemExit(USAGE)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **settings: Any) -> NoReturn:
        from importlib.metadata import version

        say(f"confbag ratchet {version('confbag')}\n")
        parser.exit()


def main(argv: Sequence[str], cwd: Path | None = None) -> int:
    """Run one subcommand and return the exit status."""
    name, words = (argv[0], argv[1:]) if argv and not argv[0].startswith("-") else ("", argv)
    if name and name not in COMMANDS:
        from confbag.ratchets.config.toml_table import closest

        complain(f"confbag ratchet: unknown command {name!r}; {closest(name, COMMANDS)}")
        return USAGE
    if not name:
        return guarded(lambda: _overview(words))
    module: Any = import_module(f"confbag.ratchets.commands.{_MODULES.get(name, name)}")
    parser = Parser(prog=f"confbag ratchet {name}", description=module.__doc__, epilog=EPILOG)
    module.add_arguments(parser)
    args = parser.parse_intermixed_args(words)
    return guarded(lambda: int(module.run(args, cwd or Path.cwd())))


def guarded(run: Any) -> int:
    """The status of a run; 8 and every fault where usage, configuration or one of our files is wrong."""
    from confbag.ratchets.faults import UsageError

    try:
        return int(run())
    except UsageError as error:
        from confbag.ratchets.report.words import clean

        complain("\n".join(clean(str(fault)) for fault in error.faults))
        return USAGE
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"confbag ratchet: {error.filename or 'output'}: {error.strerror or error}; nothing was half written")
        return USAGE


def _overview(words: Sequence[str]) -> int:
    parser = Parser(
        prog="confbag ratchet",
        description="A linter that keeps an engine's code on the road: what is done the old way may only shrink.",
        epilog=EPILOG,
        usage="confbag ratchet COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    group = parser.add_argument_group("commands")
    for command, summary in COMMANDS.items():
        group.add_argument(command, nargs="?", help=summary, default=None)
    if list(words) in (["-h"], ["--help"]):
        parser.print_help()
        return 0
    if words:
        parser.parse_args(list(words))
    parser.print_help(sys.stderr)
    return USAGE
