"""`confbag catalog`: the attention backends that a plan can name, what each needs and offers, and the rules."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from confbag.cli.common import DONE, add_schema, emit, registry_of, wants_colour
from confbag.errors import ConfigError, Fault

FORMATS = ("table", "json", "markdown")


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    summary = "the attention backends, what each needs and offers, and the rules that choose one"
    parser = subparsers.add_parser("catalog", help=summary, description=f"Print {summary}.", allow_abbrev=False)
    parser.add_argument("provider", nargs="*", metavar="BACKEND", help="only these; none: every one")
    parser.add_argument("--device", action="append", default=[], help="only what can run on cuda, npu ...; repeatable")
    parser.add_argument("--kind", action="append", default=[], help="only what takes mha, mla, dsa, dsv4; repeatable")
    parser.add_argument(
        "--phase", action="append", default=[], help="only what takes prefill, decode, draft; repeatable"
    )
    add_schema(parser)
    parser.add_argument("--op", default="attention", help="the implementations of another op (default: attention)")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")


def run(args: Namespace) -> int:
    """Print the catalogue; 2 for a name that nothing answers to."""
    from confbag.backends.decide.places import unknown
    from confbag.backends.declare.columns import value_of
    from confbag.backends.declare.wanted import Wanted
    from confbag.backends.render import catalog, catalog_page

    registry = registry_of(args)
    registry.check()
    if args.op not in registry.ops:
        raise ConfigError([Fault("--op", None, unknown("op", args.op, registry.ops))])
    op = registry.ops[args.op]
    kinds = {kind for row in registry.rows(op.name) for kind in value_of(row, "kind")}
    faults: list[Fault] = []

    def check(where: str, what: str, names: Iterable[str], known: Iterable[str]) -> None:
        among = set(known)
        faults.extend(Fault(where, None, unknown(what, name, among)) for name in names if name not in among)

    check("catalog", f"provider of {op.name}", args.provider, registry.answering(op.name))
    check("--device", "device", args.device, registry.devices)
    check("--kind", "model kind", args.kind, kinds)
    check("--phase", op.kind_of_regime, args.phase, [regime.name for regime in op.regimes])
    if faults:
        raise ConfigError(faults)
    wanted = Wanted(registry, op.name, args.device, args.kind, args.phase, args.provider)
    if args.format == "json":
        emit(catalog.data(wanted))
    elif args.format == "markdown":
        emit(catalog_page.markdown(wanted))
    else:
        emit(catalog.table(wanted, colour=wants_colour()))
    return DONE
