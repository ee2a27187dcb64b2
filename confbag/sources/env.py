"""Settings from environment variables: CONFBAG__EXEC__ATTENTION__BACKEND is exec.attention.backend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.flow import read_value
from confbag.sources.keys import Keys, same, twice
from confbag.words.provenance import Layer, Setting
from confbag.words.suggest import SUGGESTED, nearest, one_edit
from confbag.words.text import capped, printable

PREFIX = "CONFBAG__"
"""Two underscores: what Kubernetes injects for a service called confbag (CONFBAG_PORT ...) has one and is not ours."""

OWN = frozenset(
    {
        "CONFBAG_DEBUG_BOUNDS",
        "CONFBAG_OFFLINE",
        "CONFBAG_PLUGINS",
        "CONFBAG_PLUGIN_LOADING",
        "CONFBAG_PLUGIN_SECONDS",
        "CONFBAG_SCHEMA",
        "CONFBAG_TRACEBACK",
    }
)
"""What confbag itself reads beside settings."""

_ONE = "CONFBAG_"
_INJECTED = re.compile(r"_(SERVICE_HOST|SERVICE_PORT\w*|PORT|PORT_\w+)\Z")


def variable(key: str) -> str:
    """The name of the variable that sets `key`."""
    return PREFIX + key.upper().replace(".", "__")


def known_key(name: str, keys: Keys) -> str | None:
    """The key or section that a variable sets; None for one that sets none."""
    return next((key for key in (*keys.leaves, *keys.namespaces) if variable(key) == name), None)


def read_environment(environ: Mapping[str, str], keys: Keys, declared: Iterable[str] = ()) -> Found:
    """The settings of every variable with the prefix; `declared` are names that plug-ins read themselves.

    What nearly is such a variable, or one of confbag's own, is a fault too.
    """
    ours = frozenset(declared)
    known = {variable(key): key for key in (*keys.leaves, *keys.namespaces)}
    settings: dict[str, Setting] = {}
    faults: list[Fault] = []
    for name in sorted(name for name in environ if name[: len(_ONE)].upper() == _ONE and name not in ours):
        origin = f"env {printable(name)}"
        if name[: len(PREFIX)].upper() != PREFIX:
            faults += _nearly(name, origin, keys, ours)
        elif name not in known:
            told = len(faults) < SUGGESTED
            faults.append(
                _unknown(name, origin, keys, known, ours) if told else Fault(origin, None, "unknown variable")
            )
        else:
            found = read_value(known[name], environ[name], origin, keys, Layer.ENVIRONMENT)
            faults += found.faults
            for setting in found.settings:
                first = settings.setdefault(setting.key, setting)
                if not same(first.value, setting.value):
                    faults.append(Fault(origin, setting.key, twice(first.origin, origin)))
    return Found(tuple(settings.values()), tuple(capped(faults, _more)))


def _more(count: int) -> Fault:
    return Fault("env", None, f"and {count} more variables that are wrong")


def near_miss(name: str, keys: Keys, declared: Iterable[str] = ()) -> str | None:
    """The variable that a name is one slip away from: read alike but for underscores, or one letter off. None for that
    variable itself, and for what an orchestrator injects for a service called confbag."""
    if name in OWN or _INJECTED.search(name):
        return None
    every = sorted({*map(variable, (*keys.leaves, *keys.namespaces)), *OWN, *declared})
    if name in every:
        return None
    return next((one for one in every if _squeezed(one) == _squeezed(name)), None) or one_edit(name.upper(), every)


def _nearly(name: str, origin: str, keys: Keys, ours: frozenset[str]) -> list[Fault]:
    """The fault of a variable with one underscore that most likely was meant for us; none for anybody else's."""
    meant = near_miss(name, keys, ours)
    return [] if meant is None else [Fault(origin, None, f"is no variable of confbag; did you mean {meant}?")]


def _squeezed(name: str) -> str:
    return name.upper().replace("_", "")


def _unknown(name: str, origin: str, keys: Keys, known: Mapping[str, str], ours: frozenset[str]) -> Fault:
    retired = {variable(key): key for key in keys.retired}
    if name in retired:
        new = keys.retired[retired[name]]
        return Fault(origin, retired[name], f"is retired; write {variable(new)} ({new})")
    if name.upper() in known or name.upper() in ours:
        return Fault(origin, None, f"variables are upper case; write {name.upper()}")
    key = name[len(PREFIX) :].lower().replace("__", ".")
    owner = keys.owner(key)
    if owner is not None:
        whole = "write it whole, a mapping in braces"
        return Fault(
            origin, None, f"is below {owner}, which is one setting; {whole}: {variable(owner)}={{NAME: VALUE}}"
        )
    if (there := keys.elsewhere(key)) is not None:
        return Fault(origin, None, f"unknown variable; {there}")
    meant = nearest(name, (variable(key) for key in keys.leaves)) or nearest(name, (*known, *ours, *retired))
    if meant is not None and meant in retired:
        meant = variable(keys.retired[retired[meant]])
    hint = f"did you mean {meant}?" if meant else "`confbag schema` lists the keys"
    return Fault(origin, None, f"unknown variable; {hint}")
