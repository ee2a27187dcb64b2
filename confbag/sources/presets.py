"""Presets: named sets of values that ship as data."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.keys import Keys
from confbag.sources.packaged import packaged
from confbag.sources.yaml import read_text
from confbag.words.provenance import Layer
from confbag.words.suggest import nearest

_PACKAGE = "confbag.presets"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}\Z")


def list_presets() -> tuple[str, ...]:
    """The names that `preset:`, `--preset` and `load(preset=)` take."""
    from importlib.resources import files  # here: only a listing pays for the import

    return tuple(sorted(item.name[:-5] for item in files(_PACKAGE).iterdir() if item.name.endswith(".yaml")))


def read_preset(name: str, keys: Keys, where: str | None = None) -> Found:
    """The settings of a preset, each with the origin `preset NAME`. where: who named it, should there be none."""
    content = packaged(_PACKAGE, f"{name}.yaml") if _NAME.match(name) else None
    if content is None:
        known = list_presets()
        meant = nearest(name, known)
        said = f" {name!r}" if _NAME.match(name) else ""
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}"
        return Found(faults=(Fault(where or "preset", None, f"unknown preset{said}; {hint}"),))
    origin = f"preset {name}"
    found = read_text(content, os.path.join("presets", f"{name}.yaml"), keys, layer=Layer.PRESET)
    return Found(tuple(replace(setting, origin=origin) for setting in found.settings), found.faults)
