"""speculative.draft_extend_fill: its contract, its reference and its implementations."""
