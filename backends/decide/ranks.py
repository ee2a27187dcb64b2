"""Ranks against the machine and the model: devices that are there, and heads and experts that divide."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from confbag.backends.decide.question import Situation
from confbag.backends.words.rejection import Rejection
from confbag.words.provenance import AUTO, Layer
from confbag.words.text import count

TP, PP, DP, EP = "parallel.tp_size", "parallel.pp_size", "parallel.dp_size", "parallel.ep_size"
SHOWN = 12
"""So many numbers are proposed."""
MOST = 4096
"""No more ranks than these are proposed."""


class Layout(NamedTuple):
    """One way to lay the ranks out.

    stage: ranks of one pipeline stage, over which experts are spread.
    sharing: ranks that share the heads of one replica.
    beside: whether replicas have ranks of their own.
    """

    stage: int
    sharing: int
    beside: bool


def check(situation: Situation) -> Iterator[Rejection]:
    """A fault for each thing that no layout of the ranks has enough of, or divides; what fits one layout is right."""
    layouts = _layouts(situation)
    fitting = yield from _devices(situation, layouts)
    yield from _first_device(situation, fitting[0])
    for field in ("model.num_heads", "model.num_kv_heads"):
        fitting = yield from _heads(situation, field, fitting)
    yield from _experts(situation, fitting)


def _layouts(situation: Situation) -> list[Layout]:
    """The layouts that the sizes may mean, that of the fewest ranks first.

    Engines write the same two sizes for both: data-parallel attention divides the tensor-parallel ranks among its
    replicas, and replicas of the whole model stand beside each other.
    """
    tp, dp = situation.facts[TP], situation.facts[DP]
    beside = Layout(tp * dp, tp, dp > 1)
    return [Layout(tp, tp // dp, False), beside] if dp > 1 and tp % dp == 0 else [beside]


def _devices(situation: Situation, layouts: list[Layout]) -> Generator[Rejection, None, list[Layout]]:
    """Every rank needs a device; returns the layouts that have them, or all."""
    facts, there = situation.facts, situation.platform.count
    if there is None or situation.platform.device == "cpu":
        return layouts
    nodes, pp = facts["parallel.num_nodes"], facts[PP]
    devices = max(there, 1) * nodes
    fitting = [layout for layout in layouts if layout.stage * pp <= devices]
    if not fitting:
        least = layouts[0]
        within = facts[TP] * pp
        key = DP if least.beside and within <= devices else TP if facts[TP] > 1 else PP
        sizes = "tp_size times pp_size" + (" times dp_size" if least.beside else "")
        hint = f"{count(nodes, 'node')} of {count(there, 'device')}: raise parallel.num_nodes or write fewer ranks"
        if least.beside:
            hint += "; only a dp_size that divides tp_size shares its ranks"
        actual = f"{least.stage * pp} ranks ({sizes})"
        yield Rejection(None, "topology", key, f"at most {devices} ranks", actual, situation.origin(key), hint)
    return fitting or layouts


def _first_device(situation: Situation, least: Layout) -> Iterator[Rejection]:
    """A launch line names the first device of all its ranks; anybody else the one that this rank runs on."""
    key, there = "device.index", situation.platform.count
    index = situation.bag[key]
    if there is None or index == AUTO or index >= there or situation.bag.setting(key).layer is not Layer.RECORD:
        return
    here = -(-least.stage * situation.facts[PP] // situation.facts["parallel.num_nodes"])
    if here <= there < index + here:
        last = there - here
        hint = f"{count(here, 'rank')} of one node take the devices from it on, and there are {there}"
        yield Rejection(None, "topology", key, f"at most {last}", index, situation.origin(key), hint)


def _heads(situation: Situation, field: str, layouts: list[Layout]) -> Generator[Rejection, None, list[Layout]]:
    """Heads are split evenly over the ranks that share them, and fewer KV heads are repeated evenly; returns the
    layouts that do, or all."""
    heads = situation.facts[field]
    if heads is None:
        return layouts
    repeated = field == "model.num_kv_heads"
    fitting = [layout for layout in layouts if _even(heads, layout.sharing, repeated)]
    if not fitting:
        sharing, tp = layouts[-1].sharing, situation.facts[TP]
        actual = tp if sharing == tp else f"{sharing} (tp_size {tp} over dp_size)"
        over = "" if sharing == tp else " over dp_size"
        hint = f"{field}: write a {TP} that{over} divides {heads}: {_listed(_divisors(heads))}"
        yield Rejection(None, "topology", TP, f"ranks that divide {heads}", actual, situation.origin(TP), hint)
    return fitting or layouts


def _experts(situation: Situation, layouts: list[Layout]) -> Iterator[Rejection]:
    """Experts are spread over all ranks of a stage, or evenly over a part of them."""
    ep = situation.facts[EP]
    if any(layout.stage % ep == 0 for layout in layouts):
        return
    most = layouts[-1]
    ranks = "tp_size times dp_size" if most.beside else "tp_size"
    spread = f"experts are spread over the {count(most.stage, 'rank')} of a pipeline stage ({ranks})"
    hint = f"{spread}; write fewer, or more ranks"
    required = _divisors(most.stage)[-SHOWN:]
    yield Rejection(None, "topology", EP, required, ep, situation.origin(EP), hint)


def _even(heads: int, ranks: int, repeated: bool) -> bool:
    return heads % ranks == 0 or (repeated and ranks % heads == 0)


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, min(number, MOST) + 1) if number % size == 0]


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:SHOWN]))
