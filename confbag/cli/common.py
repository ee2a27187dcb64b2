"""What the subcommands share: their arguments, how text leaves the process, and what each failure exits with."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, TextIO

from confbag.errors import ConfbagError, ConfigError, Fault, PlanError, PlatformError

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan
    from confbag.backends.declare.registry import Registry
    from confbag.sources.record import Record

DONE = 0
USAGE = 2
UNSATISFIED = 3
DIFFERS = 4
UNVERIFIED = 5
BUG = 70
NO_OUTPUT = 74
INTERRUPTED = 130
BROKEN_PIPE = 141


class OutputError(ConfbagError):
    """Standard output could not be written (a full disk)."""


def add_schema(parser: ArgumentParser) -> None:
    """The argument that says whose settings are meant."""
    parser.add_argument(
        "--schema",
        metavar="NAME|MODULE:CLASS",
        help="an engine's own settings: an installed name, or where its Config stands (default: CONFBAG_SCHEMA, else "
        "confbag's own)",
    )


def registry_of(args: Namespace, *, shown: bool = False) -> Registry:
    """What is installed for the schema that the arguments name. shown: a plug-in that failed is part of what the
    command prints; else it is told of on stderr."""
    from confbag.backends.declare import plugins
    from confbag.bag.schemas import chosen_schema

    registry = plugins.installed(chosen_schema(args.schema))
    for failed in () if shown else registry.failures:
        complain(f"confbag: {failed}")
    return registry


def add_sources(parser: ArgumentParser, *, option: bool = False, elsewhere: bool = True) -> None:
    """The arguments that say what is planned, and for which machine. option: files are given by --config. elsewhere:
    another machine than this one may be named."""
    what = "YAML files, a later one wins; none: the defaults"
    if option:
        parser.add_argument("--config", action="append", default=[], metavar="CONFIG", help=f"{what}; repeatable")
    else:
        parser.add_argument("config", nargs="*", metavar="CONFIG", help=what)
    add_schema(parser)
    parser.add_argument("--preset", metavar="NAME", help="a named set of values beneath the files")
    parser.add_argument(
        "--model", metavar="CONFIG_JSON", help="a checkpoint's config.json, or its folder: fills model.*"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one value, in YAML flow syntax; repeatable"
    )
    if elsewhere:
        parser.add_argument(
            "--platform",
            metavar="this|NAME|FILE",
            help="this machine (the default), one known by name (npu:ascend910_93), or a dumped file",
        )
    else:
        parser.set_defaults(platform=None)
    parser.add_argument(
        "--record",
        metavar="KIND",
        help="sglang or vllm: an existing launch line beneath the files, whole or only its flags, last and after --",
    )
    parser.set_defaults(launch_line=None)


def record_of(args: Namespace) -> Record | None:
    """The record whose launch line stands after `--`; None without one. ConfigError where only half of it is there."""
    if args.record is None and args.launch_line is None:
        return None
    if args.record is None:
        raise ConfigError(
            [Fault("--", None, "what follows it is an engine's launch line; say whose with --record sglang or vllm")]
        )
    if args.launch_line is None:
        raise ConfigError([Fault("--record", None, "needs the launch line, last and after --: -- --model-path ...")])
    from confbag.sources.record import Record

    return Record(args.record, argv=args.launch_line)


def plan_of(args: Namespace, registry: Registry) -> Plan:
    """The plan that the arguments ask for; ConfigError with every fault of configuration and platform at once."""
    from confbag.backends.decide.names import check
    from confbag.backends.decide.planner import make_plan
    from confbag.bag.loading import read

    argv = [word for text in args.set for word in ("--set", text)]
    draft = read(
        *args.config,
        schema=registry.schema,
        preset=args.preset,
        model=args.model,
        record=record_of(args),
        argv=argv,
    )
    registry.check()
    faults = [*draft.faults, *check(draft, registry)]
    platform = None
    try:
        if args.platform is not None:
            platform = registry.find_platform(args.platform)
    except PlatformError as error:
        faults.append(Fault("--platform", None, str(error)))
    except ConfigError as error:
        faults += error.faults
    if faults:
        raise ConfigError(faults)
    return make_plan(draft.bag(), platform, registry=registry)


def status_of(plan: Plan, *, strict: bool = False) -> int:
    """The exit status of a plan, said on stderr when it is not 0."""
    from confbag.words.text import count

    if plan.faults:
        complain(f"confbag: nothing satisfies this plan ({count(len(plan.faults), 'fault')})")
        return UNSATISFIED
    if strict and plan.warnings:
        complain(f"confbag: --strict: {count(len(plan.warnings), 'warning')}")
        return UNSATISFIED
    return DONE


def wants_colour() -> bool:
    """Whether stdout is a terminal that shows colours, and nobody asked for none (NO_COLOR, TERM=dumb)."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(sys.stdout and sys.stdout.isatty() and not refused)


def emit(text: str) -> None:
    """Write text to stdout, whatever its encoding: a character it lacks is escaped."""
    if sys.stdout is not None:
        try:
            _write(sys.stdout, text)
        except BrokenPipeError:
            raise
        except OSError as error:
            silence()
            raise OutputError(f"cannot write to standard output: {error.strerror}") from error


def complain(text: str) -> None:
    """Write lines to stderr, each printable and safe for a terminal."""
    from confbag.words.text import printable

    if sys.stderr is not None:
        _write(sys.stderr, "".join(f"{printable(line)}\n" for line in text.splitlines()))


def flush() -> None:
    """Write out what stdout still holds, so that a failure to do so is ours to report."""
    if sys.stdout is not None:
        sys.stdout.flush()


def silence() -> None:
    """Point stdout at nothing, so that the interpreter does not complain at its end of what could not be written."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failure(error: Exception) -> int:
    """Say what went wrong in our own words and return the exit status: a bug of confbag is 70 and shows no value."""
    if isinstance(error, ConfigError):
        complain("\n".join(map(str, error.faults)))
        return USAGE
    if isinstance(error, ConfbagError):
        complain(f"confbag: {error}")
        return UNSATISFIED if isinstance(error, PlanError) else NO_OUTPUT if isinstance(error, OutputError) else USAGE
    import traceback

    if os.environ.get("CONFBAG_TRACEBACK"):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    what = f"{type(error).__name__} at {place}"
    complain(f"confbag: internal error: {what}; please report it with what CONFBAG_TRACEBACK=1 prints")
    return BUG


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
