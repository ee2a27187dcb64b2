"""An op that declares layers is decided layer by layer; those that are decided alike are one part of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confbag.backends.decide.asked import asked
from confbag.backends.decide.check import Situation
from confbag.backends.decide.choose import Decision, choose
from confbag.backends.declare.op import Op
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.slots import Layers


@dataclass(frozen=True, slots=True)
class Part:
    """What was decided for one phase of an op, and for which of its layers.

    layers: None where the op declares none, or nobody knows them. part: how a slot spells them; None for all of them.
    """

    decision: Decision
    situation: Situation
    layers: tuple[str, ...] | None = None
    part: str | None = None


def decide(
    op: Op,
    phase: str | None,
    situation: Situation,
    registry: Registry,
    before: Mapping[str | None, Sequence[Part]],
) -> list[Part]:
    """The choices for one phase of an op, the one of the first layer first; one alone where layers do not differ.

    before: the parts of the phases that were decided, which a rule may read.
    """
    layers = None if op.layers is None else Layers.of(situation.facts.get(op.layers))
    if layers is None:
        return [Part(choose(op, phase, situation, registry), situation)]
    chosen: dict[Any, Part] = {}
    together: dict[Any, list[str]] = {}
    for layer in layers.names:
        earlier = {f"{op.name}@{done}": _provider(parts, layer) for done, parts in before.items()}
        here = replace(situation, facts={**situation.facts, **earlier}, layer=layer, counted=layers.counted)
        key = (asked(op, phase, here, registry), tuple(earlier.values()))
        if key not in chosen:
            chosen[key] = Part(choose(op, phase, here, registry), here)
        together.setdefault(_alike(chosen[key].decision), []).append(layer)
    found: dict[Any, Part] = {}
    for one in chosen.values():
        names = tuple(together[_alike(one.decision)])
        part = None if len(names) == len(layers.names) else layers.spell(names)
        found.setdefault(names, replace(one, layers=names, part=part))
    return list(found.values())


def common(parts: Sequence[Part]) -> Decision:
    """The decision of most layers: what a setting that can say only one says."""
    return max(parts, key=lambda part: len(part.layers or ())).decision


def shared(parts: Sequence[Part]) -> str | None:
    """The provider of every layer; None where nothing runs, or where layers differ and nobody can say one."""
    providers = {None if part.decision.row is None else part.decision.row.provider for part in parts}
    return providers.pop() if len(providers) == 1 else None


def _alike(decision: Decision) -> tuple[Any, ...]:
    return decision.row, decision.rule, decision.why, tuple(map(str, decision.faults))


def _provider(parts: Sequence[Part], layer: str) -> str | None:
    for part in parts:
        if part.layers is None or layer in part.layers:
            return None if part.decision.row is None else part.decision.row.provider
    return None
