"""The defaults of plug-ins, held against the registry: words that only it knows, and that no source can judge."""

from __future__ import annotations

from collections.abc import Collection

from confbag.backends.decide.names import of_plugins
from confbag.backends.declare.registry import PluginFailure, Registry
from confbag.bag.bag import Bag
from confbag.bag.reading import facts_of
from confbag.words.provenance import Layer

_PATH = "model.path"


def judged(bag: Bag, registry: Registry) -> tuple[Bag, tuple[PluginFailure, ...]]:
    """The bag without the defaults of plug-ins that name what nobody answers to, and those plug-ins.

    A plug-in that was only found ends no plan: it is left out whole and shown, as one is whose keys are unknown. What
    is wrong with one that was named is a fault of the bag.
    """
    failed: list[PluginFailure] = []
    if registry.discovered.keys().isdisjoint(setting.plugin for setting in bag.settings()):
        return bag, ()
    # What one of them said may have hidden what another one says.
    while found := of_plugins(bag, registry):
        failed += found
        bag = _without(bag, [failure.name for failure in found])
    return bag, tuple(failed)


def _without(bag: Bag, plugins: Collection[str]) -> Bag:
    kept = [setting for setting in bag.settings() if setting.plugin is None or setting.plugin not in plugins]
    made = Bag(bag.schema, kept, read_from=bag.read_from, ignored=bag.ignored)
    if made[_PATH] == bag[_PATH] or bag.read_from != bag[_PATH]:
        return made
    # One of them named the model, and the facts of its checkpoint go with it.
    read_from, facts = facts_of(made[_PATH])
    kept = [*(setting for setting in kept if setting.layer is not Layer.CHECKPOINT), *facts]
    return Bag(bag.schema, kept, read_from=read_from, ignored=bag.ignored)
