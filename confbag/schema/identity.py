"""What a schema is called, and a digest of what can be set in it: the same in every process."""

from __future__ import annotations

import functools
import sys

from confbag.schema.config import Config
from confbag.schema.leaves import leaves
from confbag.schema.phrases import expected
from confbag.words.plain import fingerprint, finite

OURS = "confbag"
"""The name of the schema that everybody has."""


def name_of(schema: type[Config]) -> str:
    """`package.module:Class`; `confbag` for Config itself."""
    return OURS if schema is Config else f"{schema.__module__}:{named(schema).__qualname__}"


def named(schema: type[Config]) -> type[Config]:
    """The schema, which has the name that it can be imported by from now on: one that `schema_from` made has it only
    once its module has bound it."""
    module = sys.modules.get(schema.__module__)
    if "(" in schema.__qualname__ and module is not None:
        schema.__qualname__ = next(
            (name for name, value in vars(module).items() if value is schema), schema.__qualname__
        )
    return schema


def names_of(schema: type[Config]) -> tuple[str, ...]:
    """The names of a schema and of those that it is made from."""
    return tuple(name_of(part) for part in schema.__mro__ if issubclass(part, Config))


@functools.cache
def digest_of(schema: type[Config]) -> str:
    """SHA-256 over every key with its type in words and its default."""
    return fingerprint(
        {
            key: [expected(leaf.annotation), None if leaf.secret else finite(leaf.default), leaf.auto, leaf.required]
            for key, leaf in leaves(schema).items()
        }
    )
