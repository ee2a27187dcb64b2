"""Slot by slot: an op that declares sites is decided for each, and a measured one as a chain of implementations.

Sites that are alike and decided alike are one part of the plan. A chain is ordered by its bounds, each member taking
what is beyond the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from confbag.backends.decide.asked import asked
from confbag.backends.decide.choose import Decision, choose
from confbag.backends.decide.question import Question
from confbag.backends.declare.slots import Sites


class Part(NamedTuple):
    """What was decided for one regime of an op, and for which of its sites.

    chain: the decisions in the order of their bounds; one alone where the op has no measure, or nothing can run.
    question: of the first of the sites.
    sites: None where the op declares none, or nobody knows them. site: how a slot spells them; None for all of them.
    """

    chain: tuple[Decision, ...]
    question: Question
    sites: tuple[str, ...] | None = None
    site: str | None = None

    @property
    def provider(self) -> str | None:
        """The one provider that it runs; None where nothing does, or where several do."""
        providers = {None if one.row is None else one.row.provider for one in self.chain}
        return providers.pop() if len(providers) == 1 else None


def decide(question: Question, before: Mapping[str | None, Sequence[Part]]) -> list[Part]:
    """The choices for one regime of an op, that of the first site first; one alone where sites do not differ.

    before: the parts of the regimes that were decided, which a rule may read.
    """
    op, registry = question.op, question.situation.registry
    sites = None if op.sites is None else Sites.of(question.facts.get(op.sites))
    if sites is None:
        unknown = dict.fromkeys(op.site_facts)
        question = replace(question, situation=replace(question.situation, facts={**question.facts, **unknown}))
        return [Part(_chain(question), question)]
    chosen: dict[Any, Part] = {}
    together: dict[Any, list[str]] = {}
    for site in sites.names:
        said = sites.facts.get(site, {})
        facts = {fact: said.get(fact.partition(".")[2]) for fact in op.site_facts}
        facts |= {registry.decided(op, done): _provider(parts, site) for done, parts in before.items()}
        here = replace(question, sites=sites).at(site, facts)
        key = (repr(facts), asked(here))
        if key not in chosen:
            chosen[key] = Part(_chain(here), here)
        together.setdefault(_alike(chosen[key]), []).append(site)
    found: dict[Any, Part] = {}
    for one in chosen.values():
        names = tuple(together[_alike(one)])
        site_pattern = None if len(names) == len(sites.names) else sites.spell(names)
        found.setdefault(names, one._replace(sites=names, site=site_pattern))
    return list(found.values())


def _chain(question: Question) -> tuple[Decision, ...]:
    """What takes the slot, one implementation or an ordered chain; the fault alone where a part of it stays without."""
    if question.op.measure is None:
        return (choose(question),)
    end = None if question.regime is None else question.regime.most
    chain: list[Decision] = []
    beyond = question.beyond
    while True:
        decision = choose(replace(question, beyond=beyond))
        if decision.row is None:
            return (decision,)
        most = decision.most if end is None or (decision.most is not None and decision.most < end) else end
        if chain and chain[-1].row is decision.row:
            chain[-1] = chain[-1]._replace(most=most)
        else:
            chain.append(decision._replace(most=most))
        if most is None or most == end:
            return tuple(chain)
        beyond = most


def common(parts: Sequence[Part]) -> Decision:
    """The decision of most sites, and of the largest amount: what a setting that can say only one says."""
    return max(parts, key=lambda part: len(part.sites or ())).chain[-1]


def shared(parts: Sequence[Part]) -> str | None:
    """The provider of every site; None where nothing runs, or where sites differ and nobody can say one."""
    providers = {part.provider for part in parts}
    return providers.pop() if len(providers) == 1 else None


def _alike(part: Part) -> tuple[Any, ...]:
    """What makes two sites one row of a plan: they say the same of themselves, and the same was decided."""
    said = tuple(repr(part.question.facts[fact]) for fact in part.question.op.site_facts)
    decided = [(one.row, one.decider, one.why, one.most, tuple(map(str, one.faults))) for one in part.chain]
    return said, tuple(decided)


def _provider(parts: Sequence[Part], site: str) -> str | None:
    for part in parts:
        if part.sites is None or site in part.sites:
            return part.provider
    return None
