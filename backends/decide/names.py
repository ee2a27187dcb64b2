"""The names that only the registry knows: ops, regimes, providers and the words of settings, wherever a setting holds
one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from confbag.backends.decide.asked import PIN, PREFER, REFERENCE_ONLY
from confbag.backends.decide.places import clashes, unknown, wrong, wrong_sites
from confbag.backends.declare.op import Op
from confbag.backends.declare.registry import PluginFailure, Registry
from confbag.backends.declare.slots import Slot
from confbag.backends.words.levels import BATCH_INVARIANT
from confbag.errors import Fault
from confbag.words.provenance import AUTO, Setting
from confbag.words.text import LISTED

if TYPE_CHECKING:
    from confbag.bag.bag import Bag
    from confbag.bag.loading import Draft

RENAMED = "old-name"
"""The rule that writes a provider's new name where somebody wrote an old one."""


def check(said: Bag | Draft, registry: Registry) -> list[Fault]:
    """Every name that no op or provider answers to, and pins that contradict a setting, each where it was written. Of a
    draft, as far as its values could be understood. What a plug-in says that nobody named is no fault: see
    `of_plugins`."""
    every = (told for told in _all(said, registry) if _plugin(told[0], registry) is None)
    found = (Fault(None if where is None else where.origin, key, message) for where, key, message in every)
    told = list(islice(found, LISTED))
    # How many there are beyond, nobody needs: looking each up for a near one takes its time.
    return [*told, *(Fault(None, None, "and more names that nobody answers to") for _ in islice(found, 1))]


def of_plugins(said: Bag | Draft, registry: Registry) -> list[PluginFailure]:
    """The same of plug-ins whose defaults are read and that nobody named: they are left out and shown, and no fault."""
    problems: dict[str, list[str]] = {}
    for setting, key, message in _all(said, registry):
        plugin = _plugin(setting, registry)
        if plugin is not None:
            problems.setdefault(plugin, []).append(f"{key}: {message}")
    return [
        PluginFailure(plugin, registry.discovered[plugin], f"its settings: {'; '.join(told)}")
        for plugin, told in problems.items()
    ]


def _plugin(setting: Setting | None, registry: Registry) -> str | None:
    """The plug-in whose default a setting is, where nobody named it."""
    plugin = None if setting is None else setting.plugin
    return plugin if plugin in registry.discovered else None


def _all(said: Bag | Draft, registry: Registry) -> Iterator[tuple[Setting | None, str, str]]:
    values = said.values()
    for op in registry.ops.values():
        known = registry.answering(op.name)
        for key in dict.fromkeys(key for keys in op.settings.values() for key in keys):
            value = values.get(key, AUTO)
            if isinstance(value, str) and value != AUTO and value not in known:
                yield said.setting(key), key, unknown(f"{op.name} backend", value, known)
    for key, choices in registry.choices.items():
        value = values.get(key)
        if isinstance(value, str) and value != AUTO and value not in choices:
            yield said.setting(key), key, unknown(key.rpartition(".")[2].replace("_", " "), value, choices)
    for key in dict.fromkeys(op.sites for op in registry.ops.values() if op.sites is not None):
        for message in wrong_sites(key, values.get(key), registry):
            yield said.setting(key), key, message
    pins = _pairs(values.get(PIN, ()))
    who = said.entries(PIN) if pins else {}
    for place, provider in pins:
        told = _pin(place, provider, said, values, who, registry)
        if told is not None:
            yield who.get(place), PIN, told
    for told in clashes(pins, values, registry):
        yield said.setting(PIN), PIN, told
    for entry in values.get(PREFER, ()):
        if isinstance(entry, str):
            if entry not in registry.everyone():
                told = unknown("provider", entry, registry.everyone())
                yield _who_prefers(said.chain(PREFER), entry), PREFER, told
        elif (why := _place(entry[0], values, registry) or _stranger(entry[0], entry[1], registry)) is not None:
            yield _who_prefers(said.chain(PREFER), entry[0]), PREFER, why
    places = values.get(REFERENCE_ONLY, False)
    for place in () if isinstance(places, bool) else places:
        if (why := _place(place, values, registry)) is not None:
            yield said.setting(REFERENCE_ONLY), REFERENCE_ONLY, why
    for key in (PIN, PREFER):
        for setting, place in _removed(said.chain(key)):
            if (why := wrong(place, values, registry)) is not None:
                yield setting, key, why


def _who_prefers(chain: Sequence[Setting], said: str) -> Setting | None:
    """The highest source that says something of a provider or a place; the highest of all where none does."""
    for setting in reversed(chain):
        value = setting.value
        entries = value if isinstance(value, (list, tuple)) else (value,)
        if any(said == entry or (isinstance(entry, (Mapping, tuple)) and said in entry) for entry in entries):
            return setting
    return chain[-1] if chain else None


def _removed(chain: Sequence[Setting]) -> Iterator[tuple[Setting, str]]:
    """Every place of which a source says null and no lower one anything: it removes nothing, and may be misspelt."""
    given: set[Any] = set()
    for setting in chain:
        value = setting.value
        for entry in value if isinstance(value, (list, tuple)) else (value,):
            for place, said in entry.items() if isinstance(entry, Mapping) else ():
                if said is not None:
                    given.add(place)
                elif place not in given:
                    yield setting, str(place)


def renamed(values: Mapping[str, Any], registry: Registry) -> dict[str, str]:
    """The keys that name a provider by an old name -> the name that it has now."""
    found: dict[str, str] = {}
    for op in registry.ops.values():
        aliases = registry.aliases(op.name)
        for key in (key for keys in op.settings.values() for key in keys):
            if values.get(key) in aliases:
                found[key] = aliases[values[key]]
    return found


def old(values: Mapping[str, Any], registry: Registry) -> list[str]:
    """A warning for each old name that is still accepted."""
    warnings = [f"{key}: {values[key]} is an old name; write {new}" for key, new in renamed(values, registry).items()]
    for op in registry.ops.values():
        aliases = registry.aliases(op.name)
        for slot, provider in _pairs(values.get(PIN, ())):
            if Slot.parse(slot).op == op.name and provider in aliases:
                warnings.append(f"{PIN}: {provider} is an old name; write {aliases[provider]}")
    return warnings


def whole(op: Op, values: Mapping[str, Any]) -> bool:
    """Whether one implementation must take everything of an op: two kernels chosen by the amount are not batch
    invariant, whatever each is."""
    asked = (values.get("exec.deterministic"), values.get("exec.determinism"))
    return op.measure is not None and asked == (True, BATCH_INVARIANT)


def _pairs(pins: Any) -> list[tuple[str, str]]:
    return [(str(slot), str(provider)) for slot, provider in (pins.items() if isinstance(pins, Mapping) else pins)]


def _place(text: str, values: Mapping[str, Any], registry: Registry) -> str | None:
    """What to say of a place that is none, or of a range where one implementation must take all of them."""
    told = wrong(text, values, registry)
    if told is not None:
        return told
    slot = Slot.parse(text)
    if slot.regime is not None and whole(registry.ops[slot.op], values):
        return f"{text} names one range, and batch-invariant runs need one implementation for all; write {slot.op!r}"
    return None


def _pin(
    place: str,
    provider: str,
    said: Bag | Draft,
    values: Mapping[str, Any],
    who: Mapping[str, Setting],
    registry: Registry,
) -> str | None:
    """What to say of a pin: its place or its provider is unknown, or a setting of the same layer says otherwise."""
    told = _place(place, values, registry) or _stranger(place, provider, registry)
    slot = Slot.parse(place)
    # One that names sites is there to say something else of some than the settings say of all.
    if told is not None or slot.site is not None:
        return told
    op, aliases = registry.ops[slot.op], registry.aliases(slot.op)
    for regime in op.regime_names if slot.regime is None else (slot.regime,):
        keys = (key for key in op.settings.get(regime, ()) if values.get(key, AUTO) not in (AUTO, None))
        key = next(keys, None)
        if key is None:
            continue
        named, setting, mine = values[key], said.setting(key), who.get(place)
        same = setting is not None and mine is not None and setting.rank == mine.rank
        if same and aliases.get(named, named) != aliases.get(provider, provider):
            return f"{place} is pinned to {provider}, but {key} says {named}; write one of them"
    return None


def _stranger(slot: str, provider: str, registry: Registry) -> str | None:
    """What to say of a provider that the op of a place does not have."""
    op = Slot.parse(slot).op
    known = registry.answering(op)
    return None if provider in known else unknown(f"provider of {op}", provider, known)
