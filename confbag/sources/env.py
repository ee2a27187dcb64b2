"""Settings from environment variables: CONFBAG__EXEC__ATTENTION__BACKEND is exec.attention.backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.flow import read_value
from confbag.sources.keys import Keys, same, twice
from confbag.words.provenance import Layer, Setting
from confbag.words.suggest import nearest
from confbag.words.text import printable

PREFIX = "CONFBAG__"
"""Two underscores: what Kubernetes injects for a service called confbag (CONFBAG_PORT ...) has one and is not ours."""


def variable(key: str) -> str:
    """The name of the variable that sets `key`."""
    return PREFIX + key.upper().replace(".", "__")


def read_environment(environ: Mapping[str, str], keys: Keys, declared: Iterable[str] = ()) -> Found:
    """The settings of every variable with the prefix; `declared` are names that plug-ins read themselves."""
    ours = frozenset(declared)
    known = {variable(key): key for key in (*keys.leaves, *keys.namespaces)}
    retired = {variable(key): key for key in keys.retired}
    settings: dict[str, Setting] = {}
    faults: list[Fault] = []
    for name in sorted(name for name in environ if name[: len(PREFIX)].upper() == PREFIX and name not in ours):
        origin = f"env {printable(name)}"
        if name not in known:
            faults.append(_unknown(name, origin, keys, known, retired, ours))
            continue
        found = read_value(known[name], environ[name], origin, keys, Layer.ENVIRONMENT)
        faults += found.faults
        for setting in found.settings:
            first = settings.setdefault(setting.key, setting)
            if not same(first.value, setting.value):
                faults.append(Fault(origin, setting.key, twice(first.origin, origin)))
    return Found(tuple(settings.values()), tuple(faults))


def _unknown(
    name: str, origin: str, keys: Keys, known: Mapping[str, str], retired: Mapping[str, str], ours: frozenset[str]
) -> Fault:
    if name in retired:
        new = keys.retired[retired[name]]
        return Fault(origin, retired[name], f"is retired; write {variable(new)} ({new})")
    if name.upper() in known or name.upper() in ours:
        return Fault(origin, None, f"variables are upper case; write {name.upper()}")
    owner = keys.owner(name[len(PREFIX) :].lower().replace("__", "."))
    if owner is not None:
        whole = "write it whole, a mapping in braces"
        return Fault(
            origin, None, f"is below {owner}, which is one setting; {whole}: {variable(owner)}={{NAME: VALUE}}"
        )
    meant = nearest(name, (variable(key) for key in keys.leaves)) or nearest(name, (*known, *ours, *retired))
    if meant is not None and meant in retired:
        meant = variable(keys.retired[retired[meant]])
    hint = f"did you mean {meant}?" if meant else "`confbag schema` lists the keys"
    return Fault(origin, None, f"unknown variable; {hint}")
