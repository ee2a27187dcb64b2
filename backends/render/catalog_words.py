"""How the catalogue's rows and rules are said, in a terminal and on a page alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from confbag.backends.declare.columns import ANY, cell, value_of
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.words.rejection import say

LEGEND = """\
Phases: p prefill, d decode, s draft (speculation). Pages: the sizes, the default first; any: every size natively;
emulated: every size through per-token tables. KV: cache dtypes beside the model's own; fp8 is fp8_e4m3 and fp8_e5m2.
Topk: the most draft branches; any, or - for no speculation. Features: W sliding window, S attention sinks, M
multimodal, E encoder-decoder. Det: the phases in which it is batch invariant. [?]: not confirmed."""


def branches(row: Implementation) -> str:
    """The most draft branches, with what more of them need; empty without speculation."""
    pages = value_of(row, "topk_pages")
    most = cell(row, "topk")
    return f"{most}; any with page {say(pages)}" if pages else most


def machine(row: Implementation) -> str:
    """The devices, architectures and features of a machine that it runs on, marked where not confirmed."""
    return marked(unmarked_machine(row), row, "device", "arch", "device_features")


def unmarked_machine(row: Implementation) -> str:
    """The same without the mark."""
    needs = row.requires
    parts = [", ".join(needs.device) or "any device", *([" ".join(needs.arch)] if needs.arch else [])]
    parts += [f"with {', '.join(needs.device_features)}"] if needs.device_features else []
    return " ".join(parts)


def notes(row: Implementation) -> Iterator[str]:
    """What a column has no place for."""
    if row.aliases:
        yield f"old name {', '.join(row.aliases)}"
    for phase, provider in row.companions.items():
        yield f"{phase} defaults to {provider}"
    if pages := value_of(row, "branching_pages"):
        yield f"page {say(pages)} with more than one draft branch"
    if value_of(row, "topk") == ANY and not value_of(row, "paged_topk"):
        yield "topk 1 over pages above 1 that somebody asked for"
    if row.most is not None:
        yield f"up to {row.most}"
    yield from value_of(row, "needs")
    if row.slow:
        yield f"slow: {row.slow}"


def marked(text: str, row: Implementation, *names: str) -> str:
    """The text, marked where one of these columns was not confirmed. In Markdown the mark is no link, so it stays."""
    return f"{text} [?]" if set(names) & set(row.unconfirmed) else text


def proposed(rule: Rule) -> str:
    """The provider that a rule proposes, or the phase that it follows."""
    return rule.propose or f"as {rule.same_as}"


def where(rule: Rule) -> str:
    """Where a rule speaks, and how it is taken."""
    parts = [f"in {', '.join(rule.regimes)}"] if rule.regimes else []
    parts += [f"up to {rule.up_to}"] if rule.up_to is not None else []
    parts += [str(rule.when)] if rule.when or not parts else []
    parts += ["no other may replace it"] if rule.only else []
    parts += ["when nothing else can run"] if rule.fallback else []
    return "; ".join(parts)


def sets(fill: Fill) -> str:
    """What a rule fills."""
    parts = [f"{key} = {_value(value)}" for key, value in fill.set.items()]
    parts += [f"{name}={value}" for name, value in fill.environment.items()]
    return ", ".join(parts) + (" (a fault where it is set otherwise)" if fill.force else "")


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"what {value['value_of']} says" + (f", else {value['otherwise']}" if "otherwise" in value else "")
    return say(value)
