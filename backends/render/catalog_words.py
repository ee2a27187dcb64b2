"""How the catalogue's columns and rules are said, in a terminal and on a page alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from confbag.backends.declare.columns import ANY, Entry
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.words.rejection import say

LEGEND = """\
Phases: p prefill, d decode, s draft (speculation). Pages: the sizes, the default first; any: every size natively;
emulated: every size through per-token tables. KV: cache dtypes beside the model's own; fp8 is fp8_e4m3 and fp8_e5m2.
Topk: the most draft branches; any, or - for no speculation. Features: W sliding window, S attention sinks, M
multimodal, E encoder-decoder. Det: the phases in which it is batch invariant. [?]: not confirmed."""


def cache_dtypes(entry: Entry) -> str:
    """The cache dtypes beside the model's own, both of fp8 as `fp8`."""
    both = {"fp8_e4m3", "fp8_e5m2"} <= set(entry.kv)
    words = ["fp8"] if both else []
    words += [dtype for dtype in entry.kv if not (both and dtype.startswith("fp8_"))]
    return " ".join(words)


def page_sizes(entry: Entry) -> str:
    """The page sizes, the default first."""
    sizes = ", ".join(map(str, entry.pages))
    if entry.emulated_pages:
        return f"emulated ({sizes})"
    return f"any ({sizes})" if entry.any_page else sizes


def branches(entry: Entry) -> str:
    """The most draft branches; `-` without speculation."""
    if entry.topk is None:
        return "-"
    return f"{entry.topk}; any with page {say(entry.topk_pages)}" if entry.topk_pages else str(entry.topk)


def invariant_in(entry: Entry) -> list[str]:
    """The phases in which it is batch invariant."""
    return [phase for phase, level in entry.deterministic.items() if level == "batch_invariant"]


def machine(entry: Entry) -> str:
    """The devices, architectures and features of a machine that it runs on, marked where not confirmed."""
    return marked(unmarked_machine(entry), entry, "device", "arch", "device_features")


def unmarked_machine(entry: Entry) -> str:
    """The same without the mark."""
    parts = [", ".join(entry.device) or "any device", *([" ".join(entry.arch)] if entry.arch else [])]
    parts += [f"with {', '.join(entry.device_features)}"] if entry.device_features else []
    return " ".join(parts)


def notes(entry: Entry) -> Iterator[str]:
    """What a column has no place for."""
    if entry.old_names:
        yield f"old name {', '.join(entry.old_names)}"
    for phase, provider in entry.companions.items():
        yield f"{phase} defaults to {provider}"
    if entry.branching_pages:
        yield f"page {say(entry.branching_pages)} with more than one draft branch"
    if entry.topk == ANY and not entry.paged_topk:
        yield "topk 1 over pages above 1 that somebody asked for"
    yield from entry.needs
    if entry.slow:
        yield f"slow: {entry.slow}"


def marked(text: str, entry: Entry, *names: str) -> str:
    """The text, marked where one of these columns was not confirmed. In Markdown the mark is no link, so it stays."""
    return f"{text} [?]" if set(names) & set(entry.unconfirmed) else text


def proposed(rule: Rule) -> str:
    """The provider that a rule proposes, or the phase that it follows."""
    return rule.propose or f"as {rule.same_as}"


def where(rule: Rule) -> str:
    """Where a rule speaks, and how it is taken."""
    parts = [f"in {', '.join(rule.phases)}"] if rule.phases else []
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
