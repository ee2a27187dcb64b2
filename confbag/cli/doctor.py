"""`confbag doctor`: what this machine is, what it lacks, and a file of it to plan from elsewhere."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from confbag.cli.common import DONE, add_schema, emit, registry_of, wants_colour
from confbag.errors import PlatformError

if TYPE_CHECKING:
    from confbag.backends.platforms.platform import Platform
    from confbag.backends.platforms.probe import Probe
    from confbag.backends.render.terminal import Lines, Text

LABEL, VALUE = 16, 30


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    parser = subparsers.add_parser(
        "doctor",
        help="what this machine is, what it lacks, and a file of it to plan from elsewhere",
        description="Print what this machine is, where each fact was learnt, and what is here but cannot be used.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--dump", metavar="FILE", help="write the platform to FILE, for `confbag plan --platform FILE` elsewhere"
    )
    add_schema(parser)


def run(args: Namespace) -> int:
    """Probe, print, and write the file when one was asked for."""
    from confbag.backends.platforms.probe import probe
    from confbag.backends.render.terminal import text_of

    registry = registry_of(args, shown=True)
    found = probe(added=registry.probes, deep=True)
    emit(text_of(_parts(found, map(str, registry.failures)), colour=wants_colour()))
    if args.dump is not None:
        dump(found.platform, args.dump)
        emit(f"\nwritten: {args.dump}\n")
    return DONE


def dump(platform: Platform, path: str) -> None:
    """Write a platform file whole or not at all. Raises PlatformError when it cannot be written."""
    from confbag.cli.writing import unwritable, write_whole

    text = f"# Written by `confbag doctor --dump`, to be planned for with --platform.\n{platform.dump_yaml()}"
    try:
        write_whole(path, text)
    except (OSError, ValueError) as error:
        raise PlatformError(f"--dump {unwritable(path, error)}") from error


def _parts(found: Probe, failures: Iterable[str]) -> Iterator[Lines | Text]:
    from confbag.backends.render.terminal import BLANK, BOLD, WARNING, Text, columns
    from confbag.words.text import printable

    platform = found.platform
    yield Text(f"platform: {platform.spec}", BOLD)
    yield BLANK
    yield columns([[Text(title, BOLD) for title in ("FACT", "FOUND", "LEARNT FROM")]], LABEL, VALUE)
    yield columns((map(printable, row) for row in _rows(found)), LABEL, VALUE)
    yield BLANK
    yield Text("warnings", BOLD)
    notes = [*platform.notes, *failures]
    yield columns(((Text("!", WARNING), printable(note)) for note in notes), 2)
    if not notes:
        yield Text("none")


def _rows(found: Probe) -> Iterator[tuple[str, str, str]]:
    """Every line of the table: the facts as they were learnt, then what is installed."""
    yield "python", sys.version.split()[0], sys.executable or "unknown"
    for fact in found.facts:
        yield fact.name, fact.value, fact.learnt
    software = found.software
    if software.torch is not None:
        build = software.torch
        kinds = [f"{name} {version}" for name in ("cuda", "hip", "xpu") if (version := getattr(build, name))]
        yield "torch build", f"{build.version} ({', '.join(kinds) or 'CPU only'})", "torch/version.py"
    else:
        yield "torch build", "torch is not installed", "the search path"
    for extension in software.extensions:
        library = software.missing.get(extension.module)
        own = extension.distribution
        yield (
            "torch extension",
            f"{extension.module} {own.version}",
            f"{library} not found" if library else "entry point torch.backends",
        )
    yield from _packages(found)
    if found.platform.native_ops is not None:
        yield "native ops", f"{len(found.platform.native_ops)} schemas", "torch in a child process"


def _packages(found: Probe) -> Iterator[tuple[str, str, str]]:
    from confbag.backends.platforms.components import component_version, components

    for name in components():
        brought = component_version(found.platform, name)
        if brought is not None:
            distribution = found.software.distributions[brought[0]]
            label = brought[0] if brought[0] == name else f"{brought[0]} ({name})"
            yield "package", f"{label} {brought[1]}", distribution.info.name
