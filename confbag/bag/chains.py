"""Precedence: of the sources that set one key the highest wins; mappings merge by entry, and a general key covers exact
ones.

The order is by layer first, then by how exact a key is. A general key (`exec.attention.backend`) that was set higher
than an exact one (`exec.attention.decode`) covers it: the exact key is then `auto`, set by whoever set the general one.
Within one source the exact key stands. A field marked `Merged` takes the entries of every layer, a higher layer's entry
before a lower one's, null removing one; what is written as a list replaces all that is below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from confbag.schema.config import Config
from confbag.schema.leaves import Leaf, leaves
from confbag.words.provenance import AUTO, Layer, Setting
from confbag.words.secret import conceal

Chains = Mapping[str, tuple[Setting, ...]]
"""Every setting of each key, the lowest first."""


def chained(schema: type[Config], settings: Iterable[Setting]) -> dict[str, tuple[Setting, ...]]:
    """The settings by key, the lowest first; the order given counts where two have one rank. Secrets are wrapped here,
    and only shown wrapped."""
    known = leaves(schema)
    found: dict[str, list[Setting]] = {}
    for setting in settings:
        found.setdefault(setting.key, []).append(_concealed(setting) if known[setting.key].secret else setting)
    return covered(schema, {key: tuple(sorted(chain, key=_rank)) for key, chain in found.items()})


def covered(schema: type[Config], chains: Mapping[str, tuple[Setting, ...]]) -> dict[str, tuple[Setting, ...]]:
    """The chains with every exact key made `auto` where the general key that covers it was set higher."""
    found = dict(chains)
    for key, leaf in leaves(schema).items():
        general = _asked(found.get(key, ())) if leaf.covers else None
        for exact in leaf.covers if general is not None else ():
            chain = found.get(exact, ())
            asked = _asked(chain)
            if general is not None and asked is not None and asked.value != AUTO and general.rank > asked.rank:
                made = replace(general, key=exact, value=AUTO, text=None, why=f"{key} was set there and covers it")
                found[exact] = tuple(sorted((*chain, made), key=_rank))
    return found


def winner(leaf: Leaf, chain: tuple[Setting, ...]) -> Setting:
    """The setting that wins, with the entries of lower ones where the field merges them."""
    last = chain[-1]
    merges = leaf.merged and (len(chain) > 1 or _holds_null(last.value))
    return replace(last, value=merged(one.value for one in chain), text=None) if merges else last


def merged(values: Iterable[Any]) -> Any:
    """One value of several, the lowest first. A mapping sets or removes its entries; a list replaces everything."""
    whole: Any = {}
    for value in values:
        if not isinstance(value, Mapping) or not isinstance(whole, (Mapping, list, tuple)):
            whole = value
        elif isinstance(whole, Mapping):
            whole = {**whole, **value}
        else:  # a mapping over a list: its entries go first, and replace what the list said of the same places
            whole = [
                *({place: one} for place, one in value.items()),
                *(entry for entry in whole if not (isinstance(entry, Mapping) and entry.keys() & value.keys())),
            ]
    return _without_null(whole)


def entries(chain: tuple[Setting, ...]) -> dict[str, Setting]:
    """Of a merged field, who set each entry that stands."""
    found: dict[str, Setting] = {}
    for setting in chain:
        value = dict(setting.value) if isinstance(setting.value, (Mapping, tuple, list)) else {}
        for entry, given in value.items():
            found.pop(entry, None)
            if given is not None:
                found[entry] = setting
    return found


def alone(leaf: Leaf, setting: Setting) -> Setting:
    """One setting as it is judged by itself: an entry that only removes another is no value."""
    return replace(setting, value=_without_null(setting.value)) if leaf.merged else setting


def _without_null(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {entry: given for entry, given in value.items() if given is not None}
    if isinstance(value, (list, tuple)):
        return [entry for entry in value if not (isinstance(entry, Mapping) and None in entry.values())]
    return value


def _holds_null(value: Any) -> bool:
    return isinstance(value, Mapping) and None in value.values()


def _asked(chain: tuple[Setting, ...]) -> Setting | None:
    """The setting that wins among those that somebody asked for."""
    return next((setting for setting in reversed(chain) if setting.layer is not Layer.RULE), None)


def _rank(setting: Setting) -> tuple[Layer, int]:
    return setting.rank


def _concealed(setting: Setting) -> Setting:
    return replace(setting, value=conceal(setting.value), text=None)
