"""`confbag schema`: the JSON schema of a configuration or a plan, or the fields table for the ratchets."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from confbag.cli.common import DONE, add_schema, emit

if TYPE_CHECKING:
    from confbag.schema.config import Config


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    parser = subparsers.add_parser(
        "schema",
        help="the JSON schema of configurations (for editors) or plans, or the fields table for the ratchets",
        description="Print the JSON schema of a configuration file, for editors.",
        allow_abbrev=False,
    )
    add_schema(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--plan", action="store_true", help="print the schema of `confbag plan --format json` instead")
    which.add_argument(
        "--accessors",
        action="store_true",
        help="print, as TOML, what replaces a read of each field of SGLang's record: the ratchets' table",
    )


def run(args: Namespace) -> int:
    """Print what was asked for."""
    if args.plan:
        emit(plan_schema())
        return DONE
    from confbag.bag.schemas import chosen_schema

    schema = chosen_schema(args.schema)
    emit(accessors(schema) if args.accessors else config_schema(schema))
    return DONE


def config_schema(schema: type[Config]) -> str:
    """The JSON schema of a configuration file."""
    from confbag.schema.editor import json_schema

    return json.dumps(json_schema(schema), indent=2) + "\n"


def plan_schema() -> str:
    """The JSON schema of a plan, as the package ships it."""
    from importlib.resources import files

    return files("confbag.backends").joinpath("plan.schema.json").read_text(encoding="utf-8")


def accessors(schema: type[Config]) -> str:
    """What replaces a read of each field of SGLang's record: `field = {read = ..., import = ...}`.

    A comment says where the values differ, so that a comparison beside the read has to be changed with it.
    """
    from confbag.schema.leaves import leaves
    from confbag.sources.fields import fields_of

    fields = {field.name: (field.key, field) for field in (fields_of("sglang") or {}).values() if field.key is not None}
    lines = ["# Field of SGLang's startup record -> the expression to read instead, and its import."]
    for name, (key, field) in sorted(fields.items()):
        leaf = leaves(schema)[key]
        namespace, _, rest = key.partition(".")
        read = f"{'not ' if field.inverted else ''}get_{namespace}().{rest}"
        differ = [f"{ours!r} for {theirs!r}" for theirs, ours in field.words.items()]
        if not leaf.auto and field.type != "flag" and field.default != leaf.default:
            differ.insert(0, f"{leaf.default!r} for {field.default!r}")
        comment = f"  # holds {', '.join(differ)}" if differ else ""
        lines.append(f'{name} = {{read = "{read}", import = "from confbag import get_{namespace}"}}{comment}')
    return "\n".join(lines) + "\n"
