"""dsv4.sparse_metadata: its contract, its reference and its implementations."""
