"""dsv4.sparse_attention: its contract, its reference and its bindings."""
