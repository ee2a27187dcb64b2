"""dsv4.compressor: its contract, its reference and its bindings."""
