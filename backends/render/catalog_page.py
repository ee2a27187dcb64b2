"""The catalogue of an op as a page of Markdown; docs/attention-backends.md is that of attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from confbag.backends.declare.columns import cell
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.wanted import Wanted
from confbag.backends.render.catalog_words import (
    LEGEND,
    branches,
    marked,
    notes,
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


def markdown(wanted: Wanted) -> str:
    """What is asked for as a page."""
    return "\n".join(_markdown(wanted)) + "\n"


def _markdown(wanted: Wanted) -> Iterator[str]:
    registry = wanted.registry
    if wanted.op == "attention":
        yield HEADING
    else:
        yield f"# {wanted.op}\n"
    yield LEGEND.replace("\n", " ")
    yield ""
    titles = ("backend", "kind", "device and architectures", "components", "phases", "pages", "KV dtypes", "topk")
    yield from _grid(
        (*titles, "features", "batch invariant", "graph", "runs", "notes"),
        (tuple(_row(row)) for row in wanted.rows),
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
            for number, rule in enumerate(wanted.rules, 1)
        ),
    )
    yield "## Settings that rules fill, in order\n"
    yield "What somebody set is never changed; a setting that is still `auto` takes the first value that applies.\n"
    yield from _grid(
        ("", "rule", "sets", "where", "because"),
        (
            (str(number), code(fill.name), escape(sets(fill)), escape(str(fill.when)), escape(fill.why))
            for number, fill in enumerate(wanted.fills, 1)
        ),
    )


def _row(row: Implementation) -> Iterator[str]:
    yield code(row.name)
    yield _cell(row, "kind")
    yield marked(escape(unmarked_machine(row)), row, "device", "arch", "device_features")
    needed = ", ".join((*row.requires.components, *row.requires.toolkit))
    yield marked(escape(needed or "-"), row, "components", "toolkit")
    yield _cell(row, "phases")
    yield _cell(row, "pages", "branching_pages")
    yield _cell(row, "kv")
    yield marked(escape(branches(row) or "-"), row, "topk", "topk_pages")
    yield _cell(row, "features")
    yield _cell(row, "deterministic", otherwise="none")
    yield _cell(row, "graph")
    yield code(row.target_name) if row.target_name else escape(row.engine or "-")
    yield escape("; ".join(notes(row))) or "-"


def _cell(row: Implementation, column: str, *beside: str, otherwise: str = "-") -> str:
    return marked(escape(cell(row, column) or otherwise), row, column, *beside)


def _grid(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
