"""The pages of the KV cache: which sizes an implementation takes, and the one size that all of an op's take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confbag.backends.declare.implementation import Implementation
from confbag.backends.words.rejection import Rejection

PAGE_SIZE = "memory.page_size"


def page_sizes(row: Implementation, facts: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The page sizes that it takes in this situation, the default first; None when it says nothing of pages."""
    requires = row.requires
    if requires.branching_page_sizes is not None and facts["spec.branches"] > 1:
        return requires.branching_page_sizes
    return requires.page_sizes


def takes_page(row: Implementation, size: int, facts: Mapping[str, Any]) -> bool:
    """Whether it can run over pages of this size."""
    sizes = page_sizes(row, facts)
    any_page = row.requires.any_page and not (
        row.requires.branching_page_sizes is not None and facts["spec.branches"] > 1
    )
    return sizes is None or any_page or size in sizes


def common_size(op: str, rows: Sequence[Implementation], facts: Mapping[str, Any]) -> int | Rejection | None:
    """The size that all of these take: one's default if every one takes it (the smallest of such), else the smallest
    that all list. A fault that names who takes what where there is none; None where none says anything of pages."""
    paged = [row for row in rows if row.requires.page_sizes is not None]
    if not paged:
        return None
    takes = {row.name: page_sizes(row, facts) or () for row in paged}
    defaults = sorted({sizes[0] for sizes in takes.values()})
    listed = sorted({size for sizes in takes.values() for size in sizes})
    for size in (*defaults, *listed):
        if all(takes_page(row, size, facts) for row in paged):
            return size
    first, *others = takes.items()
    other = next(((name, sizes) for name, sizes in others if not set(sizes) & set(first[1])), others[0])
    return Rejection(
        None,
        "page-size",
        PAGE_SIZE,
        f"{first[0]} takes {_sizes(first[1])}",
        f"{other[0]} takes {_sizes(other[1])}",
        None,
        "name backends that share a page size",
        op,
    )


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
