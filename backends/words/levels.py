"""The levels an implementation can declare: how reproducible it is, and how far it can be captured in a graph."""

from __future__ import annotations

from typing import Final

NONE: Final = "none"
RUN_TO_RUN: Final = "run_to_run"
BATCH_INVARIANT: Final = "batch_invariant"
DETERMINISM: Final = (NONE, RUN_TO_RUN, BATCH_INVARIANT)
"""Weakest first. run_to_run: one call, the same bits. batch_invariant: nor do a row's bits depend on its batch."""

NEVER: Final = "never"
PIECEWISE: Final = "piecewise"
UNIFORM_BATCH: Final = "uniform_batch"
ALWAYS: Final = "always"
GRAPH: Final = (NEVER, PIECEWISE, UNIFORM_BATCH, ALWAYS)
"""Weakest first: cannot be captured; around it; batches of one query length; any batch."""


def satisfies(declared: str, asked: str) -> bool:
    """Whether a declared determinism level gives at least the level asked for."""
    return DETERMINISM.index(declared) >= DETERMINISM.index(asked)
