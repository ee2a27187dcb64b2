"""The sources that a bag reads again by itself: overrides, and the checkpoint that model.path names."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from confbag.bag.schemas import elsewhere
from confbag.bag.validation import check_defaults
from confbag.errors import ConfigError
from confbag.schema.config import Config
from confbag.schema.identity import names_of
from confbag.schema.leaves import leaves, namespaces, retired
from confbag.sources import Found
from confbag.sources.keys import Keys
from confbag.sources.overrides import read_overrides
from confbag.words.given import expect
from confbag.words.provenance import Setting

PathLike = str | os.PathLike[str]


@functools.cache
def keys_of(schema: type[Config]) -> Keys:
    """The keys of a schema, as the sources know them. RegistrationError for a schema whose defaults are not of their
    types."""
    check_defaults(schema)
    return Keys(
        leaves(schema),
        namespaces(schema),
        retired(schema),
        schemas=names_of(schema),
        elsewhere=functools.partial(elsewhere, besides=schema),
        recorded=_recorded,
    )


def _recorded(name: str) -> list[tuple[str, str]]:
    from confbag.sources.fields import answers_to  # here: only a mistake pays for reading the records

    return answers_to(name)


def overrides_of(schema: type[Config], source: str, changes: Mapping[str, Any], order: int = 0) -> tuple[Setting, ...]:
    """The settings of one `override`, the later of two having the higher order; ConfigError for keys that do not
    exist."""
    expect(source, str, "override", "first a name for the change, as errors show it", "override('warm-up', {...})")
    found = read_overrides(source, changes, keys_of(schema))
    if found.faults:
        raise ConfigError(found.faults)
    return tuple(replace(setting, order=order) for setting in found.settings)


def facts_of(path: str | None) -> tuple[str | None, tuple[Setting, ...]]:
    """What the checkpoint at a path says, and the path; nothing of a name on a hub. ConfigError where it cannot be
    understood."""
    read_from, found = checkpoint_of(None, path)
    if found.faults:
        raise ConfigError(found.faults)
    return read_from, found.settings


def checkpoint_of(model: PathLike | None, path: Any) -> tuple[str | None, Found]:
    """What a checkpoint says, faults and all, and its path: the one at `model`, else the one at a local `path`."""
    from confbag.sources.checkpoint import read_checkpoint  # here: json is imported only where there is a checkpoint

    local = path if isinstance(path, str) and _is_checkpoint(path) else None
    if model is None:
        return local, read_checkpoint(local) if local is not None else Found()
    given = os.fspath(model)
    found = read_checkpoint(given)
    if local is None or os.path.realpath(_config(local)) == os.path.realpath(_config(given)):
        return given, found
    why = f"model= names this checkpoint; the one at model.path, {local}, was not read"
    return given, replace(found, settings=tuple(replace(setting, why=why) for setting in found.settings))


def _is_checkpoint(path: str) -> bool:
    return "\0" not in path and os.path.isfile(os.path.join(path, "config.json"))


def _config(path: str) -> str:
    return os.path.join(path, "config.json") if os.path.isdir(path) else path
