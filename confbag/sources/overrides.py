"""Settings that a program gives: a mapping with dotted or nested keys, under the name of whoever gives it."""

from __future__ import annotations

from collections.abc import Mapping

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.keys import Keys
from confbag.words.provenance import Layer


def read_overrides(name: str, values: object, keys: Keys, *, layer: Layer = Layer.OVERRIDE) -> Found:
    """The settings of `values`, each with the origin `override NAME`."""
    origin = f"{layer.name.lower()} {name}"
    if not isinstance(values, Mapping):
        kind = type(values).__name__
        return Found(faults=(Fault(origin, None, f"must be a mapping of keys to values, not {kind}"),))
    return keys.flatten(values, lambda path: origin, layer=layer)
