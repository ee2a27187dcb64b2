"""disagg.send_kvcache: its contract, its reference and its implementations."""
