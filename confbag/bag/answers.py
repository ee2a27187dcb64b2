"""What an engine's own fields say of keys of ours, in a schema that `schema_from` made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from confbag.errors import Fault
from confbag.schema.config import Config
from confbag.sources import Found
from confbag.sources.keys import same
from confbag.words.provenance import Setting


def answered(schema: type[Config], settings: Iterable[Setting]) -> tuple[tuple[Setting, ...], list[Fault]]:
    """The settings of one source, with what its settings of an engine's fields say of keys of ours, and the faults of
    two that say different things of one. A field that is null says nothing."""
    given = tuple(settings)
    derived: Any = getattr(schema, "derived", None)
    answers = {} if derived is None else derived.keys_answered
    if not answers:
        return given, []
    said = {setting.key: setting for setting in given}
    faults: list[Fault] = []
    made: list[Setting] = []
    for setting in given:
        key = answers.get(setting.key)
        if key is None or setting.value is None:
            continue
        first = said.setdefault(key, replace(setting, key=key, why=f"{setting.key} answers to it"))
        if not same(first.value, setting.value):
            message = f"says otherwise than {key} ({first.origin}), to which it answers; write one of them"
            faults.append(Fault(setting.origin, setting.key, message))
        elif first.why == f"{setting.key} answers to it":
            made.append(first)
    return (*given, *made), faults


def with_answers(schema: type[Config], found: Found) -> Found:
    """What a source said, with what that says of keys of ours."""
    settings, faults = answered(schema, found.settings)
    if len(settings) == len(found.settings) and not faults:
        return found
    return replace(found, settings=settings, faults=(*found.faults, *faults))
