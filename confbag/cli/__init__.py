"""The `confbag` command: imports the one subcommand that was named, and turns what it raises into an exit status."""

from __future__ import annotations

import gc
import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from confbag.cli.common import BROKEN_PIPE, INTERRUPTED, USAGE, complain, failure, flush, silence

COMMANDS = {
    "plan": "which implementation runs every op, and why each other one does not",
    "why": "the whole story of one op or one setting",
    "diff": "what two configurations, platforms or locks decide differently, and why",
    "lock": "write down what a configuration decides, or check that it still decides that",
    "catalog": "the attention backends, what each needs and offers, and the rules that choose one",
    "verify": "every implementation that this machine can run, against its reference",
    "doctor": "what this machine is, what it lacks, and a file of it to plan from elsewhere",
    "schema": "the JSON schema of configurations (for editors) or plans, or the fields table for the ratchets",
    "ratchet": "the linter that keeps an engine's code on the road (its exit statuses are its own)",
}
# It is a command of commands: it parses its words itself.
WHOLE = ("ratchet",)
EPILOG = """\
exit status: 0 done; 2 usage or configuration; 3 no plan satisfies it (or --strict and a warning); 4 differs from the
lock; 5 verification failed; 70 a bug of confbag; 130 interrupted. CONFBAG_TRACEBACK=1 shows a bug's traceback.
NO_COLOR turns colour off."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    # One short run makes next to no garbage that only the collector could free, and would pay for it at every import.
    collecting = gc.isenabled()
    gc.disable()
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return BROKEN_PIPE
    except Exception as error:
        return failure(error)
    finally:
        if collecting:
            gc.enable()
    return status


def _run(argv: list[str]) -> int:
    name = argv[0] if argv and not argv[0].startswith("-") else None
    if name is not None and name not in COMMANDS:
        from confbag.words.suggest import nearest

        close = nearest(name, COMMANDS)
        complain(
            f"confbag: unknown command {name!r}; "
            + (f"did you mean {close}?" if close else f"write one of {', '.join(COMMANDS)}")
        )
        return USAGE
    if name in WHOLE:
        return int(import_module(f"confbag.cli.{name}").main(argv[1:]))
    parser, module = _parser(name)
    if name is None:
        _known(parser, *parser.parse_known_args(argv))
        parser.print_help(sys.stderr)
        return USAGE
    words, launch_line = _divided(argv[1:], parser)
    # Intermixed: options and files in any order.
    args = _known(parser, *parser.parse_known_intermixed_args(words))
    if launch_line is not None:
        args.launch_line = launch_line
    return int(module.run(args))


def _divided(words: list[str], parser: ArgumentParser) -> tuple[list[str], list[str] | None]:
    """The words up to `--` and those after it, which are another program's, where the subcommand takes a record."""
    takes_record = any("--record" in action.option_strings for action in parser._actions)
    if not takes_record or "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser(name: str | None) -> tuple[ArgumentParser, Any]:
    """The parser of one subcommand and its module; without a name, the one that lists them all."""
    root = _Parser(
        prog="confbag",
        description="One typed object that says which kernel an engine will run, and why.",
        epilog=EPILOG,
    )
    root.add_argument("--version", action=_Version, nargs=0, default=SUPPRESS, help="print the version and exit")
    commands = root.add_subparsers(metavar="COMMAND", title="commands")
    if name is None:
        for command, summary in COMMANDS.items():
            commands.add_parser(command, help=summary)
        return root, None
    module = import_module(f"confbag.cli.{name}")
    module.add_parser(commands)
    return commands.choices[name], module


def _known(parser: ArgumentParser, args: Namespace, unknown: Sequence[str]) -> Namespace:
    """The arguments, where all are known. An unknown option is named without its value, which may be a secret."""
    if unknown:
        from confbag.words.suggest import nearest

        names = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        options = [option for action in parser._actions for option in action.option_strings]
        close = nearest(names[0], options) if names else None
        hint = f"did you mean {close}?" if close else f"`{parser.prog} --help` lists what it takes"
        what = f"unknown option{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "too many words"
        parser.error(f"{what}; {hint}")
    return args


class _Parser(ArgumentParser):
    """A parser that accepts no abbreviated option, nor do the parsers made from it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {message}")
        raise SystemExit(USAGE)


class _Version(Action):
    """Print the version; read from the installed metadata only when it is asked for."""

    def __call__(self, parser: ArgumentParser, *args: Any, **kwargs: Any) -> NoReturn:
        from importlib.metadata import version

        print(f"confbag {version('confbag')}")
        parser.exit()
