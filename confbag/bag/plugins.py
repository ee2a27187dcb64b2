"""The settings of plug-ins, judged: one that is wrong is left out and shown, and only one that was named is fatal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from confbag.bag.chains import chained
from confbag.bag.reading import keys_of
from confbag.bag.validation import validate
from confbag.errors import Fault
from confbag.schema.config import Config
from confbag.schema.leaves import leaves
from confbag.sources import Found
from confbag.sources.entry_points import EntryPoint
from confbag.sources.keys import same
from confbag.sources.plugin_trial import named
from confbag.sources.plugins import Declared, read_plugins
from confbag.words.provenance import Setting


class Failure(NamedTuple):
    """A plug-in whose settings are left out, and why."""

    point: EntryPoint
    problem: str


class PluginSettings(NamedTuple):
    """What plug-ins set, with the faults of those that were named; and the others that are left out."""

    found: Found
    failures: tuple[Failure, ...] = ()


def plugin_settings(schema: type[Config]) -> PluginSettings:
    """The defaults and variables of every installed plug-in.

    With CONFBAG_PLUGINS only those that it names are read, and what is wrong with one is a fault; without it such a one
    is left out with a logged warning, and is a row of every plan.
    """
    declared = read_plugins(keys_of(schema))
    problems = {one.point: list(_problems(one, schema)) for one in declared}
    merged = frozenset(key for key, leaf in leaves(schema).items() if leaf.merged)
    for one, other, setting in _contradictions(declared, merged):
        said = f"its default contradicts that of plug-in {other.name}; uninstall one of them"
        problems[one].append(Fault(f"plugin {one.name}", setting.key, said))
    wrong = [one for one in declared if problems[one.point]]
    sound = [one.found for one in declared if not problems[one.point]]
    # A variable stays its own, whatever is wrong with its defaults: one that is set is no typo of another.
    variables = tuple(name for one in declared for name in one.found.environment)
    failures = tuple(Failure(one.point, "; ".join(_said(fault) for fault in problems[one.point])) for one in wrong)
    faults: list[Fault] = []
    if named() is not None:
        faults = [fault for one in wrong for fault in problems[one.point]]
        failures = ()
    for failure in failures:
        _tell(failure)
    return PluginSettings(
        Found(
            tuple(setting for found in sound for setting in found.settings),
            tuple(faults),
            environment=variables,
        ),
        failures,
    )


def _problems(one: Declared, schema: type[Config]) -> Iterator[Fault]:
    """Everything that is wrong with one plug-in by itself."""
    if one.problem is not None:
        where = f"plugin {one.point.name}"
        yield Fault(where, None, f"{one.problem}; repair or uninstall it (distribution {one.point.distribution})")
        return
    yield from one.found.faults
    if not one.found.faults and one.found.settings:
        _, faults = validate(schema, chained(schema, one.found.settings))
        keys = [setting.key for setting in one.found.settings]
        # Also what its defaults make of each other, and of ours; not that somebody else has yet to set a key.
        yield from (fault for fault in faults if fault.key is None or any(_within(key, fault.key) for key in keys))


def _within(key: str, section: str) -> bool:
    return key == section or key.startswith(f"{section}.")


def _contradictions(
    declared: tuple[Declared, ...], merged: Collection[str]
) -> Iterator[tuple[EntryPoint, EntryPoint, Setting]]:
    """Both plug-ins of each two that give one key different defaults: whichever is found first decides nothing.

    merged: the keys whose mappings merge, so that two contradict each other only in an entry.
    """
    before: dict[str, list[tuple[EntryPoint, Setting]]] = {}
    for one in declared:
        for setting in one.found.settings:
            for point, other in before.setdefault(setting.key, []):
                if _differ(other.value, setting.value, entries=setting.key in merged):
                    yield one.point, point, setting
                    yield point, one.point, setting
            before[setting.key].append((one.point, setting))


def _differ(one: Any, other: Any, *, entries: bool) -> bool:
    if entries and isinstance(one, Mapping) and isinstance(other, Mapping):
        return any(not same(one[entry], other[entry]) for entry in one.keys() & other.keys())
    return not same(one, other)


def _said(fault: Fault) -> str:
    return f"{fault.key}: {fault.message}" if fault.key else fault.message


_told: set[Failure] = set()


def _tell(failure: Failure) -> None:
    import logging  # here: only a plug-in that fails needs it

    if failure not in _told:
        _told.add(failure)  # ratchet: allow CB121 -- a plug-in that fails is told of once a process
        point = failure.point
        message = f"plug-in {point.name} ({point.distribution}): its settings are left out: {failure.problem}"
        logging.getLogger("confbag").warning(message)
