"""A module's tree to its facts: passes over the module until nothing that functions share changes any more."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from typing import NamedTuple

from confbag.ratchets.binder.binder import Binder
from confbag.ratchets.binder.facts import ModuleFacts
from confbag.ratchets.binder.order import Order
from confbag.ratchets.binder.values import Const, Value
from confbag.ratchets.binder.world import Known, World
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source.parse import Module

_PASSES = 40
_ORDERED = 2  # after so many passes it is worth asking who needs whom
_GROWING = 12  # after so many, what functions share only grows, so that there is an end
_BY_SYNTAX = {"__call__": "self(", "__getitem__": "self[", "__iter__": "in self", "__enter__": "with self"}
_RECURSION = 12_000


def bind(
    module: Module, configuration: Configuration, world: World, wanted: frozenset[str] = frozenset()
) -> ModuleFacts:
    """The facts of a module. `wanted` are keys of its functions whose summaries another module asked for."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    binder = Binder(module, configuration, world, wanted)
    try:
        return _passes(binder)
    finally:
        binder.release()
        sys.setrecursionlimit(limit)


def bind_exactly(
    module: Module, configuration: Configuration, known: Known, wanted: frozenset[str] = frozenset()
) -> tuple[Module, ModuleFacts]:
    """The facts, and the module with the tree that they are of.

    Where something was seen at a place that `ast` has wrong (in f-strings, before Python 3.12) that is libcst's tree,
    unless it refuses the text. Raises newer.Unread.
    """
    facts = bind(module, configuration, World(configuration, known), wanted)
    if facts.inexact and not module.large:
        from confbag.ratchets.source.newer import lowered

        better = lowered(module.source)
        if better is not None:
            module = replace(module, tree=better[0], exact=True)
            facts = bind(module, configuration, World(configuration, known), wanted)
    return module, facts


class _Shared(NamedTuple):
    """What functions share, where it can lead to a record; a pass that leaves it as it was is the last."""

    returns: dict[str, tuple[Value, Value]]
    attributes: dict[str, dict[str, Value]]
    foreign: dict[str, Value]
    stores: dict[str, Value]
    words: frozenset[str]
    demanded: frozenset[str]
    rebound: frozenset[str]
    fills: dict[str, dict[tuple[str, str], Value]]


def _passes(binder: Binder) -> ModuleFacts:
    """Passes to a fixpoint; what is seen counts in the last one."""
    before: _Shared | None = None
    order = Order()
    for number in range(_PASSES):
        _pass(binder, order if number >= _ORDERED else None)
        binder.leading.follow()
        words = frozenset(binder.state.words)
        binder.state.remember(growing=number >= _GROWING)
        _learn_words(binder)
        after = _shared(binder)
        if after == before or not _worth_another(after, words):
            break
        before = after
    return binder.offering.offer()


def _pass(binder: Binder, order: Order | None) -> None:
    """The module's own statements, then the bodies of its functions, and of those that these define."""
    binder.begin()
    state, names = binder.state, binder.names
    binder.flow.block(binder.module.tree.body)
    binder.classes.leave(names.module_scope.env)
    while state.queue:
        queue, state.queue = state.queue, []
        for facts in queue if order is None else order.of(queue):
            if binder.bodies.matters(facts):
                binder.bodies.run(facts)
                if order is not None and not isinstance(facts.node, ast.Lambda):
                    # Who calls it comes after it.
                    leads = binder.leading.leads
                    if leads(facts.returns) or leads(facts.yields):
                        state.words.add(facts.name.rpartition(".")[2])


def _learn_words(binder: Binder) -> None:
    """Names that lead to a record here: a function that has none of them in its text need not be walked."""
    state, leading = binder.state, binder.leading
    words = state.words
    record_words = tuple(words)
    for name, value in binder.names.module_scope.env.items():
        if isinstance(name, str) and (leading.leads(value) or _spells(value, record_words)):
            words.add(name)
    for facts in state.functions.values():
        if facts.key in leading.inside and not isinstance(facts.node, ast.Lambda):
            name = facts.name.rpartition(".")[2]
            words.add(name)
            if name in _BY_SYNTAX:
                words.add(_BY_SYNTAX[name])
        elif facts.key in state.fills and any(leading.leads(value) for value in state.fills[facts.key].values()):
            words.add(facts.name.rpartition(".")[2])
    for table in state.classes.values():
        for name, value in (*table.attributes.items(), *table.body.items(), *table.annotated.items()):
            if leading.leads_on(value):
                words.add(name)
    for stores in (state.foreign, state.global_stores):
        words.update(name.removesuffix(".set()") for name, value in stores.items() if leading.leads_on(value))


def _spells(value: Value, words: tuple[str, ...]) -> bool:
    """Whether a text may name what leads to a record: for getattr, eval, import_module."""
    return any(
        isinstance(atom, Const) and isinstance(atom.value, str) and any(word in atom.value for word in words)
        for atom in value
    )


def _shared(binder: Binder) -> _Shared:
    state, leads = binder.state, binder.leading.leads
    return _Shared(
        {
            key: (facts.returns, facts.yields)
            for key, facts in state.functions.items()
            if leads(facts.returns) or leads(facts.yields)
        },
        {
            key: {name: value for name, value in facts.attributes.items() if leads(value) or name in state.holders}
            for key, facts in state.classes.items()
        },
        {name: value for name, value in state.foreign.items() if leads(value)},
        {name: value for name, value in state.global_stores.items() if leads(value)},
        frozenset(state.words),
        frozenset(state.demanded),
        frozenset(key for key, names in state.shared.items() if names),
        {key: dict(held) for key, held in state.fills.items()},
    )


def _worth_another(after: _Shared, words: frozenset[str]) -> bool:
    """Whether a pass that knows all this could see more than one that did not."""
    return bool(
        after.returns
        or after.foreign
        or after.stores
        or after.demanded
        or after.rebound
        or after.fills
        or any(after.attributes.values())
        or words != after.words
    )
