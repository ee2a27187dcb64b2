"""Which schema is meant: an engine's own Config, by its installed name or by where it stands; a file names none."""

from __future__ import annotations

import os

from confbag.errors import ConfigError, Fault
from confbag.schema.config import Config
from confbag.schema.given import no_schema
from confbag.schema.leaves import leaves, namespaces
from confbag.sources.entry_points import EntryPoint, entry_points
from confbag.sources.plugin_trial import aside, refusals, said
from confbag.words.suggest import nearest
from confbag.words.text import listed

GROUP = "confbag.schemas"
VARIABLE = "CONFBAG_SCHEMA"
OPTION = "--schema"


def chosen_schema(named: str | None = None) -> type[Config]:
    """The schema that --schema names, else CONFBAG_SCHEMA, else Config. ConfigError where it cannot be had."""
    variable = os.environ.get(VARIABLE)
    if named is not None:
        return find_schema(named, OPTION)
    return find_schema(variable, f"env {VARIABLE}") if variable else Config


def find_schema(text: str, where: str = OPTION) -> type[Config]:
    """The Config of an installed name, or of `package.module:Class`. ConfigError says `where` and what to write."""
    points = {point.name: point for point in entry_points(GROUP)}
    point = EntryPoint(GROUP, text, text, "") if ":" in text else points.get(text)
    if point is None:
        meant = nearest(text, points)
        hint = f"did you mean {meant}?" if meant else f"installed are {listed(points) or 'none'}"
        raise ConfigError([Fault(where, None, f"unknown schema {text!r}; {hint} (or write package.module:Class)")])
    try:
        with aside():
            found = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an engine's own code
        hint = "install it or put its folder on PYTHONPATH" if isinstance(error, ModuleNotFoundError) else "repair it"
        raise ConfigError([Fault(where, None, f"{text} cannot be loaded: {said(error)}; {hint}")]) from error
    wrong = no_schema(found)
    if wrong is not None:
        raise ConfigError([Fault(where, None, f"{text} {wrong}")])
    schema: type[Config] = found
    return schema


def elsewhere(key: str, besides: type[Config]) -> str | None:
    """How to read a key that only another installed schema has; None where none has it."""
    points = entry_points(GROUP)
    refused = refusals(points) if points else {}
    for point in points:
        try:
            schema = None if point in refused else find_schema(point.name)
        except ConfigError:
            continue
        if schema is not None and schema is not besides and (key in leaves(schema) or key in namespaces(schema)):
            return f"the schema {point.name} has it; write {OPTION} {point.name}"
    return None
