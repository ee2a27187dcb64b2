"""Settings that a program gives: a mapping with dotted or nested keys, in the place of a file or above everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.keys import Keys
from confbag.words.given import called
from confbag.words.provenance import Layer


def read_overrides(name: str, values: object, keys: Keys, *, layer: Layer = Layer.OVERRIDE) -> Found:
    """The settings of `values`, each with the origin `override NAME`."""
    origin = f"{layer.name.lower()} {name}"
    if not isinstance(values, Mapping):
        said = f"must be a mapping of keys to values, not {called(values)}; write {{'exec.graph': False}}"
        return Found(faults=(Fault(origin, None, said),))
    return keys.flatten(values, lambda path: origin, layer=layer)


def read_mapping(values: Mapping[str, Any], origin: str, keys: Keys) -> Found:
    """The settings of a mapping that stands in the place of a file."""
    return keys.flatten(values, lambda path: origin, layer=Layer.FILE)
