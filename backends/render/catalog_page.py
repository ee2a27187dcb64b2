"""The catalogue of an op as a page of Markdown; docs/attention-backends.md is that of attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from confbag.backends.declare.columns import Entry, Wanted, captured, entries, fills, rules
from confbag.backends.declare.registry import Registry
from confbag.backends.render.catalog_words import (
    LEGEND,
    branches,
    cache_dtypes,
    invariant_in,
    marked,
    notes,
    page_sizes,
    proposed,
    sets,
    unmarked_machine,
    where,
)
from confbag.backends.render.markdown import code, escape

HEADING = """\
<!-- Written by `confbag catalog --format markdown`; a test compares them. Change backends/catalog/*.yaml instead. -->

# Attention backends

Every attention backend that a plan can name: what each needs, what it offers, and the rules that choose one when a
configuration names none. A provider with an engine is declared only: the plan names it, and that engine constructs its
own class. `confbag catalog` prints this page in a terminal, filtered by `--device`, `--kind`, `--phase` and by name.
"""


def markdown(registry: Registry, op: str, wanted: Wanted) -> str:
    """What is asked for as a page."""
    return "\n".join(_markdown(registry, op, wanted)) + "\n"


def _markdown(registry: Registry, op: str, wanted: Wanted) -> Iterator[str]:
    if op == "attention":
        yield HEADING
    else:
        yield f"# {op}\n"
    yield LEGEND.replace("\n", " ")
    yield ""
    titles = ("backend", "kind", "device and architectures", "components", "phases", "pages", "KV dtypes", "topk")
    yield from _grid(
        (*titles, "features", "batch invariant", "graph", "runs", "notes"),
        (tuple(_row(entry)) for entry in entries(registry, op, wanted)),
    )
    if registry.named:
        yield "## Facts with a name\n"
        yield from _grid(("fact", "holds where"), ((code(n), escape(str(c))) for n, c in registry.named.items()))
    yield "## Rules, in order\n"
    yield "Each proposes one backend; the first whose requirements hold decides. A plug-in's go first on its devices.\n"
    yield from _grid(
        ("", "rule", "proposes", "where", "because"),
        (
            (str(number), code(rule.name), code(proposed(rule)), escape(where(rule)), escape(rule.why))
            for number, rule in enumerate(rules(registry, op, wanted), 1)
        ),
    )
    yield "## Settings that rules fill, in order\n"
    yield "What somebody set is never changed; a setting that is still `auto` takes the first value that applies.\n"
    yield from _grid(
        ("", "rule", "sets", "where", "because"),
        (
            (str(number), code(fill.name), escape(sets(fill)), escape(str(fill.when)), escape(fill.why))
            for number, fill in enumerate(fills(registry, op, wanted), 1)
        ),
    )


def _row(entry: Entry) -> Iterator[str]:
    yield code(entry.name)
    yield _words(entry.kinds, entry, "kind")
    yield marked(escape(unmarked_machine(entry)), entry, "device", "arch", "device_features")
    yield _words((*entry.components, *entry.toolkit), entry, "components", "toolkit")
    yield _words(entry.phases, entry, "phases")
    yield marked(escape(page_sizes(entry) or "-"), entry, "pages", "branching_pages")
    yield _words(cache_dtypes(entry).split(), entry, "kv")
    yield marked(escape(branches(entry)), entry, "topk", "topk_pages")
    yield _words(entry.features, entry, "features")
    yield _words(invariant_in(entry) or ("none",), entry, "deterministic")
    yield marked("yes" if captured(entry) else "no", entry, "graph")
    yield code(entry.target) if entry.target else escape(entry.engine or "-")
    yield escape("; ".join(notes(entry))) or "-"


def _words(words: Iterable[str], entry: Entry, *names: str) -> str:
    return marked(escape(", ".join(words) or "-"), entry, *names)


def _grid(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
