"""`confbag lock`: write down what a configuration decides, and check later that it still decides that."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from confbag.cli.common import DIFFERS, DONE, UNSATISFIED, add_sources, complain, emit, plan_of, registry_of, status_of
from confbag.cli.diff import FORMATS, satisfied, show
from confbag.errors import ConfigError, Fault

if TYPE_CHECKING:
    from confbag.backends.declare.registry import Registry

STDOUT = "-"


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    parser = subparsers.add_parser(
        "lock",
        help="write down what a configuration decides, or check that it still decides that",
        description="Print the lock of a plan, one op a line, for version control; or check one. "
        "A lock is checked for the platform that it names, unless --platform says otherwise.",
        allow_abbrev=False,
    )
    add_sources(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-o", "--output", metavar="FILE", help="write the lock to FILE (-, the default: print it)")
    what.add_argument("--check", metavar="FILE", help="compare with the lock in FILE; exit 4 where it differs")
    parser.add_argument("--format", choices=FORMATS, help="of the differences that --check prints; default: table")


def run(args: Namespace) -> int:
    """Write the lock, or check one: 4 when it differs, 3 when nothing satisfies the plan."""
    if args.check is not None:
        return _check(args, registry_of(args))
    if args.format is not None:
        raise ConfigError([Fault("--format", None, "is for --check; a lock has one form")])
    return _write(args, registry_of(args))


def _write(args: Namespace, registry: Registry) -> int:
    from confbag.backends.compare.lock import Lock
    from confbag.cli.writing import unwritable, write_whole

    path = args.output or STDOUT
    if path != STDOUT:
        _free(path)
    plan = plan_of(args, registry)
    if plan.faults:
        for fault in plan.faults:
            complain(f"{fault.slot or 'plan'}: {fault.provider or 'the plan'}: {fault}")
        return status_of(plan)
    text = Lock.of(plan).text()
    if path == STDOUT:
        emit(text)
    else:
        try:
            write_whole(path, text)
        except (OSError, ValueError) as error:
            raise ConfigError([Fault("-o", None, unwritable(path, error))]) from error
        emit(f"written: {path}\n")
    return DONE


def _check(args: Namespace, registry: Registry) -> int:
    from confbag.backends.compare.diff import diff
    from confbag.backends.compare.lock_file import read_lock
    from confbag.cli.sides import platform_of

    lock = read_lock(args.check, renew=lambda platform: _command(args, args.platform or platform))
    if args.platform is None:
        args.platform = platform_of(lock, registry)
    found = diff(lock, plan_of(args, registry))
    show(found, args.format or FORMATS[0])
    if not satisfied(found):
        return UNSATISFIED
    if found.same:
        return DONE
    complain(f"confbag: the plan differs from {args.check}; to accept that: {_command(args, args.platform)}")
    return DIFFERS


def _free(path: str) -> None:
    """Refuse to write over what is no lock: most likely the configuration itself was named."""
    from confbag.backends.compare.lock_file import is_lock
    from confbag.sources.files import read_bounded
    from confbag.sources.nodes import LIMITS

    if not os.path.exists(path):
        return
    content, _ = read_bounded(path, LIMITS.size)
    if content is None or (content and not is_lock(content.decode("utf-8", "replace"))):
        raise ConfigError(
            [Fault("-o", None, f"{path}: is there and is no lock; remove it, or name another file (-: print the lock)")]
        )


def _named(args: Namespace) -> Iterator[tuple[str, str | None]]:
    for option in ("schema", "preset", "model", "record"):
        yield option, getattr(args, option)


def _command(args: Namespace, platform: str | None) -> str:
    """The command that writes the lock again. Values of --set, and a launch line, are not repeated: one may be a
    secret."""
    words = ["confbag", "lock", *args.config]
    for option, value in _named(args):
        words += [] if value is None else [f"--{option}", value]
    words += [] if platform in (None, "this") else ["--platform", platform]
    line = f"{shlex.join(words)}{' --set ...' if args.set else ''} -o {shlex.quote(args.check)}"
    return line if args.launch_line is None else f"{line} -- ..."
