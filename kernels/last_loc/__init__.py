"""kvcache.last_loc: its contract, its reference and its implementations."""
